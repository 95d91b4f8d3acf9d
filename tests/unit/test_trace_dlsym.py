"""gdbcuda trace of a hook library whose own dlsym and dlvsym answer out of a table, or ask in the caller's name."""

from __future__ import annotations

import subprocess
from pathlib import Path

from shim_support import OLDER_LIBC, clean_environment
from traced_programs import Trace, needs_recorder, trace

__all__ = ["trace"]  # the fixture
pytestmark = needs_recorder

HOOK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <string.h>
typedef void *(*ask)(void *, const char *), *(*ask_version)(void *, const char *, const char *);
static ask next;
static ask_version next_version;
static void *of_libc(const char *name)
{
    const struct link_map *libc = dlopen("libc.so.6", RTLD_LAZY);
    const ElfW(Sym) *symbol = 0;
    const char *texts = 0;
    for (const ElfW(Dyn) *one = libc->l_ld; one->d_tag; one++) {
        symbol = one->d_tag == DT_SYMTAB ? (void *)one->d_un.d_ptr : symbol;
        texts = one->d_tag == DT_STRTAB ? (void *)one->d_un.d_ptr : texts;
    }
    while (strcmp(texts + symbol->st_name, name))
        symbol++;
    return (char *)libc->l_addr + symbol->st_value;
}
__attribute__((constructor)) static void begin(void)
{
    next = (ask)of_libc("dlsym");
    next_version = (ask_version)of_libc("dlvsym");
}
static int own(unsigned long *block, unsigned long size) { return *block = size, 0; }
void *dlsym(void *handle, const char *name)
{
    return !strcmp(name, "cuMemAlloc_v2") && handle != RTLD_NEXT ? (void *)own : next(handle, name);
}
void *dlvsym(void *handle, const char *name, const char *version)
{
    return !strcmp(version, "MINE") ? (void *)own : next_version(handle, name, version);
}
"""
# Both libraries have the function; each is behind the other's caller.
LIBRARY = "int cuMemFree_v2(unsigned long block) { return (int)block + NUMBER; }\n"
PROGRAM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
void *behind_first(void), *behind_second(void);
static void allocate(void *found)
{
    unsigned long block = 0;
    printf("%d\\n", found ? ((int (*)(unsigned long *, unsigned long))found)(&block, 16) : -1);
}
int main(void)
{
    allocate(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
    allocate(dlsym(RTLD_NEXT, "cuMemAlloc_v2"));
    allocate(dlvsym(RTLD_NEXT, "cuMemAlloc_v2", "MINE"));
    allocate(dlvsym(RTLD_DEFAULT, "cuMemAlloc_v2", "NOBODYS"));
    printf("%d ", ((int (*)(unsigned long))behind_first())(40));
    printf("%d %d\\n", behind_second() != 0, dlsym(RTLD_NEXT, "malloc") == dlsym(RTLD_DEFAULT, "malloc"));
}
"""
BEHIND = """
#define _GNU_SOURCE
#include <dlfcn.h>
void *behind_NAME(void) { void *volatile found = dlsym(RTLD_NEXT, "cuMemFree_v2"); return found; }
"""


def built(made: Path, source: str, *flags: str | Path) -> Path:
    line = ["gcc", "-x", "c", "-O2", "-o", made, "-", "-x", "none", *flags, *OLDER_LIBC]
    subprocess.run(line, input=source, text=True, check=True)
    return made


def test_who_asks_a_hooks_dlsym_without_a_handle(trace: Trace, tmp_path: Path) -> None:
    hook = built(tmp_path / "libtable.so", HOOK, "-shared", "-fPIC", "-foptimize-sibling-calls")
    rest = [built(tmp_path / f"lib{name}.so", LIBRARY.replace("NUMBER", str(number)) + BEHIND.replace("NAME", name),
                  "-shared", "-fPIC") for number, name in enumerate(("first", "second"))]  # fmt: skip
    program = built(tmp_path / "asks", PROGRAM, "-Wl,--no-as-needed", *rest, f"-Wl,-rpath,{tmp_path}")
    alone = subprocess.run([program], env={**clean_environment(), "LD_PRELOAD": str(hook)}, capture_output=True,
                           text=True)  # fmt: skip
    found = trace(program, options=("--hook", str(hook)))
    assert found.done.stdout == alone.stdout == "0\n-1\n0\n-1\n41 0 1\n"
    assert [(call.name, call.object) for call in found.recorded()] == [
        ("cuMemAlloc_v2", "libtable.so"), ("cuMemAlloc_v2", "libtable.so"), ("cuMemFree_v2", "libsecond.so"),
    ]  # fmt: skip
