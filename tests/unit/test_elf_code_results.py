"""Which functions return -1, compiled as hook libraries are: kept in the frame or in a register until the return."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from elf_build import compiled

from gdbcuda import elf
from gdbcuda.check.file import check
from gdbcuda.elf.code import x86

SOURCE = """
extern int real(void *), is_allowed(long);
extern void say(const char *);
int book;
int cuInit(long n) { int r = -1; if (n < 100) r = real(0); return r; }
int cuMemAlloc_v2(void **p, long n) { int r = -1; if (p) { say("x"); r = real(p); } else say("no"); return r; }
int cuMemFree_v2(long p) { int r; if (!p) r = -1; else r = real(&p); say("f"); return r; }
int cuDeviceGet(long n) { return is_allowed(n) ? real(0) : -1; }
int cuCtxSynchronize(void)
{
    int r = -1;
    if (!is_allowed(1)) goto out;
    r = real(0);
    if (r) goto out;
    say("z");
out:
    return r;
}
int cuCtxGetDevice(int *n) { int r = -1; if (n) { say("a"); say("b"); r = real(n); say("c"); } return r; }
int cuDeviceGetCount(int *n) { int r = -1; r = real(0); if (n) *n = r; return r; }
int cuDriverGetVersion(int *n) { int r = -1, s = 0; if (n) s = real(0); book = r; return s; }
int cuDeviceGetName(int *n)
{
    int i = -1;
    for (int k = 0; k < 4; k++) if (k == book) i = k;
    if (i == -1) return 3;
    return real(n + i);
}
int cuCtxSetCurrent(int *n) { int r = -1; if (n) r = 1; else r = real(n); say("d"); return r; }
"""
RETURNED = {"cuInit", "cuMemAlloc_v2", "cuMemFree_v2", "cuDeviceGet", "cuCtxSynchronize", "cuCtxGetDevice"}


@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-O3", "-Os"])
def test_minus_one_by_some_way(tmp_path: Path, level: str) -> None:
    """Where each way overwrites it, or where it is a number of its own, nothing is said."""
    library = elf.open(str(compiled(tmp_path, SOURCE, level)))
    found = {name for name, one in library.exported.items() if name.startswith("cu")
             and library.code.returns_minus_one(one.value, one.size) is not None}  # fmt: skip
    assert found == RETURNED


COMPUTED = """
extern int other(long);
int cuInit(long n) { return n > 100 ? -1 : 0; }
int cuMemAlloc_v2(long n) { return -(n > 100); }
int cuMemFree_v2(long n) { return (n < 100) - 1; }
int cuCtxCreate_v2(long n) { return other(n) ? -1 : 0; }
int cuDeviceGet(long n, int r) { return n > 100 ? -1 : r; }
int cuDeviceGetCount(long n) { return n > 100 ? 2 : 0; }
int cuCtxDestroy_v2(long n) { return n > 100; }
int cuCtxGetDevice(long n) { return other(-1) ? 3 : 0; }
int cuDriverGetVersion(long n) { return n == -1 ? 7 : (int)n + 1; }
"""


@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-O3", "-Os"])
def test_minus_one_by_arithmetic(tmp_path: Path, level: str) -> None:
    """As compilers write a choice between -1 and something else, without a jump."""
    library = elf.open(str(compiled(tmp_path, COMPUTED, level)))
    found = {name for name, one in library.exported.items() if name.startswith("cu")
             and library.code.returns_minus_one(one.value, one.size) is not None}  # fmt: skip
    assert found == {"cuInit", "cuMemAlloc_v2", "cuMemFree_v2", "cuCtxCreate_v2", "cuDeviceGet"}


LESS = """
extern int other(long);
extern void look(int *);
static int left(void) { int r = 0; r--; return r; }
static int right(void) { int r = 0; --r; return r; }
static int minus(long n) { int r = 0; if (n > 7) { r -= 1; return r; } return 3; }
static int moved(long n) { int r; int s = n > 3 ? 0 : -1; r = s; return r; }
static int none(long n) { int r = 5; r--; return r; }
static int counted(void) { int r = 0; r++; r--; return r; }
static int seen(void) { int r = 0; look(&r); r--; return r; }
int cuInit(long n) { return left(); }
int cuMemAlloc_v2(long n) { int r = right(); return r; }
int cuMemFree_v2(long n) { if (n) return minus(n); return 0; }
int cuDeviceGet(long n) { return moved(n); }
int cuCtxCreate_v2(long n) { int r = 0; if (other(n)) { r--; goto out; } other(2); out: return r; }
int cuDeviceGetCount(long n) { return none(n); }
int cuCtxDestroy_v2(long n) { return counted(); }
int cuCtxGetDevice(long n) { return seen(); }
int cuDriverGetVersion(long n) { int i; for (i = 0; i < n; i++) if (other(i)) return i; return 0; }
int cuCtxSynchronize(void) { int k = 0; k--; other(k); k = 2; return k; }
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
def test_one_less_than_zero_and_what_a_helper_makes_of_it(tmp_path: Path, level: str, compiler: str) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    library = compiled(tmp_path, LESS, level)
    if compiler != "gcc":
        line = [compiler, "-g", "-shared", "-fPIC", level, "-o", library.name, "hook.c"]
        subprocess.run(line, cwd=tmp_path, check=True, timeout=60)
    seen = next(one.seen for one in check(library).findings if one.id == "returns-minus-one")
    assert set(re.findall(r"\b(cu\w+)(?: by its helper \w+)?\+", seen)) == {
        "cuInit", "cuMemAlloc_v2", "cuMemFree_v2", "cuDeviceGet", "cuCtxCreate_v2"
    }  # fmt: skip


GIVEN = """
#include <stdarg.h>
extern int other(long);
extern void note(long, const char *);
extern void write_note(const char *, va_list);
static int fail(int status) { note(status, "it"); return status; }
static int fail_third(const char *what, long n, int status) { note(n, what); return status; }
static int as_it_is(int status) { return status; }
static int if_any(int status) { if (status) { note(status, "any"); return status; } return other(3); }
static int told(int s, const char *format, ...)
{ va_list rest; va_start(rest, format); write_note(format, rest); va_end(rest); return s; }
static int of_two(int status, int n) { note(status, "it"); return n; }
static int mapped(int status) { if (status == -1) return 999; note(status, "it"); return status; }
static int not_negative(int status) { if (status < 0) return 999; note(status, "it"); return status; }
int cuInit(long n) { if (n) return fail(-1); return other(3); }
int cuMemAlloc_v2(void *p, long n) { if (n > 100) { return fail_third("limit", n, -1); } return other(n); }
int cuMemFree_v2(long n) { int r = as_it_is(n ? -1 : 0); if (r) return r; return other(n); }
int cuDeviceGet(long n) { return if_any(-1); }
int cuCtxCreate_v2(long n) { int r = n > 5 ? -1 : 0; if (r != 0) return told(r, "%d", 3); return 0; }
int cuDriverGetVersion(long n) { return of_two(-1, 3); }
int cuCtxGetDevice(long n) { return mapped(-1); }
int cuDeviceGetCount(long n) { if (n) return not_negative(-1); return 0; }
int cuCtxSetCurrent(long n) { fail(-1); return other(2); }
int cuCtxSynchronize(void) { note(-1, "it"); return as_it_is(2); }
int cuCtxDestroy_v2(long n) { int r = other(-1); if (r) return fail(r); return 0; }
"""
GIVEN_WRONG = {"cuInit", "cuMemAlloc_v2", "cuMemFree_v2", "cuDeviceGet", "cuCtxCreate_v2"}


def returning_minus_one(library: Path) -> set[str]:
    seen = next((one.seen for one in check(library).findings if one.id == "returns-minus-one"), "")
    return set(re.findall(r"\b(cu\w+)(?: by its helper [\w.]+)?\+", seen))


@pytest.mark.parametrize("protector", ["-fno-stack-protector", "-fstack-protector-strong"])
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
def test_minus_one_given_to_a_helper_that_returns_it(tmp_path: Path, level: str, protector: str) -> None:
    """Unoptimised code has all of them; in optimised code some may be missed, and none is made up."""
    found = returning_minus_one(compiled(tmp_path, GIVEN, level, "-fno-inline", protector))
    assert found == GIVEN_WRONG if level == "-O0" else len(found) > 2 and found <= GIVEN_WRONG


@pytest.mark.parametrize(
    "code",
    [
        "55 48 89 e5  48 89 7d f8  48 83 7d f8 64  0f 9f c0  24 01  0f b6 c8  31 c0  29 c8  5d c3",  # -(n > 100)
        "55 48 89 e5  48 89 7d f8  48 83 7d f8 64  0f 9c c0  24 01  0f b6 c0  83 e8 01  5d c3",  # (n < 100) - 1
    ],
)
def test_minus_one_by_arithmetic_as_clang_writes_it(code: str) -> None:
    assert x86.minus_one_returned(bytes.fromhex(code)) is not None


def test_a_status_given_to_a_helper_as_clang_passes_it() -> None:
    """Of clang -O0: fail(-1, "", 3), fail(status, ...)."""
    call = "bf ff ff ff ff  48 8d 35 93 ee ff ff  ba 03 00 00 00  b0 00"
    code = bytes.fromhex("55 48 89 e5 48 83 ec 10" + call + "e8 27 00 00 00  48 83 c4 10 5d c3")
    at = code.index(b"\xe8")
    assert [*x86.returned_calls(code, 0)] == [(at + 5 + 0x27, at)] and x86.minus_ones_passed(code, at) == {0}
    helper = "55 48 89 e5  48 83 ec 10  89 7d fc  83 7d fc 00  74 0a  bf 09 00 00 00  e8 00 01 00 00  8b 45 fc"
    assert x86.arguments_returned(bytes.fromhex(helper + "48 83 c4 10 5d c3")) == {0}
    negative = helper.replace("74 0a", "7d 0a")
    assert x86.arguments_returned(bytes.fromhex(negative + "48 83 c4 10 5d c3")) == set()


EXPORTED = """
#include <stdio.h>
#include <stdlib.h>
int remove_block(long n) { if (n > 3) return 0; return -1; }
int free_block(long n) { return remove_block(n); }
int other_block(long n) { return n > 3 ? 0 : 2; }
int cuMemFree_v2(long n) {
    int result = free_block(n);
    if (getenv("LOG")) fprintf(stderr, "%ld %ld %ld %ld %ld %d\\n", n, n, n, n, n, result);
    return result;
}
int cuCtxDestroy_v2(long n) {
    int result = other_block(n);
    if (getenv("LOG")) fprintf(stderr, "%ld %ld %ld %ld %ld %d\\n", n, n, n, n, n, result);
    return result;
}
"""


@pytest.mark.parametrize("now", ["-Wl,-z,lazy", "-Wl,-z,now"])
def test_helpers_that_are_exported_are_called_by_the_plt(tmp_path: Path, now: str) -> None:
    """As in a debug build that hides nothing; the epilogue sets the stack back by its frame."""
    assert returning_minus_one(compiled(tmp_path, EXPORTED, "-O0", now)) == {"cuMemFree_v2"}
