/* dlsym and dlvsym. What decides about a request is request.c; here it is answered.

   RTLD_NEXT and RTLD_DEFAULT mean something else for each caller, whom libc knows by the return address. So those
   requests go to libc, *in the name of the caller*: the last line of each function has to become a jump, not a call,
   and this file alone is compiled with -O1 -foptimize-sibling-calls for that (rules.mk). A compiler that emits a call
   all the same makes RTLD_NEXT of a library behind this one find that library itself; sample/next_order shows it.
   Other requests go to the next dlsym in search order, libc's or that of a hook library behind this one. */
#include "request.h"

HOOK void *dlsym(void *handle, const char *symbol)
{
    switch (decide(handle, symbol, NULL)) {
    case ANSWER_WRAPPER:
        return hook_own(symbol);
    case ANSWER_NOTHING:
        return nothing(symbol);
    default:
        return (is_pseudo(handle) ? libc_dlsym() : next_dlsym())(handle, symbol);
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
        return (is_pseudo(handle) ? libc_dlvsym() : next_dlvsym())(handle, symbol, version);
    }
}
