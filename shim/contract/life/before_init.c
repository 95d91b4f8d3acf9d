/* What comes before cuInit: every call answers what the driver answers, and works after it. */
#include <stdio.h>
/* DECLARATIONS */

#define CALL(name) name

/* WORK */

int main(void)
{
    work();
    start();
    work();
    return 0;
}
