"""A call that a signal interrupts where gdb has a breakpoint is one call."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from scenario import Scenario

HOOK = """
#include <stddef.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize) { *dptr = *dptr * 31 + bytesize; return 0; }
"""
# Signals come 0.3 to 5 ms after each other. The calls have the same arguments and, nearly, the same registers.
PROGRAM = """
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
static volatile long ticks;
static void tick(int signal)
{
    static unsigned random = 1;
    random = random * 1103515245 + 12345;
    struct itimerval next = {{0, 0}, {0, 300 + (random >> 16) % 4700}};
    ticks++;
    setitimer(ITIMER_REAL, &next, NULL);
}
static void *work(void *argument)
{
    unsigned long long found = 0;
    for (long i = atol(argument); i > 0; i--)
        cuMemAlloc_v2(&found, 5);
    return argument;
}
int main(int count, char **words)
{
    (void)count;
    pthread_t threads[2];
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    struct itimerval never = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &action, NULL);
    tick(SIGALRM);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, words[1 + i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    signal(SIGALRM, SIG_IGN);
    setitimer(ITIMER_REAL, &never, NULL);
    printf("signals %d\\n", ticks > 20);
    return 0;
}
"""


FEW = """
#include <signal.h>
#include <stdio.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
static volatile int signals;
static void on_signal(int number)
{
    signals += number == SIGUSR1;
}
int main(void)
{
    unsigned long long found = 0;
    signal(SIGUSR1, on_signal);
    for (int i = 0; i < 6; i++)
        cuMemAlloc_v2(&found, i);
    printf("signals %d\\n", signals);
    return 0;
}
"""


def test_a_signal_where_one_breakpoint_is_left_and_the_other_stops(scenario: Scenario, compile_c) -> None:
    """gdb counts a hit more of the first, for the thread comes there a second time, and does not stop."""
    hook = compile_c("libhook.so", HOOK, "-shared")
    program = compile_c("program", FEW, str(hook), f"-Wl,-rpath,{Path(hook).parent}")
    words = ("set cuda-guard off", "handle SIGUSR1 nostop noprint pass", "cuda-break cuMemAlloc if bytesize <= 1")
    words += ("cuda-break cuMemAlloc if bytesize >= 3", "RUN", "continue")
    words += ("python import os; os.kill(gdb.selected_inferior().pid, 10)", "continue", "delete", "continue")
    text = scenario.run(program, *words, hook=hook)
    told = re.findall(r"^Breakpoint (\d)  .*bytesize=(\d)", text, re.MULTILINE)
    assert told == [("1", "0"), ("1", "1"), ("2", "3")], text
    assert "signals 1" in text and "exited normally" in text, text


@pytest.mark.parametrize("calls", [("200", "200"), ("5", "395")], ids=["two threads", "one ends first"])
@pytest.mark.parametrize("flags", ["-O0", "-O2"])
def test_a_call_in_front_of_a_signal_handler_counts_once(
    scenario: Scenario, compile_c, flags: str, calls: tuple[str, str]
) -> None:
    """(gdb cannot print its table of breakpoints from a thread's end to its next stop.)"""
    hook = compile_c("libhook.so", HOOK, "-shared", flags)
    program = compile_c("program", PROGRAM, "-O0", str(hook), f"-Wl,-rpath,{Path(hook).parent}", "-pthread")
    words = ("set cuda-guard off", "handle SIGALRM nostop noprint pass", "cuda-break cuMemAlloc if nth == 400")
    words += ("cuda-break cuMemAlloc if nth == 401", "RUN", "info breakpoints", "continue")
    text = scenario.run(program, *words, hook=hook, arguments=calls)
    assert text.count("\nBreakpoint 1  hook") == 1 and "\nBreakpoint 2  hook" not in text
    assert text.count("already hit 1 time") == 1, text
    assert "signals 1" in text and "exited normally" in text


def test_a_stop_of_another_thread_counts_no_call_twice(scenario: Scenario, compile_c) -> None:
    """gdb forgets at each stop which threads have come back from a signal's handler to the call that it has seen."""
    hook = compile_c("libhook.so", HOOK, "-shared")
    program = compile_c("program", PROGRAM, "-O0", str(hook), f"-Wl,-rpath,{Path(hook).parent}", "-pthread")
    words = ("set cuda-guard off", "handle SIGALRM nostop noprint pass", "cuda-break cuMemAlloc if every 5", "RUN")
    text = scenario.run(program, *words, *["continue"] * 80, hook=hook, arguments=("200", "200"))
    assert text.count("\nBreakpoint 1  hook") == 80
    assert "signals 1" in text and "exited normally" in text


ONE_ENDS = """
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
static volatile int signals;
static unsigned long long found;
static void on_signal(int number)
{
    signals += number == SIGUSR1;
}
static void *work(void *argument)
{
    cuMemAlloc_v2(&found, 7);
    return argument;
}
int main(void)
{
    pthread_t thread;
    signal(SIGUSR1, on_signal);
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    for (int i = 0; i < 5; i++)
        cuMemAlloc_v2(&found, 5);
    printf("signals %d\\n", signals);
    return 0;
}
"""
EACH_COUNTED = """
import os
from gdbcuda.live.stopping import counting
def signalled(number, one_more=counting.one_more):
    if left:
        os.kill(gdb.selected_inferior().pid, left.pop())
    return one_more(number)
left, counting.one_more = [0, 10] * 5, signalled
"""


def test_a_thread_that_has_ended_since_the_last_stop_counts_no_call_twice(
    scenario: Scenario, compile_c, tmp_path: Path
) -> None:
    """Nobody has asked gdb for its table since the stop, and now it cannot be printed."""
    hook = compile_c("libhook.so", HOOK, "-shared")
    program = compile_c("program", ONE_ENDS, str(hook), f"-Wl,-rpath,{tmp_path}", "-pthread")
    (tmp_path / "signals.py").write_text(EACH_COUNTED)
    words = ("set cuda-guard off", "handle SIGUSR1 nostop noprint pass", f"source {tmp_path}/signals.py")
    words += ("cuda-break cuMemAlloc if bytesize == 7", "cuda-break cuMemAlloc if bytesize == 5 && nth == 7", "RUN")
    text = scenario.run(program, *words, "continue", hook=hook)
    assert "\nBreakpoint 1  hook" in text and "\nBreakpoint 2  hook" not in text, text
    assert "signals 3" in text and "exited normally" in text, text


# The handler is on a stack of its own, and other threads stop the program while it is there.
ON_ANOTHER_STACK = """
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
static volatile int is_over, stops, handled;
static char other_stack[1 << 16];
__attribute__((noinline)) static void stop_here(void)
{
    stops++;
}
static void on_signal(int number)
{
    for (int before = stops; number && stops < before + 2;)
        usleep(100);
    handled++;
}
static void *work(void *argument)
{
    unsigned long long found = 0;
    stack_t other = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    sigaltstack(&other, NULL);
    pthread_sigmask(SIG_UNBLOCK, argument, NULL);
    for (int i = 0; i < 20; i++)
        cuMemAlloc_v2(&found, 5);
    is_over = 1;
    return argument;
}
int main(void)
{
    pthread_t thread;
    sigset_t blocked;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    pthread_create(&thread, NULL, work, &blocked);
    for (; !is_over; stop_here())
        usleep(1000);
    pthread_join(thread, NULL);
    printf("handled %d\\n", handled > 0);
    return 0;
}
"""


def test_a_call_in_front_of_a_handler_on_another_stack_counts_once(
    scenario: Scenario, compile_c, tmp_path: Path
) -> None:
    """At the far end of a link gdb forgets at each stop which threads come back from a handler."""
    hook = compile_c("libhook.so", HOOK, "-shared")
    program = compile_c("program", ON_ANOTHER_STACK, str(hook), f"-Wl,-rpath,{Path(hook).parent}", "-pthread")
    go_on = ("python import itertools; [gdb.execute('continue') for _ in "
             "itertools.takewhile(lambda _: gdb.selected_inferior().pid, itertools.count())]")  # fmt: skip
    (tmp_path / "signals.py").write_text(EACH_COUNTED.replace("[0, 10] * 5", "[10, 0, 0] * 4"))
    words = (f"source {tmp_path}/signals.py", "set cuda-guard off", "handle SIGUSR1 nostop noprint pass",
             "cuda-break cuMemAlloc if nth == 21")  # fmt: skip
    text = scenario.run(program, *words, "break stop_here", "RUN", go_on, hook=hook)
    assert "\nBreakpoint 1  hook" not in text and "exited normally" in text, text
    assert "handled 1" in text, text


# Behind each call is another sort of instruction.
WAITED = """
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
static volatile int signals;
static void on_signal(int number)
{
    signals += number == SIGUSR1;
}
#define ASKER(name, behind)                                                                       \
    int name(unsigned long long *, size_t);                                                       \
    __asm__(".type " #name ", @function\\n" #name ": .cfi_startproc\\n sub $8, %rsp\\n"             \
            ".cfi_def_cfa_offset 16\\n call cuMemAlloc_v2@PLT\\n" behind "\\n 1: add $8, %rsp\\n"   \
            ".cfi_def_cfa_offset 8\\n ret\\n .cfi_endproc\\n .size " #name ", . - " #name)
ASKER(simple, "nop");
ASKER(jumping, "jmp 1f; ud2");
ASKER(branching, "jne 1f; nop");
ASKER(calling, "call nothing");
__asm__("nothing: ret");
static int (*const askers[])(unsigned long long *, size_t) = {simple, jumping, branching, calling};
static void *idle(void *argument)
{
    pause();
    return argument;
}
int main(int count, char **words)
{
    unsigned long long sum = 0;
    pthread_t thread;
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    signal(SIGUSR1, on_signal);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    if (count > 1)
        pthread_create(&thread, NULL, idle, words);
    pthread_sigmask(SIG_UNBLOCK, &blocked, NULL);
    for (int i = 0; i < 4; i++) {
        askers[i](&sum, 100 + i);
        askers[i](&sum, 1);
        askers[i](&sum, 200 + i);
    }
    printf("signals %d\\n", signals);
    fflush(stdout);
    _exit(0);
}
"""
SIGNALS = """
import os
from gdbcuda.live.placing import silence
def signalled(*words, let_pass=silence.let_pass):
    os.kill(gdb.selected_inferior().pid, 10)
    return let_pass(*words)
silence.let_pass = signalled
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the program is x86-64's")
@pytest.mark.parametrize("threads", [(), ("two",)], ids=["one thread", "two threads"])
def test_a_signal_as_a_call_returns_that_nobody_waits_for(
    local: Scenario, compile_c, tmp_path: Path, threads: tuple[str, ...]
) -> None:
    """The next call to return there is waited for; to gdb its return looks like the handler's."""
    hook = compile_c("libhook.so", HOOK, "-shared")
    program = compile_c("program", WAITED, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}", "-pthread")
    (tmp_path / "signals.py").write_text(SIGNALS)
    words = ("handle SIGUSR1 nostop noprint pass", f"source {tmp_path}/signals.py")
    words += ("cuda-break cuMemAlloc --on return if bytesize >= 100", "RUN")
    text = local.run(program, *words, *["continue"] * 8, hook=hook, arguments=threads)
    told = re.findall(r"^Breakpoint 1  .*bytesize=(\d+)\) = CUDA_SUCCESS\n +returned to app (\w+)", text, re.MULTILINE)
    names = ["simple", "jumping", "branching", "calling"]
    assert told == [(str(size + i), name) for i, name in enumerate(names) for size in (100, 200)], text
    assert "signals 4" in text and "exited normally" in text, text


ENDS = """
#include <signal.h>
#include <sys/time.h>
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
static void tick(int signal)
{
    (void)signal;
}
int main(void)
{
    unsigned long long found = 0;
    struct itimerval always = {{0, 10000}, {0, 10000}};
    for (int i = 0; i < 40; i++)
        cuMemAlloc_v2(&found, i);
    signal(SIGALRM, tick);
    setitimer(ITIMER_REAL, &always, 0);
    return 3;
}
"""
SLOWLY = (
    "python import time; from gdbcuda.live.guarding import by_process as one; kept = one.keep_counts; "
    "one.keep_counts = lambda: (time.sleep(0.05), kept())"
)


def test_a_timer_that_is_faster_than_we_are_at_the_end(local: Scenario, compile_c) -> None:
    """The call that ends the program begins anew behind each signal, and the program never ended."""
    hook = compile_c("libhook.so", HOOK, "-shared")
    program = compile_c("program", ENDS, "-O0", str(hook), f"-Wl,-rpath,{Path(hook).parent}")
    words = ("handle SIGALRM nostop noprint pass", "cuda-break cuMemAlloc --count if bytesize == 99", "tbreak main")
    text = local.run(program, *words, "RUN", SLOWLY, "continue", hook=hook)
    assert "exited with code 03" in text, text
