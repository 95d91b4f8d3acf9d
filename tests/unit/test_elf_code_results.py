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
