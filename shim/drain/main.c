/* gdbcuda-drain FOLDER PID: as long as the process PID lives, or another one that records into the folder. It is nobody's
 * child, and has no file of its starter's. */
#include "drain.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SHORTEST 200000 /* nanoseconds between two looks */
#define LONGEST 4000000
#define TICK 20000000 /* a file that comes later may have the same time */

int folder;
static struct drained *rings;
static int is_incomplete; /* a ring's file is being made: the folder does not change when it is complete */

void name_with(char *to, const char *name, const char *ending)
{
    strcat(strcpy(to, name), ending);
}

static int ends_in(const char *name, const char *ending)
{
    size_t size = strlen(name), wanted = strlen(ending);
    return size > wanted && size < LONGEST_NAME && !strcmp(name + size - wanted, ending);
}

/* Whether it is one. */
static int see_ring(const char *file_name)
{
    size_t size = strcspn(file_name, ".");
    for (struct drained *one = rings; one; one = one->following)
        if (strlen(one->name) == size && !strncmp(one->name, file_name, size))
            return 1;
    struct drained *made = ring_opened(file_name);
    if (made) {
        process_of_file_seen(made->pid, file_name);
        made->following = rings;
        rings = made;
    }
    return made != 0;
}

static int has_changed(void)
{
    static struct timespec known;
    struct timespec now;
    struct stat about;
    if (fstat(folder, &about) || clock_gettime(CLOCK_REALTIME, &now))
        return 1;
    int is_same = about.st_mtim.tv_sec == known.tv_sec && about.st_mtim.tv_nsec == known.tv_nsec;
    long age = (now.tv_sec - about.st_mtim.tv_sec) * 1000000000 + now.tv_nsec - about.st_mtim.tv_nsec;
    if (age < 0 || age > TICK)
        known = about.st_mtim;
    return !is_same;
}

static void look_into_folder(void)
{
    DIR *all = fdopendir(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    is_incomplete = 0;
    for (struct dirent *one; all && (one = readdir(all));) {
        if (ends_in(one->d_name, ".process"))
            process_of_file_seen(atoi(one->d_name), one->d_name);
        if (ends_in(one->d_name, ".ring"))
            is_incomplete |= !see_ring(one->d_name);
    }
    if (all)
        closedir(all);
}

static int drain_all(void)
{
    int found = 0;
    for (struct drained *one = rings; one; one = one->following) {
        if (one->is_over)
            continue;
        if (has_ended(one->pid))
            drain_last(one);
        else
            found |= drain(one);
    }
    return found;
}

static void leave_starter(const char *path)
{
    folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || fork())
        _exit(folder < 0);
    setsid();
    int nothing = open("/dev/null", O_RDWR);
    for (int file = 0; file < 3; file++)
        dup2(nothing, file);
    (void)!chdir("/");
    signal(SIGXFSZ, SIG_IGN);
}

int main(int count, char **words)
{
    if (count != 3)
        return 2;
    process_seen(atoi(words[2]));
    leave_starter(words[1]);
    for (struct timespec pause = {0, SHORTEST};; nanosleep(&pause, 0)) {
        int is_last = all_have_ended(words[1]);
        if (has_changed() || is_incomplete || is_last)
            look_into_folder();
        long longer = 2 * pause.tv_nsec < LONGEST ? 2 * pause.tv_nsec : LONGEST;
        pause.tv_nsec = drain_all() ? SHORTEST : longer;
        if (is_last)
            return 0;
    }
}
