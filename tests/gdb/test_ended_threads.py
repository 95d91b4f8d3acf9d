"""Breakpoints of threads that have ended: gdb keeps them in its table until its next stop, and cannot print that."""

from __future__ import annotations

from pathlib import Path

from scenario import Scenario

HOOK = """
#include <stddef.h>
void (*meanwhile)(void);
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize)
{
    meanwhile();
    *dptr = bytesize;
    return 0;
}
"""
PROGRAM = """
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
extern void (*meanwhile)(void);
static pthread_t thread;
static sem_t may_end;
static void *work(void *argument)
{
    sem_wait(&may_end);
    return argument;
}
static void end_thread(void)
{
    sem_post(&may_end);
    pthread_join(thread, NULL);
}
int main(void)
{
    unsigned long long sum;
    sem_init(&may_end, 0, 0);
    pthread_create(&thread, NULL, work, NULL);
    meanwhile = end_thread;
    cuMemAlloc_v2(&sum, 5);
    puts("the end");
    return 0;
}
"""


def test_the_users_breakpoint_in_a_thread_that_has_ended(scenario: Scenario, compile_c, tmp_path: Path) -> None:
    """What sees that shown calls are over looks in gdb's table, of which gdb dies until its next stop."""
    hook = compile_c("libhook.so", HOOK, "-shared")
    program = compile_c("program", PROGRAM, str(hook), "-pthread", f"-Wl,-rpath,{tmp_path}")
    words = ("cuda-break cuMemAlloc", "RUN", "break puts thread 2", "continue")
    text = scenario.run(program, *words, hook=hook)
    assert "Breakpoint 1  hook" in text and "the end\n" in text and "exited normally" in text, text
