"""Pointers that a function writes through without a test for NULL, compiled as hook libraries are."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from elf_build import compiled

from gdbcuda import elf
from gdbcuda.elf.code import x86_writes
from gdbcuda.elf.code.x86_writes import unchecked_writes

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
    found = {name: library.code.unchecked_writes((one := library.exported[name]).value, one.size, {})
             for name in names}  # fmt: skip
    assert {name: numbers for name, numbers in found.items() if numbers} == WRITTEN


@pytest.mark.parametrize("code", [
    "48 89 07",  # mov %rax,(%rdi)
    "89 04 27",  # the same with the byte of an index, and none
    "f3 0f 7f 07",  # movdqu %xmm0,(%rdi)
    "49 89 fc  41 c7 04 24 01 00 00 00",  # mov %rdi,%r12; movl $1,(%r12)
    "49 89 fd  41 c6 45 00 01",  # mov %rdi,%r13; movb $1,0(%r13)
    "48 89 fd  c7 45 00 01 00 00 00",  # mov %rdi,%rbp; movl $1,0(%rbp)
    "49 89 fc  4c 89 e5  c7 45 00 01 00 00 00",  # mov %rdi,%r12; mov %r12,%rbp; movl $1,0(%rbp)
    "48 89 7c 24 f8  48 8b 6c 24 f8  c7 45 00 01 00 00 00",  # mov %rdi,-8(%rsp); mov -8(%rsp),%rbp; movl $1,0(%rbp)
])  # fmt: skip
def test_whatever_register_it_is_written_through(code: str) -> None:
    assert unchecked_writes(bytes.fromhex(code) + b"\xc3") == {0}


def test_what_is_not_walked_writes_nothing(shim: Path) -> None:
    """Of wrappers, most of which write on their own stack alone; and one of twenty functions of libc."""
    libc = next(line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/libc.so" in line)
    asked = [(elf.open(path), step) for path, step in ((str(shim / "libgdbcuda-hook.so"), 3), (libc, 20))]
    codes = [file.code.bytes(one.value, one.size) for file, step in asked for one in [*file.exported.values()][::step]]
    skipped = [code for code in codes if not x86_writes._ELSEWHERE.search(code)]
    assert len(skipped) > 440 and not any(x86_writes._Walk(code).unchecked() for code in skipped)
