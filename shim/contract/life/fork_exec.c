/* What a child does after a fork and exec: all that its parent can, by the same libraries. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
/* DECLARATIONS */

#define CALL(name) name

/* WORK */

enum { ASKED = 3 };

static const char *const asked[ASKED] = {"cuInit", "cuMemAlloc_v2", "cuMemGetInfo_v2"};

static const char *library_of(const char *name)
{
    Dl_info found = {0};
    void *address = dlsym(RTLD_DEFAULT, name);
    return address && dladdr(address, &found) && found.dli_fname ? found.dli_fname : "none";
}

/* The parent's are its arguments. */
static void compare(char **theirs)
{
    char text[64];
    for (int i = 0; i < ASKED; i++) {
        snprintf(text, sizeof text, "library-of-%s", asked[i]);
        say(text, strcmp(theirs[i], library_of(asked[i])) != 0);
    }
}

int main(int count, char **words)
{
    int status = 0;

    start();
    work();
    if (count > ASKED + 1) {
        compare(words + 2);
        return 0;
    }
    pid_t child = fork();
    if (child == 0) {
        execl(words[0], words[0], "again", library_of(asked[0]), library_of(asked[1]), library_of(asked[2]),
              (char *)NULL);
        _exit(3);
    }
    if (waitpid(child, &status, 0) == child && WIFSIGNALED(status)) /* it ends as that did */
        raise(WTERMSIG(status));
    return status != 0;
}
