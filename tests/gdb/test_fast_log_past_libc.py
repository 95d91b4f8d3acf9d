"""cuda-log start --fast in a program that ends its threads, and forks, by `syscall` instructions of its own."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from scenario import Scenario
from test_fast_log import lists_locations
from test_fast_log_sharing import HOOK

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the instruction is x86-64's")


@pytest.fixture(autouse=True)
def _new_enough() -> None:
    if not lists_locations():
        pytest.skip("this gdb does not tell where its breakpoints are while the program goes on: --fast says so")


CALL = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
static __attribute__((noinline)) long raw(NUMBER long first)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"((long)number), "D"(first), "S"(0), "d"(0) : "rcx", "r11", "memory");
    return result;
}
"""
ENDS = """
enum { THREADS = 4 };
static volatile int ready, is_over;
static void *work(void *delay)
{
    unsigned long long block;
    cuMemAlloc_v2(&block, 3);
    __sync_fetch_and_add(&ready, 1);
    while (!is_over)
        ;
    for (volatile long i = 0; i < (long)delay * 3000; i++)
        ;
    raw(WAY 0);
    return NULL;
}
static void begin(pthread_t *threads)
{
    ready = is_over = 0;
    for (long i = 0; i < THREADS; i++)
        pthread_create(threads + i, NULL, work, (void *)i);
    while (ready < THREADS)
        ;
    is_over = 1;
}
int main(void)
{
    pthread_t threads[THREADS];
    begin(threads);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    BESIDE
    exit(7);
}
"""


@pytest.mark.parametrize(("declared", "given", "beside"), [
    ("", "", "begin(threads);"), ("long number,", "SYS_exit,", "")], ids=["itself", "as it is told"])  # fmt: skip
def test_threads_that_end_past_libc(
    local: Scenario, compile_c, tmp_path: Path, declared: str, given: str, beside: str
) -> None:
    """Also beside the process's end. gdb steps them off a breakpoint there, and does not get over their end."""
    hook = compile_c("libendshook.so", HOOK, "-shared", "-O1")
    call = CALL.replace("NUMBER", declared)
    source = (call if declared else call.replace("(long)number", "(long)SYS_exit")) + ENDS
    source = source.replace("WAY", given).replace("BESIDE", beside)
    program = compile_c("program", source, "-O1", str(hook), "-pthread", f"-Wl,-rpath,{tmp_path}")
    text = local.run(program, "cuda-log start --fast cuMemAlloc", "RUN", "cuda-log", hook=hook)
    assert "exited with code 07" in text, text
    assert f"{8 if beside else 4} calls kept" in text, text


FORKS = """
int main(void)
{
    for (int i = 0; i < 3; i++) {
        unsigned long long block;
        int status;
        cuMemAlloc_v2(&block, i);
        long child = raw(SYS_fork, 0);
        if (!child)
            raw(SYS_exit_group, 40);
        waitpid(child, &status, 0);
        if (status != 40 << 8)
            return 1;
    }
    return 7;
}
"""


def test_a_fork_past_libc(local: Scenario, compile_c, tmp_path: Path) -> None:
    """gdb lets the parent go on in its copy of the instruction."""
    hook = compile_c("libendshook.so", HOOK, "-shared", "-O1")
    source = CALL.replace("NUMBER", "long number,") + FORKS
    program = compile_c("program", source, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}")
    text = local.run(program, "cuda-log start --fast cuMemAlloc", "RUN", "cuda-log", hook=hook)
    assert "exited with code 07" in text and "3 calls kept" in text, text
    assert "threads that had made no call, are not recorded: program makes system calls past libc" in text, text


SHARES = """
int main(void)
{
    static char stack[1 << 16];
    volatile long number = SYS_clone;
    unsigned long long block;
    cuMemAlloc_v2(&block, 1);
    long child = number;
    __asm__ volatile("syscall\\n test %%eax, %%eax\\n jnz 1f\\n mov $60, %%eax\\n syscall\\n1:" : "+a"(child)
                     : "D"(CLONE_VM | SIGCHLD), "S"(stack + sizeof stack) : "rcx", "r11", "memory");
    waitpid(child, NULL, 0);
    raise(SIGUSR2);
    for (int i = 0; i < 100; i++)
        cuMemAlloc_v2(&block, i);
    return 7;
}
"""


def test_a_child_that_shares_the_memory_past_libc(local: Scenario, compile_c, tmp_path: Path) -> None:
    """In the middle of a function, where the stack says of nobody that the call has returned."""
    hook = compile_c("libendshook.so", HOOK, "-shared", "-O1")
    source = "#define _GNU_SOURCE\n#include <sched.h>\n#include <signal.h>\n" + CALL.replace("NUMBER", "long number,")
    program = compile_c("program", source + SHARES, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}", "-Wno-unused-function")
    words = ("handle SIGUSR2 stop nopass", "cuda-log start --fast cuMemAlloc", "RUN", "continue", "cuda-log")
    text = local.run(program, *words, hook=hook)
    assert "exited with code 07" in text and "101 calls kept" in text, text
