/* Preloaded into Debian's cuda-gdb 11.8, which cannot unwind a frame as it is ("A Unwinder should return
 * gdb.UnwindInfo instance", with or without an extension). It is linked against libpython, so None lives in the
 * executable (a copy relocation), but NVIDIA's source asks dlsym of libpython's handle for it and gets the unused
 * original: no None of Python's is gdb's. Here those objects are looked up as everybody else sees them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

static int is_copied(const char *name) /* _Py_NoneStruct, _Py_TrueStruct, _Py_FalseStruct */
{
    return !strncmp(name, "_Py_", 4) && strstr(name, "Struct");
}

void *dlsym(void *handle, const char *name)
{
    static void *(*real)(void *, const char *);
    if (!real)
        real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    return real(is_copied(name) ? RTLD_DEFAULT : handle, name);
}
