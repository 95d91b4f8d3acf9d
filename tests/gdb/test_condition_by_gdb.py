"""Conditions of functions that are not in the API's table: gdb reads them, and says nothing before the run."""

from __future__ import annotations

import re
import subprocess

import pytest
from scenario import Scenario

OWN_CHECK = """
#include <stddef.h>
struct room { size_t total; };
static struct room room;
extern int somewhere;
__attribute__((noinline)) static int room_check(int ordinal, size_t bytes) { room.total += bytes; return ordinal; }
int cuMemAlloc_v2(unsigned long long *p, size_t n) { return room_check(0, n); }
"""
NOT_TAKEN = {
    "byte > 1": "no byte in libown.so, nor in the program (gdb reads this condition)",
    "bytes > (1": "bytes > (1: a syntax error for gdb, which reads this condition",
    "bytes >>": "bytes >>: a syntax error for gdb, which reads this condition",
    "caller in app && room.total": "caller: only beside conditions on parameters that are known (gdb reads",
    "room.total > 5 --on return": "--on belongs in front of if, with the other options",
    "nth == 2 && room.total": "nth: only beside conditions on parameters that are known",
}
TAKEN = ("bytes > 2 && ordinal == 0", "room.total >= 0", "room.total < 1G",
         "((struct room *)&room)->total >= 0", "(unsigned)bytes > 7",
         '$_streq("byte", "byte")', "main != 0", "stderr == 0 || 1", "bytes == 'a' || 1")  # fmt: skip


def test_sizes_on_a_copy(local: Scenario, compile_c) -> None:
    """gcc calls a copy of it, without the argument that is always 0, so gdb reads the condition."""
    hook = compile_c("libown.so", OWN_CHECK, "-shared", "-O2")
    asked = [f"cuda-break room_check if bytes > {size}" for size in ("1G", "1024")]
    text = local.run("test_alloc", *asked, "run", "info breakpoints", hook=hook)
    assert re.search(r"stop only if (\$_cuda_registers\(\) && \()?\(bytes > 1073741824\)", text), text
    assert "Breakpoint 2, room_check (" in text


INLINED = """
#include <stdio.h>
static size_t used, limit = 100 << 20;
static inline __attribute__((always_inline)) int oom_check(int dev, size_t addon)
{
    if (used + addon > limit) { fprintf(stderr, "no room on %d\\n", dev); return 1; }
    return 0;
}
int cuMemAlloc_v2(unsigned long long *p, size_t n) { if (oom_check(7, n)) return 2; *p = 1 << 20; return 0; }
int cuMemAllocHost_v2(void **p, size_t n) { if (oom_check(8, n)) return 2; *p = &used; return 0; }
"""


def test_what_is_inlined_everywhere(local: Scenario, compile_c) -> None:
    """It stops in each function that has it, on its own parameters, which only gdb knows where to find."""
    hook = compile_c("libown.so", INLINED, "-shared", "-O2")
    asked = ["cuda-break oom_check if addon > 1G && dev == 7", "cuda-break oom_chek"]
    text = local.run("test_alloc", *asked, "run", "info breakpoints", "backtrace 2", hook=hook)
    assert "Breakpoint 1: oom_check in hook libown.so (pending until it is loaded), if addon > 1G && dev == 7" in text
    assert "cuda-break: no function 'oom_chek'" in text
    assert "oom_check (" in text and "addon=1073741825" in text and "addon=67108864" not in text
    assert text.count(" in oom_check at ") == 2 and "#1  [hook libown.so] cuMemAlloc_v2 (" in text


@pytest.mark.parametrize("debug_info", ["inside", "beside"])
def test_a_condition_that_gdb_would_refuse_later(local: Scenario, compile_c, debug_info: str) -> None:
    """gdb itself says nothing before the run, and then drops the condition. What it takes is let through."""
    hook = compile_c("libown.so", OWN_CHECK, "-shared")
    if debug_info == "beside":
        debug = hook.with_suffix(".debug")
        for line in (["objcopy", "--only-keep-debug", hook, debug], ["strip", hook],
                     ["objcopy", f"--add-gnu-debuglink={debug.name}", hook]):  # fmt: skip
            subprocess.run(line, check=True, cwd=hook.parent, timeout=60)
    asked = [f"cuda-break room_check if {one}" for one in (*NOT_TAKEN, *TAKEN)]
    text = local.run("test_alloc", *asked, "run", hook=hook)
    assert all(f"cuda-break: {why}" in text or why in text for why in NOT_TAKEN.values())
    assert text.count("cuda-break: ") == len(NOT_TAKEN)
    assert text.count("room_check in hook libown.so (pending until it is loaded), if ") == len(TAKEN)
    assert "Error in re-setting" not in text
    assert "room_check (ordinal=0, bytes=" in text
