"""Hook libraries whose functions answer for those of the API under other names, and what gdbcuda says of them."""

from __future__ import annotations

import re

SLOTS = """
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
static int (*onward)(unsigned long long *, unsigned long);
static int own_alloc(unsigned long long *block, unsigned long bytes)
{
    int status = onward(block, bytes);
    return bytes > 2ul << 30 ? 2 : status;
}
static void change(const struct link_map *one, const ElfW(Dyn) *row)
{
    const ElfW(Rela) *slots = 0;
    const ElfW(Sym) *symbols = 0;
    const char *names = 0;
    size_t bytes = 0;
    for (; row->d_tag; row++) {
        if (row->d_tag == DT_JMPREL) slots = (void *)row->d_un.d_ptr;
        if (row->d_tag == DT_SYMTAB) symbols = (void *)row->d_un.d_ptr;
        if (row->d_tag == DT_STRTAB) names = (void *)row->d_un.d_ptr;
        if (row->d_tag == DT_PLTRELSZ) bytes = row->d_un.d_val;
    }
    for (size_t n = 0; n < bytes / sizeof *slots; n++) {
        void **slot = (void **)(one->l_addr + slots[n].r_offset);
        if (strcmp(names + symbols[ELF64_R_SYM(slots[n].r_info)].st_name, "cuMemAlloc_v2"))
            continue;
        mprotect((void *)((unsigned long)slot & -4096ul), 4096, PROT_READ | PROT_WRITE);
        onward = dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");
        *slot = own_alloc;
    }
}
__attribute__((constructor)) static void begin(void) { change(_r_debug.r_map, _r_debug.r_map->l_ld); }
"""
ENTRIES = """
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
static int own_alloc(unsigned long long *block, unsigned long bytes)
{
    *block = 0x5000;
    return bytes > 2ul << 30 ? 2 : 0;
}
__attribute__((constructor)) static void begin(void)
{
    unsigned char *entry = dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL), "cuMemAlloc_v2");
    void *to = own_alloc;
    mprotect((void *)((unsigned long)entry & -4096ul), 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
    JUMP
    mprotect((void *)((unsigned long)entry & -4096ul), 8192, PROT_READ | PROT_EXEC);
}
"""
JUMPS = {
    "through": r'memcpy(entry, "\xff\x25\0\0\0\0", 6); memcpy(entry + 6, &to, 8);',
    "rax": r'memcpy(entry, "\x48\xb8", 2); memcpy(entry + 2, &to, 8); memcpy(entry + 10, "\xff\xe0", 2);',
    "island": """
        unsigned char *near = mmap(entry - (64 << 20), 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        int distance = near - (entry + 5);
        entry[0] = 0xe9; memcpy(entry + 1, &distance, 4);
        memcpy(near, "\\x49\\xbb", 2); memcpy(near + 2, &to, 8); memcpy(near + 10, "\\x41\\xff\\xe3", 3);""",
}
GOES_ON = ENTRIES.replace("static int own_alloc", "static unsigned char *copy;\nstatic int own_alloc").replace(
    "*block = 0x5000;\n    return bytes > 2ul << 30 ? 2 : 0;",
    "return bytes > 2ul << 30 ? 2 : ((int (*)(unsigned long long *, unsigned long))copy)(block, bytes);",
)  # fmt: skip
COPIES = r"""
    unsigned char *back = entry + SIZE;
    copy = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(copy, entry, SIZE);
    memcpy(copy + SIZE, "\xff\x25\0\0\0\0", 6);
    memcpy(copy + SIZE + 6, &back, 8);
"""  # the instructions that the stand-in's function begins with, which do not care where they are
BY_DLSYM = """
#include <dlfcn.h>
#include <string.h>
static void *(*found)(void *, const char *);
static void *driver;
int own_alloc(unsigned long long *block, unsigned long bytes)
{
    return ((int (*)(unsigned long long *, unsigned long))found(driver, "cuMemAlloc_v2"))(block, bytes);
}
__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name)
{
    found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    if (strcmp(name, "cuMemAlloc_v2"))
        return found(handle, name);
    driver = handle;
    return own_alloc;
}
"""
BY_PROC_ADDRESS = """
#include <dlfcn.h>
#include <string.h>
typedef int get(const char *, void **, int, unsigned long long, void *);
static void *(*found)(void *, const char *);
static get *further;
static int (*onward)(unsigned long long *, unsigned long);
static int own_alloc(unsigned long long *block, unsigned long bytes) { return onward(block, bytes); }
#ifdef ISLAND /* each function that it hands out is reached through code of no file, which it makes then */
#include <sys/mman.h>
static void *handed_out(void *to)
{
    static unsigned char *next;
    if (!next)
        next = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(next, "\\x49\\xbb", 2);
    memcpy(next + 2, &to, 8);
    memcpy(next + 10, "\\x41\\xff\\xe3", 3);
    next += 16;
    return next - 16;
}
#else
static void *handed_out(void *to) { return to; }
#endif
static int own_get(const char *name, void **function, int version, unsigned long long flags, void *status)
{
    int result = further(name, function, version, flags, status);
    if (!result && !strcmp(name, "cuMemAlloc")) {
        onward = *function;
        *function = handed_out(own_alloc);
    }
    if (!result && !strcmp(name, "cuGetProcAddress"))
        *function = handed_out(own_get);
    return result;
}
__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name)
{
    found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    void *function = found(handle, name);
    if (strcmp(name, "cuGetProcAddress_v2"))
        return function;
    further = function;
    return own_get;
}
"""
ASKS_TWICE = """
#include <dlfcn.h>
#include "gdbcuda_api.h"
typedef CUresult get(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
int main(void)
{
    get *first = (get *)dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuGetProcAddress_v2"), *second;
    CUresult (*alloc)(CUdeviceptr *, size_t);
    CUdriverProcAddressQueryResult status;
    CUdeviceptr block;
    first("cuGetProcAddress", (void **)&second, 12000, 0, &status);
    second("cuMemAlloc", (void **)&alloc, 12000, 0, &status);
    return alloc(&block, 4096) != CUDA_ERROR_NOT_INITIALIZED;
}
"""
MADE = re.compile(r"^Breakpoint (\d+), of 1: hook (\S+) ?(\S*), which answers for cuMemAlloc_v2: (.*)$", re.MULTILINE)


def stops(text: str) -> list[str]:
    """Of each stop: layer, library and function."""
    return re.findall(r"^Breakpoint \d+  (.*?)  ?cuMemAlloc_v2\(", text, re.MULTILINE)
