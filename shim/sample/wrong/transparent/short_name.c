/* WRONG: copies the name of a kernel into 64 characters, as names of C are short.
   Shows: the first kernel whose C++ name is longer ends the program.
   conform: transparent/cuModuleGetFunction: a long string or array: it ends with SIGSEGV in cuModuleGetFunction of short_name.so */
#include <string.h>

#include "sample/next.h"

static unsigned longest;

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    char own[64];
    char *volatile to = own;
    if (name)
        strcpy(to, name);
    if (name && strlen(to) > longest)
        longest = (unsigned)strlen(to);
    return NEXT(cuModuleGetFunction)(function, module, name);
}
