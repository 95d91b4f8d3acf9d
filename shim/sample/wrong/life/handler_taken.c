/* WRONG: has a handler of its own for SIGSEGV, and leaves it to nobody.
   Shows: faulthandler of Python says nothing any more, and no core file is written.
   conform: life/left-alone: a program that looks at its signals, descriptors, locale and folder gets another result from handler-of-signal-11 */
#include <signal.h>
#include <unistd.h>

#include "sample/next.h"

static void end(int number)
{
    _exit(number);
}

CUresult cuInit(unsigned int Flags)
{
    signal(SIGSEGV, end);
    return NEXT(cuInit)(Flags);
}
