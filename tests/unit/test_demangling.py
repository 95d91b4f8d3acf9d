"""Names as their authors wrote them, of C++ and of Rust, whose names are C++'s with a hash behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gdbcuda.text.demangling import demangled, runtime

HASH = "h6a5a2de803992af2"
OWN_MALLOC = """
#include <stddef.h>
#include <string.h>
struct head { size_t size, libc_would_abort; };
static char room[256 << 20] __attribute__((aligned(4096)));
static size_t used;
static void *take(size_t alignment, size_t size)
{
    used = (used + sizeof(struct head) + alignment - 1) / alignment * alignment + size;
    struct head *taken = (struct head *)(room + used - size);
    taken[-1] = (struct head){ size, ~0 };
    return taken;
}
void *malloc(size_t size) { return take(16, size); }
void *calloc(size_t count, size_t size) { return take(16, count * size); }
void *aligned_alloc(size_t alignment, size_t size) { return take(alignment, size); }
void *memalign(size_t alignment, size_t size) { return take(alignment, size); }
int posix_memalign(void **taken, size_t alignment, size_t size) { *taken = take(alignment, size); return 0; }
void free(void *taken) { }
void *realloc(void *old, size_t size)
{
    size_t before = old ? ((struct head *)old)[-1].size : 0;
    void *made = take(16, size);
    return before ? memcpy(made, old, before < size ? before : size) : made;
}
"""


@pytest.mark.parametrize(("symbol", "name"), [
    (f"r::pool::Pool$LT$u64$GT$::grow::{HASH}", "r::pool::Pool<u64>::grow"),
    (f"_$LT$r..Pool$LT$T$GT$$u20$as$u20$core..ops..Drop$GT$::drop::{HASH}", "<r::Pool<T> as core::ops::Drop>::drop"),
    (f"std::rt::lang_start::_$u7b$$u7b$closure$u7d$$u7d$::{HASH}", "std::rt::lang_start::{{closure}}"),
    (f"r::of::$RF$str::{HASH}", "r::of::&str"), ("main", "main"), ("a::b::h123", "a::b::h123"),
    ("odd$LT$name", "odd$LT$name"),
])  # fmt: skip
def test_rust(symbol: str, name: str) -> None:
    assert demangled(symbol) == name


@pytest.mark.skipif(runtime() is None, reason="no C++ runtime here")
def test_rust_in_the_mangled_name() -> None:
    assert demangled(f"_ZN1r4pool15Pool$LT$u64$GT$4grow17{HASH}E") == "r::pool::Pool<u64>::grow"
    assert demangled("_ZN4Pool4growEm") == "Pool::grow(unsigned long)"


@pytest.mark.skipif(runtime() is None, reason="no C++ runtime here")
def test_in_a_process_with_a_malloc_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "own.c").write_text(OWN_MALLOC)
    own = tmp_path / "libown.so"
    subprocess.run(["gcc", "-w", "-fno-builtin", "-shared", "-fPIC", "-o", own, tmp_path / "own.c"], check=True)
    line = "from gdbcuda.text.demangling import demangled; print(demangled('_ZN4Pool4growEm'))"
    done = subprocess.run([sys.executable, "-c", line], env={**os.environ, "LD_PRELOAD": str(own)}, text=True,
                          capture_output=True, check=False)  # fmt: skip
    assert (done.stdout, done.stderr, done.returncode) == ("Pool::grow(unsigned long)\n", "", 0)
