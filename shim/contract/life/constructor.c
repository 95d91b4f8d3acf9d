/* What a constructor of a library calls: it runs before those of the hook library.
   Built twice: as a library with -shared -fPIC -DLIBRARY, and as a program that is linked against it. */
#include <stdio.h>
/* DECLARATIONS */

#define CALL(name) name

int early(void);

#ifdef LIBRARY
/* WORK */

__attribute__((constructor)) static void begin(void)
{
    start();
    work();
}

int early(void)
{
    work();
    return 0;
}
#else
int main(void)
{
    return early();
}
#endif
