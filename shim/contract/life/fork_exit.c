/* A child that ends as the parent does: what is registered for the end runs in it, and threads of the parent are not
   there. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
/* DECLARATIONS */

#define CALL(name) name

/* WORK */

int main(void)
{
    int status = 0;

    start();
    work();
    pid_t child = fork();
    if (child == 0) {
        printf("what is written at the end");
        exit(5);
    }
    waitpid(child, &status, 0);
    say("status-of-child", status);
    return 0;
}
