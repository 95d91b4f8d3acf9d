"""cuda-log start --fast in a program whose children share its memory: they take gdb's breakpoints with them."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from scenario import Scenario
from test_fast_log import lists_locations

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the recorder is made for x86-64")

CLONES = """
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
int cuMemFree_v2(unsigned long long dptr);
static int child(void *argument)
{
    (void)argument;
    _exit(40);
}
int main(void)
{
    static char stack[1 << 16];
    unsigned long long place = 0;
    int status;
    for (int i = 0; i < 4; i++) {
        cuMemAlloc_v2(&place, 5);
        waitpid(clone(child, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL), &status, __WALL);
        raise(SIGUSR2);
        cuMemAlloc_v2(&place, 7);
    }
    printf("came to its end with %llu\\n", place);
    return 0;
}
"""
HOOK = """
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize)
{
    *dptr = bytesize * 31;
    return 0;
}
int cuMemFree_v2(unsigned long long dptr)
{
    return dptr == 77;
}
"""
READ = ("python entry = int(gdb.parse_and_eval('(long)&cuMemAlloc_v2')); "
        "print('shown', bytes(gdb.selected_inferior().read_memory(entry, 5)).hex())")  # fmt: skip


def test_a_breakpoint_that_a_child_takes_along(local: Scenario, compile_c) -> None:
    """gdb would put back what was below it: the first byte of a jump whose rest is gone. (In place: else gdb puts back
    in the child, and so in the parent, what a displaced step executes. The guard keeps breakpoints in the process.)"""
    if not lists_locations():
        pytest.skip("this gdb does not tell where its breakpoints are while the program goes on: --fast says so")
    hook = compile_c("libsharedhook.so", HOOK, "-shared", "-O1", "-fpatchable-function-entry=8")
    program = compile_c("program", CLONES, str(hook))
    words = ("set displaced-stepping off", "handle SIGUSR2 stop nopass", "cuda-break cuMemFree if dptr == 77",
             "cuda-log start --fast cuMemAlloc", "tbreak main", "RUN", "break *cuMemAlloc_v2 if $rsi == 77", READ,
             "continue", READ, "continue", READ, "delete", "continue", READ, "continue", "continue")  # fmt: skip
    text = local.run(program, *words, hook=hook)
    assert len(shown := re.findall("^shown (.*)", text, re.MULTILINE)) == 4 and len(set(shown)) == 1, text
    assert "came to its end with 217" in text and "exited normally" in text, text


def test_why_a_program_with_such_children_has_no_calls(local: Scenario, compile_c) -> None:
    """Its first call comes behind the first of them, and gdb is not asked again: at the end nothing is read either."""
    if not lists_locations():
        pytest.skip("this gdb does not tell where its breakpoints are while the program goes on: --fast says so")
    hook = compile_c("libsharedhook.so", HOOK, "-shared", "-O1")
    first = CLONES.replace("cuMemAlloc_v2(&place, 5);", "").replace("raise(SIGUSR2);", "")
    program = compile_c("program", first, str(hook))
    text = local.run(program, "cuda-log start --fast cuMemAlloc", "run", "cuda-log summary", "cuda-log show", hook=hook)
    assert "came to its end with 217" in text and "No calls." in text, text
    assert text.count("are not recorded: the program makes a child that shares its memory") == 2, text


BEGINS = """
#include <pthread.h>
int cuMemAlloc_v2(unsigned long long *, unsigned long);
static volatile int is_done;
static void *allocate(void *nothing)
{
    unsigned long long block;
    for (unsigned long i = 0; i < 400; i++)
        cuMemAlloc_v2(&block, i);
    is_done = 1;
    return nothing;
}
static void *pass(void *nothing) { return nothing; }
int main(void)
{
    pthread_t worker, other;
    pthread_create(&worker, 0, allocate, 0);
    while (!is_done) {
        pthread_create(&other, 0, pass, 0);
        pthread_join(other, 0);
    }
    return pthread_join(worker, 0);
}
"""


def test_a_thread_that_begins_while_another_stands_at_an_entry(local: Scenario, compile_c) -> None:
    """gdb, which has no thread selected then, cannot write, but had changed what it keeps below its breakpoint."""
    hook = compile_c("libsharedhook.so", HOOK, "-shared", "-O1", "-fpatchable-function-entry=8")
    program = compile_c("program", BEGINS, str(hook), "-pthread")
    words = ("set displaced-stepping off", "set cuda-guard off", "cuda-log start --fast cuMemAlloc", "tbreak main",
             "RUN", "break *cuMemAlloc_v2 if $rsi % 16 == 1")  # fmt: skip
    text = local.run(program, *words, *["continue"] * 26, hook=hook)
    assert text.count("hit Breakpoint") == 25 and "exited normally" in text, text


BESIDE = """
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
static volatile int over, wrong;
static int child(void *unused)
{
    (void)unused;
    for (unsigned long i = 0; !over; i++) {
        unsigned long long block;
        cuMemAlloc_v2(&block, i);
        wrong += block != i * 31;
    }
    _exit(40);
}
int main(void)
{
    static char stack[1 << 16];
    unsigned long long block;
    int status;
    cuMemAlloc_v2(&block, 1);
    pid_t made = clone(child, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);
    for (int i = 0; i < 100; i++)
        raise(SIGUSR2);
    over = 1;
    waitpid(made, &status, 0);
    printf("status %#x, wrong %d\\n", status, wrong);
    raise(SIGUSR2);
    cuMemAlloc_v2(&block, 2);
    return 0;
}
"""


def test_a_child_that_runs_on_while_the_program_stops(local: Scenario, compile_c, tmp_path: Path) -> None:
    """It may be among the first instructions of any function, and it ends at any breakpoint."""
    if not lists_locations():
        pytest.skip("this gdb does not tell where its breakpoints are while the program goes on: --fast says so")
    hook = compile_c("libsharedhook.so", HOOK, "-shared", "-O0")
    program = compile_c("program", BESIDE, str(hook), f"-Wl,-rpath,{tmp_path}")
    going = "python for _ in range(100): gdb.execute('continue', to_string=True)"
    words = ("handle SIGUSR2 stop nopass", "cuda-log start --fast cuMemAlloc", "RUN", going, "continue", "cuda-log")
    text = local.run(program, *words, hook=hook)
    assert "status 0x2800, wrong 0\n" in text and "exited normally" in text, text
    assert "a thread may have been as the program went on: cuMemAlloc_v2" in text, text


AS_IT_STOPS = """
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
enum { TIMES = 20 };
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
static volatile int wanted, comes;
static int child(void *unused)
{
    (void)unused;
    _exit(40);
}
static void *cloning(void *unused)
{
    static char stack[1 << 16];
    int status;
    for (int i = 1; i <= TIMES; i++) {
        while (wanted < i)
            ;
        comes = i;
        waitpid(clone(child, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL), &status, 0);
        if (status != 40 << 8)
            abort();
    }
    return unused;
}
int main(void)
{
    pthread_t thread;
    unsigned long long block;
    if (pthread_create(&thread, NULL, cloning, NULL))
        abort();
    for (int i = 1; i <= TIMES; i++) {
        raise(SIGUSR2); /* gdb puts its breakpoints back, which the last child has taken away */
        wanted = i;
        while (comes < i)
            ;
        for (volatile int n = 0; n < i * 8000; n++)
            ;
        cuMemAlloc_v2(&block, 7);
        cuMemAlloc_v2(&block, 1);
    }
    return pthread_join(thread, NULL);
}
"""
# add $0x7f900000, %rax: behind the first byte of a jump that is four bytes which lead nowhere
BARE = """
__asm__(".globl cuMemAlloc_v2\\n.type cuMemAlloc_v2, @function\\ncuMemAlloc_v2: .byte 0x48, 0x05, 0, 0, 0x90, 0x7f\\n"
        "xor %eax, %eax\\nret\\n.size cuMemAlloc_v2, . - cuMemAlloc_v2");
"""


def test_a_child_that_comes_as_another_thread_stops(shim: Path, compile_c, tmp_path: Path) -> None:
    """gdbserver has taken down what was below gdb's breakpoints at the fork, and puts it back: a byte of our jump."""
    hook = compile_c("libsharedhook.so", BARE, "-shared")
    program = compile_c("program", AS_IT_STOPS, str(hook), f"-Wl,-rpath,{tmp_path}", "-pthread")
    going = "python while gdb.selected_inferior().pid: gdb.execute('continue')"
    words = ("handle SIGUSR2 stop nopass", "set cuda-guard off", "cuda-log start --fast cuMemAlloc --in hook",
             "cuda-break cuMemAlloc if bytesize == 7", "RUN", going)  # fmt: skip
    far = Scenario(shim, "gdbserver", beside=str(shim / "libgdbcuda.so"))
    text = far.run(program, *words, hook=hook)
    assert "SIGSEGV" not in text and "somebody has put a uprobe" not in text and "exited normally" in text, text
