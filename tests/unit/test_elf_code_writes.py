"""Pointers that a function writes through without a test for NULL, compiled as hook libraries are."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from elf_build import compiled

from gdbcuda import elf

SOURCE = """
#include <stdbool.h>
typedef unsigned long z;
extern int real(void *, void *), some, table(int);
extern bool try(void *);
extern void abort(void);
z used;
int tested(z *f, z *t) { real(f, t); if (f) *f = 1; if (t != 0) *t = 2; return 0; }
int refused(z *f, z *t) { if (!f || !t) return 1; *f = 1; *t = 2; return 0; }
int forwarded(z *f, z *t) { int e = real(f, t); if (e) return e; *f = 1; *t = 2; return 0; }
int by_boolean(z *f) { if (!try(f)) return 2; *f = 1; return 0; }
int if_there(z *f) { int r = some ? real(f, 0) : 500; if (!r) *f = 1; return r; }
int both(z *f, z *t) { if (f && t) { *f = 1; *t = 2; } return 0; }
int remembered(z *f) { bool is = f; real(f, 0); if (is) *f = 1; return 0; }
int related(z *f) { if (some && !f) return 1; real(0, 0); if (some) *f = 1; return 0; }
int packed(z *f, z *t) { struct { z *f, *t; } all = {f, t}; if (real(&all, 0)) return 1; *f = *t = 1; return 0; }
int elsewhere(z *f) { z here; z *to = f ? f : &here; *to = 1; return here != 0; }
int is_read(z *f, z *t) { return real((void *)*f, (void *)t[0]); }
int aborted(z *f) { if (!f) abort(); *f = 1; return 0; }
int switched(z *f, int n) { switch (n) { case 1: if (f) *f = 3; return 0; case 7: return table(n); } return 1; }
int copied(z *f, z *t) { z n = 5; real(&n, t); *f = n; return 0; }
int one_byte(char *f) { *f = 1; return 0; }
int the_second(z *f, z *t) { if (f) *f = 1; *t = 2; return 0; }
int at_first(z *f, z *t) { *f = 0; return real(f, t); }
int on_condition(z *f, z *t) { if (some) return 2; *t = 1; return real(f, t); }
int member(int *f) { f[3] = some; return 0; }
int computed(z *f, z *t) { *t = table(3); *f = *t - used; return 0; }
int fifth(int a, int b, int c, int d, z *e) { real(0, 0); *e = a + b + c + d; return 0; }
int of_many(z *f, z *t, int n) { if (n == 3) return 1; if (n > 9) real(0, 0); *t = n; return 0; }
"""
WRITTEN = {"copied": {0}, "one_byte": {0}, "the_second": {1}, "at_first": {0}, "on_condition": {1}, "member": {0},
           "computed": {0, 1}, "fifth": {4}, "of_many": {1}}  # fmt: skip
COMPILERS = [one for one in ("gcc", "clang") if shutil.which(one)]


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-O3", "-Os"])
def test_written_without_a_test(tmp_path: Path, level: str, compiler: str) -> None:
    """What is tested somewhere, or may have been by a call whose status is looked at, is not said."""
    built = compiled(tmp_path, SOURCE, level)
    if compiler != "gcc":
        line = [compiler, "-shared", "-fPIC", level, "-o", built.name, "hook.c"]
        subprocess.run(line, cwd=tmp_path, check=True, timeout=60)
    library = elf.open(str(built))
    names = [name for name in library.exported if f"int {name}(" in SOURCE]
    found = {name: library.code.unchecked_writes((one := library.exported[name]).value, one.size) for name in names}
    assert {name: numbers for name, numbers in found.items() if numbers} == WRITTEN
