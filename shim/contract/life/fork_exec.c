/* What a child does after a fork and exec: all that its parent can. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
/* DECLARATIONS */

#define CALL(name) name

/* WORK */

int main(int count, char **words)
{
    int status = 0;

    start();
    work();
    if (count > 1)
        return 0;
    if (fork() == 0) {
        execl("/proc/self/exe", words[0], "again", (char *)NULL);
        _exit(3);
    }
    wait(&status);
    return status != 0;
}
