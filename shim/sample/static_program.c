/* A static binary: the dynamic loader never runs, so LD_PRELOAD does nothing and no hook library can be reached. */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    printf("static program, LD_PRELOAD is %s\n", getenv("LD_PRELOAD") ? "set and ignored" : "not set");
    return 0;
}
