"""`cuda-log start --fast`: whose a call is, by gdb's numbers, of threads that have ended."""

from __future__ import annotations

import re

import pytest
from scenario import Scenario
from test_fast_log import _new_enough as _new_enough
from test_fast_log import pytestmark as pytestmark


def test_threads_that_end_unseen_have_gdbs_numbers(local: Scenario) -> None:
    """No stop has shown them; a condition names them, as of a log by stops."""
    text = local.run("threads", "cuda-log start --fast", "RUN", "cuda-log show --last 2 if thread == 3", hook=None,
                     arguments=("3", "20"))  # fmt: skip
    assert len(re.findall(r"^#\d+ +[\d.]+  T3  driver ", text, re.MULTILINE)) == 2, text


ONE_NUMBER_TWICE = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
int cuDeviceGetCount(int *count);
static int first;
void between(void) {}
static void *work(void *unused)
{
    int count;
    if (!first)
        first = gettid();
    if (first == gettid())
        cuDeviceGetCount(&count);
    return unused;
}
static void *again(void *unused)
{
    int *is_there = unused;
    *is_there = first == gettid();
    return *is_there ? work(0) : 0;
}
int main(void)
{
    pthread_t thread;
    int last = open("/proc/sys/kernel/ns_last_pid", O_WRONLY), is_there = 0;
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    between();
    for (int i = 0; i < 100 && last >= 0 && !is_there; i++) {
        dprintf(last, "%d", first - 1);
        pthread_create(&thread, 0, again, &is_there);
        pthread_join(thread, 0);
    }
    return !is_there;
}
"""


def test_a_thread_that_has_the_kernels_number_of_one_that_has_ended(local: Scenario, compile_c) -> None:  # type: ignore[no-untyped-def]
    """What was read at a stop before is the first one's."""
    program = compile_c("twice", ONE_NUMBER_TWICE, "-pthread", f"-L{local.shim}/standin", "-lcuda")
    text = local.run(program, "cuda-log start --fast", "break between", "RUN", "continue", "cuda-log show", hook=None)
    if "exited with code 01" in text:
        pytest.skip("nobody may choose the number of a thread")
    assert len(set(re.findall(r"^#\d+ +[\d.]+  (T\d+)  driver ", text, re.MULTILINE))) == 2, text
    assert "T2  driver" in text, text
