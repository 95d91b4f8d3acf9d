"""How the files are made that checks find something in."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

from elf_build import compiled

from gdbcuda.check.file import check
from gdbcuda.check.finding import Report

Build = Callable[[Path], Report]
CASES: dict[str, Build] = {}

ALLOC = "int cuMemAlloc_v2(void **p, unsigned long n) { *p = (void *)n; return 0; }\n"
FREE = "int cuMemFree_v2(void *p) { return p == 0; }\n"
NEXT = "#define _GNU_SOURCE\n#include <dlfcn.h>\n"
DLSYM = (
    'void *dlsym(void *h, const char *n) { return ((void *(*)(void *, const char *))dlvsym(h, "dlsym", "X"))(h, n); }\n'
)
PATCHER = "int mprotect(); int f(void) { return mprotect(); }"
CALLER = "int cuMemAlloc_v2(void **, unsigned long);\nint main(void) { void *p; return cuMemAlloc_v2(&p, 1); }\n"
LOADER = '#include <dlfcn.h>\nint main(void) { return !dlsym(dlopen("libcuda.so.1", 1), "cuMemAlloc_v2"); }\n'
DEBUG = ("-g", "-O0")


def case(*ids: str) -> Callable[[Build], Build]:
    def register(build: Build) -> Build:
        CASES.update(dict.fromkeys(ids, build))
        return build

    return register


def library(folder: Path, source: str, *flags: str) -> Report:
    return check(compiled(folder, source, *(flags or DEBUG)))


def linked_program(folder: Path, source: str, *flags: str) -> Path:
    """A program linked to a libcuda.so.1 that has what it calls."""
    driver = compiled(folder, ALLOC + FREE, "-Wl,-soname,libcuda.so.1", name="libcuda.so.1", source_name="driver.c")
    return compiled(folder, source, "-pie", "-fPIE", str(driver), *flags, name="program", source_name="program.c")


def pair(folder: Path, program: Path, hook: str, *flags: str) -> Report:
    return check(program, hook=compiled(folder, hook, *(flags or DEBUG)))
