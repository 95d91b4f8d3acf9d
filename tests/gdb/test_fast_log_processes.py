"""cuda-log start --fast beside what becomes of the process: detached, forked, crashed, run again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from running_program import DETACHED_TO_ITS_END
from scenario import Scenario
from test_fast_log import _new_enough as _new_enough
from test_fast_log import after_start
from test_fast_log import placed as placed
from test_fast_log import pytestmark as pytestmark


def test_what_is_detached_goes_on_as_it_was(placed: Scenario, tmp_path: Path) -> None:
    text = placed.run("test_alloc", "cuda-log start --fast", "tbreak copy_there_and_back", "RUN",
                     *DETACHED_TO_ITS_END, "cuda-log show --last 1")  # fmt: skip
    assert "freed      16384 MiB free" in text and "cuMemGetInfo_v2" in text, text


def test_the_children_of_a_fork(placed: Scenario) -> None:
    alone = placed.run("fork_exec", "RUN")
    fast = placed.run("fork_exec", "cuda-log start --fast", "RUN", "cuda-log")
    assert after_start(fast)
    lines = [line for line in alone.splitlines() if line.startswith(("parent", "child", "exec"))]
    assert lines and all(line in fast for line in lines), fast


def test_the_child_that_gdb_follows(placed: Scenario) -> None:
    text = placed.run("fork_exec", "cuda-log start --fast", "set follow-fork-mode child", "RUN", "cuda-log show")
    assert re.search(r"#\d+ .* hook +cu\w+\(", text), text


SEGV = """
#include <stddef.h>
int cuInit(unsigned);
int cuDeviceGet(int *, int);
int main(void)
{
    int device;
    cuInit(0);
    for (int i = 0; i < 30; i++)
        cuDeviceGet(&device, 0);
    *(volatile int *)NULL = 1;
    return 0;
}
"""


def test_the_last_calls_before_the_crash(placed: Scenario, compile_c, tmp_path: Path) -> None:
    program = compile_c("crash", SEGV, str(placed.shim / "standin/libcuda.so.1"))
    text = placed.run(program, "cuda-log start --fast --in hook", "RUN")
    assert re.search(r"the last calls of thread 1:\n(#\d+ .* hook +cuDeviceGet\(.*\n){10}", text), text


EXECUTES = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
int cuDriverGetVersion(int *);
extern char **environ;
int main(int count, char **words)
{
    int version, self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    char more[] = "more", *next[] = {words[0], more, count > 1 ? more : NULL, count > 2 ? more : NULL, NULL};
    for (int i = 0; i < 5; i++)
        cuDriverGetVersion(&version);
    if (count == 1)
        execv("/proc/self/exe", next);
    if (count == 2)
        fexecve(self, next, environ);
    if (count == 3)
        syscall(SYS_execve, "/proc/self/exe", next, environ);
    return count != 4;
}
"""


def test_run_again_and_executed_again(local: Scenario, compile_c) -> None:
    program = compile_c("executes", EXECUTES, str(local.shim / "standin/libcuda.so.1"))
    text = local.run(program, "cuda-log start --fast cuDriverGetVersion --in hook", "RUN", "RUN", "cuda-log")
    assert text.count("is executing new program") == 6 and text.count("exited normally") == 2, text
    assert "40 calls kept" in text, text


OWN_ENVIRONMENT = """
#include <unistd.h>
int cuDriverGetVersion(int *);
int main(int count, char **words)
{
    char path[] = "LD_LIBRARY_PATH=PLACE", more[] = "more", *next[] = {words[0], more, NULL}, *own[] = {path, NULL};
    int version;
    cuDriverGetVersion(&version);
    return count == 1 ? execve("/proc/self/exe", next, own) : 0;
}
"""


def test_a_program_that_is_executed_without_our_library(local: Scenario, compile_c) -> None:
    """Nobody has named it in its environment."""
    source = OWN_ENVIRONMENT.replace("PLACE", str(local.shim / "standin"))
    program = compile_c("own", source, str(local.shim / "standin/libcuda.so.1"))
    text = local.run(program, "cuda-log start --fast cuDriverGetVersion", "RUN", "cuda-log summary")
    said = "a program without libgdbcuda.so, as one with an environment of its own: no call of own is recorded"
    assert "exited normally" in text and f"\ncuda-log: {said}\n" in text and f"\n{said}." in text, text


ENDS = """
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
int cuDriverGetVersion(int *);
extern char **environ;
static long call_kernel(long number, long first, void *second, void *third)
{
    __asm__ volatile("syscall" : "+a"(number) : "D"(first), "S"(second), "d"(third) : "rcx", "r11", "memory");
    return number;
}
int main(int count, char **words)
{
    char more[] = "more", *next[] = {words[0], more, NULL};
    int version;
    for (int i = 0; i < 5; i++)
        cuDriverGetVersion(&version);
    if (count == 1)
        EXECUTE;
    if (count == 2)
        END;
    return 1;
}
"""
EXECUTE = '__asm__ volatile("syscall" : : "a"(59), "D"("/proc/self/exe"), "S"(next), "d"(environ))'
END = '__asm__ volatile("syscall" : : "a"(231), "D"(0))'
BY_ONE_INSTRUCTION = [
    ("EXECUTE", 'call_kernel(59, (long)"/proc/self/exe", next, environ)'), ("END", "call_kernel(231, 0, 0, 0)")
]  # fmt: skip
UNSEEN = r"Calls may be missing of processes that ended unseen, from the last stop on \(.*\): process \d+\."


@pytest.mark.parametrize("how", [[("EXECUTE", EXECUTE), ("END", END)], BY_ONE_INSTRUCTION], ids=["each", "one"])
def test_executed_and_ended_past_libc(local: Scenario, compile_c, how: list[tuple[str, str]]) -> None:
    source = ENDS
    for name, code in how:
        source = source.replace(f"{name};", f"{code};")
    program = compile_c("ends", source, "-Wno-unused-function", str(local.shim / "standin/libcuda.so.1"))
    text = local.run(program, "cuda-log start --fast cuDriverGetVersion --in hook", "RUN", "cuda-log")
    assert text.count("is executing new program") == 1 and "exited normally" in text, text
    assert "10 calls kept" in text and not re.search(UNSEEN, text), text


def test_what_nobody_could_read_is_said(local: Scenario, compile_c, tmp_path: Path) -> None:
    """Of who is killed, gdb hears when the memory has gone."""
    source = ENDS.replace("EXECUTE;", "kill(getpid(), SIGKILL);").replace("END;", ";")
    program = compile_c("killed", source, "-Wno-unused-function", str(local.shim / "standin/libcuda.so.1"))
    text = local.run(program, "cuda-log start --fast cuDriverGetVersion --in hook", "RUN", "cuda-log")
    assert re.search(UNSEEN, text), text


def test_the_signal_of_the_last_stop_ends_it_seen(local: Scenario, compile_c) -> None:
    program = compile_c("crash", SEGV, str(local.shim / "standin/libcuda.so.1"))
    text = local.run(program, "cuda-log start --fast --in hook", "RUN", "continue", "cuda-log")
    assert "Program terminated with signal SIGSEGV" in text and not re.search(UNSEEN, text), text


def test_a_signal_for_real_time_ends_it(local: Scenario, compile_c) -> None:
    """Python has no name for most of them."""
    source = ENDS.replace("EXECUTE;", "raise(40);").replace("END;", ";")
    program = compile_c("real_time", source, "-Wno-unused-function", str(local.shim / "standin/libcuda.so.1"))
    text = local.run(program, "cuda-log start --fast cuDriverGetVersion --in hook", "RUN", "continue", "cuda-log")
    assert "Program terminated with signal SIG40" in text and "5 calls kept" in text, text
    assert "fault of gdbcuda" not in text and not re.search(UNSEEN, text), text


def test_an_old_gdb_says_what_it_lacks(local: Scenario) -> None:
    old = "python import gdbcuda.live.breakpoints.locations as one; one.LISTS = False"
    text = local.run("test_alloc", old, "cuda-log start --fast")
    assert "--fast needs a gdb that tells where breakpoints are" in text, text
