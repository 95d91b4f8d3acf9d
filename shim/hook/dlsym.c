/* dlsym and dlvsym. What decides about a request is request.c; here it is answered.

   What is not answered by us is handed to the next dlsym, libc's or that of a hook library behind this one, *in the
   name of the caller*: RTLD_NEXT and RTLD_DEFAULT mean something else for each caller, and libc knows the caller by
   the return address. So the last line of each function has to become a jump, not a call: this file alone is compiled
   with -O1 -foptimize-sibling-calls (rules.mk). A compiler that emits a call there all the same makes every RTLD_NEXT
   of a library behind this one look as if it were asked from here; sample/next_order shows it. */
#include "request.h"

HOOK void *dlsym(void *handle, const char *symbol)
{
    switch (decide(handle, symbol, NULL)) {
    case ANSWER_WRAPPER:
        return hook_own(symbol);
    case ANSWER_NOTHING:
        return nothing(symbol);
    default:
        return next_dlsym()(handle, symbol);
    }
}

HOOK void *dlvsym(void *handle, const char *symbol, const char *version)
{
    switch (decide(handle, symbol, version)) {
    case ANSWER_WRAPPER:
        return hook_own(symbol);
    case ANSWER_NOTHING:
        return nothing(symbol);
    default:
        return next_dlvsym()(handle, symbol, version);
    }
}
