/* WRONG: uses _dl_sym, which was private to glibc (GLIBC_PRIVATE) and is gone since 2.34.
   Shows: every program dies when it first asks for a symbol: "symbol lookup error: ...: undefined symbol: _dl_sym".
   conform: start: a program does not begin with it */
#include <dlfcn.h>

void *_dl_sym(void *handle, const char *symbol, void *who);

void *dlsym(void *handle, const char *symbol)
{
    return _dl_sym(handle, symbol, __builtin_return_address(0));
}
