"""gdbcuda trace of a hook library that overwrites what dlsym gives it, and copies what was there without a look."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from shim_support import OLDER_LIBC
from traced_programs import Trace, needs_recorder, trace

__all__ = ["trace"]  # the fixture
pytestmark = needs_recorder

PATCHER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
typedef int alloc(void **pointer, unsigned long size);
static alloc *moved;
static int twice(void **pointer, unsigned long size) { return moved(pointer, 2 * size); }
static void jump(unsigned char *at, const void *to)
{
    memcpy(at, "\xff\x25\0\0\0", 6);
    memcpy(at + 6, &to, 8);
}
__attribute__((constructor)) static void install(void)
{
    unsigned char *entry = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemAlloc_v2");
    unsigned char *copy = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(copy, entry, COPIED);
    jump(copy + COPIED, entry + COPIED);
    moved = (alloc *)copy;
    mprotect((void *)((uintptr_t)entry & -4096ul), 8192, 7);
    jump(entry, (void *)twice);
}
"""


@pytest.mark.parametrize("copied, options", [(14, ()), (16, ("--filter", "bytesize > 1G"))])
def test_what_it_is_given_may_be_moved(trace: Trace, tmp_path: Path, copied: int, options: tuple[str, ...]) -> None:
    hook, source = tmp_path / "libpatcher.so", tmp_path / "patcher.c"
    source.write_text(PATCHER)
    flags = ["-shared", "-fPIC", f"-DCOPIED={copied}", "-o", str(hook)]
    subprocess.run(["gcc", "-O1", *flags, str(source), "-ldl", *OLDER_LIBC], check=True)
    found = trace("dlsym_alloc", options=("--hook", str(hook), *options))
    sizes = [call["arguments"]["bytesize"] for call in found.calls() if call["name"] == "cuMemAlloc_v2"]
    assert found.done.returncode == 0 and set(sizes) == {2 * ((1 << 30) + 1)}
