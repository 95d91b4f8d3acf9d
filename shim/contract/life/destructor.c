/* What a destructor of a library calls, and a function of atexit: they run after those of the hook library.
   Built twice: as a library with -shared -fPIC -DLIBRARY, and as a program that is linked against it. */
#include <stdio.h>
#include <stdlib.h>
/* DECLARATIONS */

#define CALL(name) name

int early(void);

#ifdef LIBRARY
/* WORK */

__attribute__((destructor)) static void end(void)
{
    work();
}

int early(void)
{
    start();
    atexit(work);
    work();
    return 0;
}
#else
int main(void)
{
    return early();
}
#endif
