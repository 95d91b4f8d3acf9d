"""Guards in programs that fork while threads match: every child runs as it does alone."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest
from guard_programs import HOOK
from scenario import Scenario, is_before_13
from test_guard import ON

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")
SILENT = "set cuda-stop-info off"

FORKS = """
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
static size_t bytes(long i)
{
    return i % 50 == 7 ? (size_t)1 << 40 : i;
}
static void *work(void *unused)
{
    unsigned long long sum = 0;
    for (long i = 0; i < 2000; i++)
        cuMemAlloc_v2(&sum, bytes(i));
    return unused;
}
static int child(void)
{
    unsigned long long sum = 0, expected = 0;
    for (long i = 0; i < 100; i++) {
        cuMemAlloc_v2(&sum, bytes(i));
        expected = expected * 31 + bytes(i);
    }
    return sum == expected ? 4 : 5;
}
int main(void)
{
    pthread_t thread[4];
    int status, good = 0;
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < 40; i++) {
        pid_t made = fork();
        if (made == 0)
            _exit(child());
        waitpid(made, &status, 0);
        good += WIFEXITED(status) && WEXITSTATUS(status) == 4;
    }
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    printf("children %d of 40\\n", good);
    return 0;
}
"""
MAKES = ("if bytesize >= 1T", "--on return if bytesize >= 1T", "if bytesize >= 1T && every 3")


@pytest.mark.usefixtures("forks_live")
@pytest.mark.parametrize("flags", ["-O0", "-O2"])
@pytest.mark.parametrize("make", MAKES)
def test_children_while_threads_match(
    scenario: Scenario, compile_c, tmp_path: Path, flags: str, make: str
) -> None:  # fmt: skip
    hook = compile_c("libguardhook.so", HOOK, "-shared", flags)
    program = compile_c("program", FORKS, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}", "-pthread")
    alone = subprocess.run([program], capture_output=True, text=True, check=False).stdout
    assert alone == "children 40 of 40\n"
    text = scenario.run(program, ON, SILENT, f"cuda-break cuMemAlloc {make}", "ignore 1 100000", "RUN", hook=hook)
    assert alone in text and "exited normally" in text, text


RAW = """
static pid_t made_by_itself(void)
{
    long made = 56, flags = 17;  /* clone, SIGCHLD */
    register long tls __asm__("r8") = 0, tid __asm__("r10") = 0;
    __asm__ volatile("syscall" : "+a"(made) : "D"(flags), "S"(0L), "d"(0L), "r"(tid), "r"(tls)
                     : "rcx", "r11", "memory");
    return (pid_t)made;
}
int main(void)
"""


@pytest.fixture
def finds_children(scenario: Scenario) -> None:
    """Before gdb 12 nobody but gdb sends packets, and a child of gdbserver's that waits cannot be reached."""
    asked = scenario.run(None, "python print('sends', hasattr(gdb, 'RemoteTargetConnection'))", hook=None)
    if scenario.place == "gdbserver" and "sends True" not in asked:
        pytest.skip("this gdb sends no packets for us")


@pytest.mark.usefixtures("forks_live", "finds_children")
@pytest.mark.parametrize("guard", ["off", "auto"])
def test_children_while_shown_calls_end(scenario: Scenario, compile_c, tmp_path: Path, guard: str) -> None:
    """What sees that shown calls are over comes and goes, while gdb has not heard of a child that has it: a child that
    no function of libc has made."""
    hook = compile_c("libguardhook.so", HOOK, "-shared")
    same = FORKS.replace("_exit(child());", "_exit(work(NULL) ? 5 : 4 + 0 * child());")
    same = same.replace("int main(void)\n", RAW, 1).replace("= fork()", "= made_by_itself()")
    program = compile_c("program", same, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}", "-pthread")
    go_on = "python while gdb.selected_inferior().pid: gdb.execute('continue')"
    words = (f"set cuda-guard {guard}", "cuda-break cuMemAlloc if bytesize >= 1T", "RUN", go_on)
    text = scenario.run(program, *words, hook=hook)
    assert text.count("Breakpoint 1  hook") > 20 and "children 40 of 40\n" in text, text


@pytest.mark.usefixtures("forks_live", "finds_children")
@pytest.mark.parametrize("on", ["error", "return"])
def test_children_while_calls_return(scenario: Scenario, compile_c, tmp_path: Path, on: str) -> None:
    """The breakpoint at a call site goes when calls return there that nobody waits for, and comes back."""
    hook = compile_c("libguardhook.so", HOOK, "-shared")
    same = FORKS.replace("_exit(child());", "_exit(work(NULL) ? 5 : 4 + 0 * child());").replace("% 50", "% 9")
    same = same.replace("i < 2000", "i < 700")
    program = compile_c("program", same, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}", "-pthread")
    make = f"cuda-break cuMemAlloc --on {on} if bytesize >= 1T"
    text = scenario.run(program, "set cuda-guard off", SILENT, make, "ignore 1 100000", "RUN", hook=hook)
    assert "children 40 of 40\n" in text and "exited normally" in text, text


VFORKS = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
static volatile int over;
static void *work(void *argument)
{
    unsigned long long sum = 0;
    for (unsigned long i = 0; !over; i++) {
        cuMemAlloc_v2(&sum, i % 20 ? 4 : 5);
        usleep(1000);
    }
    return NULL;
}
int main(void)
{
    pthread_t thread[8];
    int good = 0;
    for (int i = 0; i < 8; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < 150; i++) {
        int status;
        pid_t child = vfork();
        if (!child) {
            usleep(10000);
            _exit(40);
        }
        good += waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 40;
    }
    over = 1;
    for (int i = 0; i < 8; i++)
        pthread_join(thread[i], NULL);
    printf("good %d\\n", good);
    return 0;
}
"""


def test_vfork_beside_threads_that_match(local: Scenario, compile_c, tmp_path: Path) -> None:
    """gdb before 13 takes its breakpoints out, one by one, while they run on."""
    hook = compile_c("libguardhook.so", HOOK, "-shared")
    program = compile_c("program", VFORKS, "-O1", str(hook), "-pthread", f"-Wl,-rpath,{tmp_path}")
    words = (ON, "cuda-break cuMemAlloc if bytesize == 5", "RUN", *["continue"] * 20, "delete", "continue")
    text = local.run(program, *words, hook=hook)
    assert "good 150" in text and "exited normally" in text, text


VFORKS_ALONE = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
int main(void)
{
    unsigned long long sum = 0;
    struct timespec before, after;
    if (system("true"))
        return 1;
    clock_gettime(CLOCK_MONOTONIC, &before);
    for (int i = 0; i < 10000; i++)
        cuMemAlloc_v2(&sum, 4);
    clock_gettime(CLOCK_MONOTONIC, &after);
    printf("fast %d\\n", (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000 < 300);
    return 0;
}
"""


def test_fast_behind_a_vfork(local: Scenario, compile_c, tmp_path: Path) -> None:
    """gdb puts its int3s back over the guard's jump, which is to be there again after the next call. (10,000 calls that
    stop take more than a second.)"""
    if is_before_13():
        pytest.skip("before gdb 13 a guard goes in front of a vfork, until the next stop")
    hook = compile_c("libguardhook.so", HOOK, "-shared")
    program = compile_c("program", VFORKS_ALONE, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}")
    text = local.run(program, ON, "cuda-break cuMemAlloc if bytesize == 5", "RUN", hook=hook)
    assert "fast 1\n" in text and "exited normally" in text, text
