"""cuda-log start --fast in a program that forks and stops at the same time: gdb comes to hear of a child later."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from scenario import Scenario
from test_fast_log import lists_locations
from test_fast_log_sharing import HOOK

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the recorder is made for x86-64")

FORKS = """
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
static volatile int over;
static int good;
static void *stop(void *nothing)
{
    unsigned long long block;
    for (int i = 0; !over; i++)
        if (i % 2)
            cuMemAlloc_v2(&block, 77);
        else
            raise(SIGUSR2);
    return nothing;
}
static void *fork_on(void *nothing)
{
    for (int i = 0; i < 30; i++) {
        unsigned long long block = 0;
        int status = -1;
        pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        if (child == 0) {
            cuMemAlloc_v2(&block, 5);
            _exit(block == 155 ? 40 : 41);
        }
        waitpid(child, &status, 0);
        __sync_fetch_and_add(&good, status == 40 << 8);
    }
    return nothing;
}
int main(void)
{
    unsigned long long block;
    pthread_t other, forking[4];
    cuMemAlloc_v2(&block, 1);
    pthread_create(&other, NULL, stop, NULL);
    for (int i = 0; i < 4; i++)
        pthread_create(&forking[i], NULL, fork_on, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(forking[i], NULL);
    over = 1;
    pthread_join(other, NULL);
    printf("children %d of 120\\n", good);
    return 0;
}
"""


def test_children_of_which_gdb_hears_after_a_stop(local: Scenario, compile_c, tmp_path: Path) -> None:
    """They have the breakpoint, and around it what was in the process as they were made; gdb puts back in them what is
    below the breakpoint now."""
    if not lists_locations():
        pytest.skip("this gdb does not tell where its breakpoints are while the program goes on: --fast says so")
    hook = compile_c("libsharedhook.so", HOOK, "-shared", "-O1", "-fpatchable-function-entry=8")
    program = compile_c("program", FORKS, str(hook), f"-Wl,-rpath,{tmp_path}", "-pthread")
    going = "python while gdb.selected_inferior().pid: gdb.execute('continue', to_string=True)"
    words = ("set cuda-guard off", "handle SIGUSR2 stop nopass", "cuda-log start --fast cuMemAlloc", "tbreak main",
             "RUN", "break *cuMemAlloc_v2 if $rsi == 77", going)  # fmt: skip
    text = local.run(program, *words, hook=hook)
    assert "children 120 of 120\n" in text, text
