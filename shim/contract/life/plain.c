/* A program that does nothing special: it calls the driver, and ends. */
#include <stdio.h>
/* DECLARATIONS */

#define CALL(name) name

/* WORK */

int main(void)
{
    start();
    work();
    return 0;
}
