"""Calls that a stop has shown: what notices that they are over costs the calls that follow nothing."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from guard_programs import HOOK
from scenario import Scenario
from test_guard import LARGE, ON

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")

# The second of 20,000 calls from one place matches; then there is one more.
MANY = """
#include <stddef.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
static __attribute__((noinline)) void half(void)
{
    __asm__ volatile("");
}
static __attribute__((noinline, noclone)) unsigned long long ask(unsigned long long sum, size_t bytes)
{
    cuMemAlloc_v2(&sum, bytes);
    return sum;
}
int main(void)
{
    unsigned long long sum = 0;
    for (size_t i = 0; i < 20000; i++) {
        if (i == 10000)
            half();
        sum = ask(sum, i == 1 ? (size_t)1 << 40 : i);
    }
    return sum == 0;
}
"""
KEEP = "python from gdbcuda.live.stopping import shown_calls; kept = list(shown_calls.CALLS().endings.values())"
SAY = "python print('in vain', [one.in_vain < 3 for one in kept])"


def test_the_next_calls_do_not_stop_where_it_has_returned(local: Scenario, compile_c, tmp_path: Path) -> None:
    hook = compile_c("libguardhook.so", HOOK, "-shared")
    program = compile_c("program", MANY, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}")
    after = ("tbreak half", "continue", SAY, "tbreak cuMemAlloc_v2", "continue", "finish", "continue")
    text = local.run(program, ON, LARGE, "RUN", KEEP, *after, hook=hook)
    assert "in vain [True]" in text, text
    assert "Value returned is $1 = 0" in text and "exited normally" in text, text


def test_finish_where_a_shown_call_has_returned(local: Scenario, compile_c, tmp_path: Path) -> None:
    """gdb's breakpoint and ours are at one address while the calls that follow return to it."""
    hook = compile_c("libguardhook.so", HOOK, "-shared")
    program = compile_c("program", MANY, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}")
    again = ["tbreak cuMemAlloc_v2", "continue", "finish"] * 2
    text = local.run(program, ON, LARGE, "RUN", "finish", *again, hook=hook)
    assert text.count("Value returned is $") == 3, text
