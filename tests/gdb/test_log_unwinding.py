"""cuda-log where calls do not simply return: tail calls, longjmp, exceptions, coroutines. Nothing stale, nothing nested
that is not inside."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from scenario import Scenario

DRIVER = """
int cuInit(unsigned int flags) { return 0; }
int cuCtxSynchronize(void) { return 0; }
"""

HOOK = r"""
#include <dlfcn.h>
int cuInit(unsigned int flags)
{
    static int (*real)(unsigned int);
    if (!real) real = (int (*)(unsigned int))dlsym(RTLD_NEXT, "cuInit");
    return real(flags);   /* -O2: jmp *real */
}
int cuCtxSynchronize(void)
{
    static int tries;
    static int (*volatile again)(void) = cuCtxSynchronize;
    if (tries++ % 3 != 2) return again();
    return ((int (*)(void))dlsym(RTLD_NEXT, "cuCtxSynchronize"))();
}
"""

PROGRAM = """
#include <setjmp.h>
#include <ucontext.h>
int cuInit(unsigned int flags);
int cuCtxSynchronize(void);
static jmp_buf back;
static ucontext_t program, other[2];
static char stacks[2][65536];
int cuMemFree_v2(unsigned long long p) { longjmp(back, 1); }
int cuMemFreeHost(void *p) { longjmp(back, 1); }
int cuCtxDetach(void *which) { swapcontext(&other[(long)which], &program); return 7; }
int cuCtxPopCurrent_v2(void *p) { swapcontext(&program, &other[0]); return 5; }
static void coroutine(int which)
{
    cuInit(20 + which);
    cuCtxDetach((void *)(long)which);
    cuInit(30 + which);
}
int main(void)
{
    int (*volatile either[2])() = {(int (*)())cuMemFree_v2, (int (*)())cuMemFreeHost};
    volatile int i;
    cuInit(1);
    cuCtxSynchronize();
    for (i = 0; i < 4; i++)
        if (!setjmp(back)) either[i % 2](i);
    for (i = 0; i < 2; i++) {
        getcontext(&other[i]);
        other[i].uc_stack.ss_sp = stacks[i]; other[i].uc_stack.ss_size = sizeof stacks[i];
        other[i].uc_link = &program;
        makecontext(&other[i], (void (*)(void))coroutine, 1, i);
        swapcontext(&program, &other[i]);       /* as far as inside cuCtxDetach */
    }
    cuInit(2);
    cuCtxPopCurrent_v2(0);                      /* coroutine 0 goes on inside this call, and ends */
    swapcontext(&program, &other[1]);
    cuInit(3);
    return 0;
}
"""

EXCEPTIONS = """
extern "C" {
int cuMemFree_v2(unsigned long long p) { if (p < 4) throw 1; return 0; }
int cuMemFreeHost(void *p) { try { cuMemFree_v2(1); } catch (int) {} return 3; } }
struct Guard { ~Guard() { cuMemFree_v2(8); } };
int main() {
    for (int i = 2; i < 5; i++)
        try { cuMemFree_v2(i); } catch (int) {}
    for (int i = 0; i < 2; i++) cuMemFreeHost(0);
    try { Guard guard; cuMemFree_v2(1); } catch (int) {}
    return 0;
}
"""


def tree(log: Path) -> list[str]:
    """Each call as "depth name argument outcome", in the order of their beginning."""
    events = [json.loads(line) for line in log.read_text().splitlines()]
    ends = {e["op_id"]: e["details"] for e in events if e["phase"] == "E"}
    begins = {e["op_id"]: e for e in events if e["phase"] == "B"}
    assert begins.keys() == ends.keys()
    assert all(e["parent"] is None or begins[e["parent"]]["depth"] == e["depth"] - 1 for e in begins.values())
    return [f"{e['depth']} {e['layer']} {e['name']} {outcome(ends[number])}" for number, e in begins.items()]


def outcome(end: dict) -> str:
    return str(end.get("ended", end.get("status")))


@pytest.fixture
def program(compile_c, tmp_path: Path) -> Path:
    compile_c("libcuda.so.1", DRIVER, "-shared")
    return compile_c("program", PROGRAM, "-rdynamic", f"-L{tmp_path}", "-l:libcuda.so.1", f"-Wl,-rpath,{tmp_path}")


def test_tail_calls_jumps_and_coroutines(scenario: Scenario, program: Path, compile_c, tmp_path: Path) -> None:
    hook, log = compile_c("libhook.so", HOOK, "-O2", "-shared"), tmp_path / "log"
    scenario.run(program, f"cuda-log start --to {log}", "RUN", hook=hook, environment={"LD_LIBRARY_PATH": ""})
    init = ["0 hook cuInit 0", "1 driver cuInit 0"]  # a tail call: both return at once
    again = [f"{depth} {'hook' if depth < 3 else 'driver'} cuCtxSynchronize 0" for depth in range(4)]
    left = ["0 app cuMemFree_v2 unwound", "0 app cuMemFreeHost unwound"] * 2
    suspended = [*init, "0 app cuCtxDetach 7"]
    woken = [*init, "0 app cuCtxPopCurrent_v2 5", *init, *init, *init]
    assert tree(log) == [*init, *again, *left, *suspended, *suspended, *woken]


@pytest.mark.skipif(not shutil.which("g++"), reason="no C++ compiler on this machine (apt-get install g++)")
def test_exceptions(scenario: Scenario, tmp_path: Path) -> None:
    """Through a call; caught inside a call; with a destructor that makes a call on the way."""
    source, program, log = tmp_path / "exceptions.cc", tmp_path / "exceptions", tmp_path / "log"
    source.write_text(EXCEPTIONS)
    subprocess.run(["g++", "-g", "-O0", "-rdynamic", "-o", program, source], check=True, timeout=60)
    scenario.run(program, f"cuda-log start --to {log}", "RUN", hook=None)
    thrown, inside = "0 app cuMemFree_v2 unwound", ["0 app cuMemFreeHost 3", "1 app cuMemFree_v2 unwound"]
    assert tree(log) == [thrown, thrown, "0 app cuMemFree_v2 0", *inside, *inside, thrown, "0 app cuMemFree_v2 0"]


TICKING = """
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
int cuInit(unsigned int flags);
static volatile sig_atomic_t ticks;
static void on_tick(int number) { ticks = ticks + 1; }
int main(void)
{
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, 1000}, {0, 1000}};
    int calls = 0;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    while (calls < 200 || ticks < 200) { cuInit(calls++); }
    setitimer(ITIMER_REAL, &(struct itimerval){}, NULL);
    printf("made %d calls\\n", calls);
}
"""


def test_a_call_that_a_signal_interrupts_is_one(local: Scenario, compile_c, tmp_path: Path) -> None:
    """At its first instruction: gdb goes on from there once more when the handler has returned."""
    compile_c("libcuda.so.1", DRIVER, "-shared")
    program = compile_c("ticking", TICKING, f"-L{tmp_path}", "-l:libcuda.so.1", f"-Wl,-rpath,{tmp_path}")
    log = tmp_path / "log"
    words = ("handle SIGALRM nostop noprint pass", f"cuda-log start --to {log}", "run")
    text = local.run(program, *words, hook=None, environment={"LD_LIBRARY_PATH": ""})
    made = int(re.search(r"made (\d+) calls", text)[1])
    assert tree(log) == ["0 driver cuInit 0"] * made
