/* WRONG: takes itself out of LD_PRELOAD, so that nobody sees it there.
   Shows: what the program starts goes past the library.
   conform: life/fork-exec: a program whose child makes calls after fork and exec gets another result from library-of-cuInit */
#include <stdlib.h>

#include "sample/next.h"

__attribute__((constructor)) static void hide(void)
{
    unsetenv("LD_PRELOAD");
}

CUresult cuInit(unsigned int Flags)
{
    return NEXT(cuInit)(Flags);
}
