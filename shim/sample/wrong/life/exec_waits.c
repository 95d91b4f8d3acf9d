/* WRONG: waits until the process that its environment names as the owner has ended; the owner may be the parent.
   Shows: a child that a program starts and waits for never begins.
   conform: life/fork-exec: a program whose child makes calls after fork and exec does not end */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sample/next.h"

__attribute__((constructor)) static void wait_for_owner(void)
{
    const char *owner = getenv("WRONG_OWNER");
    while (owner && atoi(owner) != getpid() && kill(atoi(owner), 0) == 0)
        usleep(1000);
}

CUresult cuInit(unsigned int Flags)
{
    char text[16];
    snprintf(text, sizeof text, "%d", (int)getpid());
    setenv("WRONG_OWNER", text, 1);
    return NEXT(cuInit)(Flags);
}
