"""Calls that a stop has shown: what notices that they are over costs the calls that follow nothing."""

from __future__ import annotations

import platform
import re
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
KEEP = "python from gdbcuda.live.stopping.returning import shown_calls; kept = [*shown_calls.CALLS().endings.values()]"
SAY = "python print('in vain', [one.in_vain < 3 for one in kept])"


STEPPING = pytest.mark.parametrize("stepping", ["set displaced-stepping auto", "set displaced-stepping off"])


@STEPPING
def test_the_next_calls_do_not_stop_where_it_has_returned(
    local: Scenario, compile_c, tmp_path: Path, stepping: str
) -> None:
    """(gdb that steps in place puts each breakpoint back behind the thread that it has stepped off it.)"""
    hook = compile_c("libguardhook.so", HOOK, "-shared")
    program = compile_c("program", MANY, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}")
    after = ("tbreak half", "continue", SAY, "tbreak cuMemAlloc_v2", "continue", "finish", "continue")
    text = local.run(program, stepping, ON, LARGE, "RUN", KEEP, *after, hook=hook)
    assert "in vain [True]" in text, text
    assert "Value returned is $1 = 0" in text and "exited normally" in text, text


WAITING = """
#include <pthread.h>
#include <unistd.h>
static void *wait_for_ever(void *nothing)
{
    pause();
    return nothing;
}
__attribute__((constructor)) static void start(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_ever, NULL);
}
"""


def test_in_place_it_stays_while_another_thread_may_make_a_child(local: Scenario, compile_c, tmp_path: Path) -> None:
    """A child that is in the kernel still has it already, and nobody can take it out of that one."""
    hook = compile_c("libguardhook.so", HOOK, "-shared")
    program = compile_c("program", MANY.replace("0000", "0") + WAITING, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}")
    stays = "python print('enabled', [one.enabled for one in kept])"
    text = local.run(program, "set displaced-stepping off", ON, LARGE, "RUN", KEEP, "tbreak half", "continue", stays,
                     hook=hook)  # fmt: skip
    assert "enabled [True]" in text, text


SOMEONE = """
import gdb
class Half(gdb.Breakpoint):
    def stop(self):
        other.append(gdb.Breakpoint(f"*{kept[0].address:#x}", internal=True))
        other[0].silent = True
        return True
other = []
Half("half")
"""


def test_what_is_not_alone_at_its_address_stays_there(local: Scenario, compile_c, tmp_path: Path) -> None:
    """While the calls that follow return past it, gdb puts one of its own there, as it does where a signal comes. That
    one would be alone, and go while threads run: a child that is made then would keep it."""
    hook = compile_c("libguardhook.so", HOOK, "-shared")
    program = compile_c("program", MANY, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}")
    (tmp_path / "someone.py").write_text(SOMEONE)
    is_there = "python shown_calls.sweep(); print('it is there', kept[0].is_valid())"  # as at a prompt
    goes = ("python other[0].delete()", "tbreak exit", "continue", is_there, "continue")
    text = local.run(
        program, ON, LARGE, "RUN", KEEP, f"source {tmp_path}/someone.py", "continue", is_there, *goes, hook=hook
    )
    assert re.findall("it is there (True|False)", text) == ["True", "False"], text
    assert "exited normally" in text, text


def test_who_waits_where_a_shown_call_has_returned(local: Scenario, compile_c, tmp_path: Path) -> None:
    """What has noticed the end of the first call is silent there, and no prompt has come that would delete it."""
    hook = compile_c("libguardhook.so", HOOK, "-shared")
    large = MANY.replace("i == 1 ?", "i == 15000 ? (size_t)3 << 40 : i == 1 ?")
    program = compile_c("program", large, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}")
    fails = "cuda-break cuMemAlloc --on error if bytesize >= 3T"
    shown = "cuda-break cuMemAlloc if bytesize >= 1T && bytesize < 2T"
    text = local.run(program, ON, fails, shown, "RUN", "continue", "continue", hook=hook)
    assert "= CUDA_ERROR_OUT_OF_MEMORY" in text and "exited normally" in text, text


VFORKS = """
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
int main(void)
{
    unsigned long long sum = 0;
    for (size_t i = 0; i < 6000; i++) {
        if (i % 500 == 10) {
            pid_t child = vfork();
            if (child == 0)
                _exit(0);
            waitpid(child, NULL, 0);
        }
        cuMemAlloc_v2(&sum, i == 1 ? (size_t)1 << 40 : i);
    }
    return sum == 0;
}
"""
COUNT = """
from gdbcuda.live.stopping.returning import shown_calls
def counted(self, fall_silent=shown_calls.Ending.fall_silent):
    met.append(self)
    fall_silent(self)
met, shown_calls.Ending.fall_silent = [], counted
"""


@STEPPING
def test_after_each_vfork_it_falls_silent_again(local: Scenario, compile_c, tmp_path: Path, stepping: str) -> None:
    """(gdb takes all breakpoints out at a vfork, and puts them back.)"""
    hook = compile_c("libguardhook.so", HOOK, "-shared")
    program = compile_c("program", VFORKS, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}")
    (tmp_path / "count.py").write_text(COUNT)
    say = "python print('met', len(met) < 40)"
    text = local.run(program, stepping, ON, LARGE, "RUN", f"source {tmp_path}/count.py", "continue", say, hook=hook)
    assert "exited normally" in text and "met True" in text, text


def test_finish_where_a_shown_call_has_returned(local: Scenario, compile_c, tmp_path: Path) -> None:
    """gdb's breakpoint and ours are at one address while the calls that follow return to it."""
    hook = compile_c("libguardhook.so", HOOK, "-shared")
    program = compile_c("program", MANY, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}")
    again = ["tbreak cuMemAlloc_v2", "continue", "finish"] * 2
    text = local.run(program, ON, LARGE, "RUN", "finish", *again, hook=hook)
    assert text.count("Value returned is $") == 3, text
