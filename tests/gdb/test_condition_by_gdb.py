"""Conditions of functions that are not in the API's table: gdb reads them, and says nothing before the run."""

from __future__ import annotations

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
    "room.total > 1G": "sizes like 1G go with parameters alone)",
    "caller in app && room.total": "caller: only beside conditions on parameters that are known (gdb reads",
    "room.total > 5 --on return": "--on belongs in front of if, with the other options",
    "nth == 2 && room.total": "nth: only beside conditions on parameters that are known",
}
TAKEN = ("bytes > 2 && ordinal == 0", "room.total >= 0", "((struct room *)&room)->total >= 0", "(unsigned)bytes > 7",
         '$_streq("byte", "byte")', "main != 0", "stderr == 0 || 1", "bytes == 'a' || 1")  # fmt: skip


def test_why_a_copy_has_no_sizes(local: Scenario, compile_c) -> None:
    """gcc calls a copy of it, without the argument that is always 0."""
    hook = compile_c("libown.so", OWN_CHECK, "-shared", "-O2")
    asked = [f"cuda-break room_check if bytes > {size}" for size in ("1G", "1024")]
    text = local.run("test_alloc", *asked, "run", hook=hook)
    assert "cuda-break: 1G: gdb reads this condition, as gcc has made room_check.constprop.0 of it" in text
    assert "Breakpoint 1, room_check (" in text


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
