/* Which processes record, and whether any of them is still there. */
#include "drain.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

static struct watched {
    struct watched *following;
    pid_t pid;
    int handle; /* which no other process of that number has; -1 where the kernel has none */
    int is_over;
    int is_elsewhere; /* in a namespace of its own: another process has that number here */
} *all;

static int is_last_look;

static struct watched *found(pid_t pid)
{
    struct watched *one = all;
    while (one && (one->pid != pid || one->is_over))
        one = one->following;
    return one;
}

static struct watched *seen(pid_t pid)
{
    struct watched *one = found(pid);
    if (one || !(one = calloc(1, sizeof *one)))
        return one;
    *one = (struct watched){all, pid, (int)syscall(SYS_pidfd_open, pid, 0), 0, 0};
    return all = one;
}

void process_seen(pid_t pid)
{
    struct watched *one = seen(pid);
    if (one)
        one->is_elsewhere = 0;
}

/* What a process writes its file with is among its mappings. */
static int has_mapped(pid_t pid, const char *file_name, int where_nobody_may_look)
{
    char path[64], name[LONGEST_NAME + 1], *line = NULL;
    size_t room = 0;
    int is_there = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    name_with(name, "/", file_name);
    FILE *maps = fopen(path, "re");
    while (maps && !is_there && getline(&line, &room, maps) > 0)
        is_there = strstr(line, name) != NULL;
    free(line);
    if (!maps)
        return where_nobody_may_look;
    fclose(maps);
    return is_there;
}

/* A process may not have mapped its file yet, or be another program by now that has a later one: it is asked again.
 * Were the one that is 1 in a namespace of its own the first here, it would be the one started. */
void process_of_file_seen(pid_t pid, const char *file_name)
{
    int is_new = !found(pid);
    struct watched *one = seen(pid);
    if (one && (is_new || one->is_elsewhere))
        one->is_elsewhere = pid == 1 || !has_mapped(pid, file_name, is_new);
}

static int is_over(struct watched *one)
{
    struct pollfd wanted = {one->handle, POLLIN, 0};
    if (!one->is_over)
        one->is_over = one->handle >= 0 ? poll(&wanted, 1, 0) > 0 : kill(one->pid, 0) && errno == ESRCH;
    if (one->is_over && one->handle >= 0) {
        close(one->handle);
        one->handle = -1;
    }
    return one->is_over;
}

int has_ended(pid_t pid)
{
    struct watched *one = found(pid);
    return !one || (one->is_elsewhere ? is_last_look : is_over(one));
}

/* Whether the process was started by the same gdbcuda trace: one that has not called anything yet may still do so. */
static int belongs(const char *pid, const char *setting)
{
    static char text[1 << 18];
    char path[64];
    snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file >= 0 ? read(file, text, sizeof text) : 0;
    if (file >= 0)
        close(file);
    return size > 0 && memmem(text, (size_t)size, setting, strlen(setting) + 1) != 0;
}

static void look_for_others(const char *folder_path)
{
    char setting[sizeof gdbcuda_trace.folder + 32];
    snprintf(setting, sizeof setting, "GDBCUDA_TRACE=%s", folder_path);
    DIR *processes = opendir("/proc");
    for (struct dirent *one; processes && (one = readdir(processes));)
        if (one->d_name[0] > '0' && one->d_name[0] <= '9' && belongs(one->d_name, setting))
            process_seen((pid_t)atoi(one->d_name));
    if (processes)
        closedir(processes);
}

int all_have_ended(const char *folder_path)
{
    for (int is_second_look = 0; is_second_look < 2; is_second_look++) {
        for (struct watched *one = all; one; one = one->following)
            if (!one->is_elsewhere && !is_over(one))
                return 0;
        if (!is_second_look)
            look_for_others(folder_path);
    }
    return is_last_look = 1;
}
