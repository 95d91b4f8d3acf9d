"""gdbcuda trace of programs that leave it little: stack, size of files, a way to its folder, peace from signals."""

from __future__ import annotations

import re
import resource
import subprocess
from pathlib import Path

import pytest
from shim_support import OLDER_LIBC
from traced_programs import Trace, needs_recorder, trace

__all__ = ["trace"]  # the fixture
pytestmark = needs_recorder
PROGRAM = r"""
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
int cuDriverGetVersion(int *), cuDeviceGetCount(int *);
static ucontext_t here, there;
static volatile int made;
static void calls(void)
{
    for (int i = 0, value; i < 3; i++)
        if (made++, cuDriverGetVersion(&value))
            abort();
}
static void handler(int number)
{
    const struct itimerval never = {{0, 0}, {0, 0}};
    calls();
    if (number == SIGALRM && made > 100) /* a slow machine comes to nothing else */
        setitimer(ITIMER_REAL, &never, NULL);
}
static void *thread(void *unused) { return calls(), unused; }
static void on_own_stack(unsigned size)
{
    getcontext(&there);
    there.uc_stack.ss_sp = malloc(size), there.uc_stack.ss_size = size, there.uc_link = &here;
    makecontext(&there, calls, 0);
    swapcontext(&here, &there);
}
static void in_handler(unsigned size)
{
    stack_t stack = {.ss_sp = malloc(size), .ss_size = size};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL), sigaction(SIGUSR1, &action, NULL), raise(SIGUSR1);
}
static void thread_and_child(void)
{
    pthread_t made;
    pthread_create(&made, NULL, thread, NULL), pthread_join(made, NULL);
    if (!fork())
        calls(), _exit(0);
    wait(NULL);
}
static void interrupted(void)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &action, NULL), setitimer(ITIMER_REAL, &often, NULL);
    calls();
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%d\n", made), fflush(stdout), _exit(0);
}
int main(int count, char **words)
{
    const struct rlimit none = {0, 0};
    if (!strcmp(words[1], "stack"))
        on_own_stack((unsigned)atoi(words[2]));
    else if (!strcmp(words[1], "handler"))
        in_handler((unsigned)atoi(words[2]));
    else if (!strcmp(words[1], "sizes"))
        calls(), setrlimit(RLIMIT_FSIZE, &none), cuDeviceGetCount(&count), thread_and_child();
    else if (!strcmp(words[1], "moved"))
        calls(), rename(words[2], words[3]), thread_and_child(), rename(words[3], words[2]);
    else if (!strcmp(words[1], "memory"))
        cuDeviceGetCount(&count), setrlimit(RLIMIT_DATA, &none), fork() ? wait(NULL) : (calls(), _exit(0), 0);
    for (int children = 40; !strcmp(words[1], "signals") && children; children--)
        fork() ? wait(NULL) : (interrupted(), 0);
    return 7;
}
"""


@pytest.fixture(scope="module")
def narrow(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("narrow") / "narrow"
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-o", program, "-x", "c", "-", "-x", "none",
                    f"-L{shim}/standin", "-lcuda", "-pthread", *OLDER_LIBC],
                   input=PROGRAM, text=True, check=True)  # fmt: skip
    return program


@pytest.mark.parametrize("words", [("stack", "8192"), ("handler", "8192")], ids=["coroutine", "handler"])
def test_the_first_calls_are_on_a_small_stack(trace: Trace, narrow: Path, words: tuple[str, str]) -> None:
    """SIGSTKSZ, and what coroutines have."""
    found = trace(narrow, *words)
    assert (found.done.returncode, found.done.stderr) == (7, "")
    assert found.counts() == {"cuDriverGetVersion": 3}


def test_no_file_may_have_a_byte(trace: Trace, narrow: Path) -> None:
    """Whoever writes to one gets a SIGXFSZ."""
    found = trace(narrow, "moved", "none", "none", limits={resource.RLIMIT_FSIZE: 0}, PYTHONDONTWRITEBYTECODE="1")
    assert (found.done.returncode, found.done.stdout, found.done.stderr) == (7, "", "")


@pytest.mark.parametrize("way", ["sizes", "moved"])
def test_of_later_threads_and_children_it_is_said(trace: Trace, narrow: Path, tmp_path: Path, way: str) -> None:
    """The program limits itself, or is where there is no such folder, as after chroot or setuid."""
    found = trace(narrow, way, str(tmp_path / "calls"), str(tmp_path / "gone"))
    assert (found.done.returncode, found.done.stderr) == (7, "")
    assert found.counts()["cuDriverGetVersion"] == 3
    said = found.log("show").stderr
    what = "no room for their calls, or no way to the folder"
    assert re.search(rf"2 threads of process \d+ or its children: {what}", said)


def test_a_child_without_memory_leaves_its_parents_calls(trace: Trace, narrow: Path) -> None:
    """It can map nothing in the place of its parent's ring."""
    found = trace(narrow, "memory")
    assert (found.done.returncode, found.done.stderr) == (7, "")
    assert found.counts() == {"cuDeviceGetCount": 1}
    assert re.search(r"1 thread of process \d+ or its children: no room for its calls", found.log("show").stderr)


def test_signals_come_while_the_first_function_is_bound(trace: Trace, narrow: Path) -> None:
    """Their handler calls it too, every 50 us."""
    found = trace(narrow, "signals", options=("--last", "1000"))
    assert (found.done.returncode, found.done.stderr) == (7, "")
    assert found.counts()["cuDriverGetVersion"] == sum(map(int, found.done.stdout.split()))
