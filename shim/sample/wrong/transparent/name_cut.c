/* WRONG: passes on a copy of a kernel's name that has room for 255 characters.
   Shows: kernels with long C++ names are not found.
   conform: transparent/cuModuleGetFunction: a long string or array: what argument name points to is changed */
#include <stdio.h>

#include "sample/next.h"

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    char own[256];
    if (!name)
        return NEXT(cuModuleGetFunction)(function, module, name);
    snprintf(own, sizeof own, "%s", name);
    return NEXT(cuModuleGetFunction)(function, module, own);
}
