"""cuda-locks: circles over processes, and threads that wait for several words at once."""

from __future__ import annotations

import ctypes
import errno
import json
import re

import pytest
from scenario import Scenario

CIRCLE = """
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <fcntl.h>
#include <unistd.h>
static struct region { pthread_mutex_t first, second, third; pthread_barrier_t all; } *region;
static void look(void) {}
static void lock_both(pthread_mutex_t *mine, pthread_mutex_t *other)
{ pthread_mutex_lock(mine); pthread_barrier_wait(&region->all); pthread_mutex_lock(other); pause(); }
static void child(pthread_mutex_t *mine, pthread_mutex_t *other)
{ if (fork() == 0) { prctl(PR_SET_PDEATHSIG, SIGKILL); lock_both(mine, other); } }
static void *own(void *n) { lock_both(&region->first, &region->second); return n; }
static int is_waited_for(pthread_mutex_t *lock) { return *(volatile int *)lock == 2; }
int main(int count, char **told) {
    int file = open(told[count - 1], O_RDWR | O_CREAT, 0600);
    pthread_mutexattr_t shared; pthread_barrierattr_t of_all; pthread_t thread;
    if (ftruncate(file, sizeof *region)) return 1;
    region = mmap(NULL, sizeof *region, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    pthread_mutexattr_init(&shared); pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrierattr_init(&of_all); pthread_barrierattr_setpshared(&of_all, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&region->first, &shared); pthread_mutex_init(&region->second, &shared);
    pthread_mutex_init(&region->third, &shared); pthread_barrier_init(&region->all, &of_all, 3);
    child(&region->second, &region->third); child(&region->third, &region->first);
    pthread_create(&thread, NULL, own, NULL);
    while (!is_waited_for(&region->first) || !is_waited_for(&region->second) || !is_waited_for(&region->third))
        usleep(10000);
    usleep(200000);
    look();
    exit(0);
}
"""
WAITV = """
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>
struct word { uint64_t value, address; uint32_t flags, unused; };
static uint32_t words[2];
static void look(void) {}
static void *wait_for_any(void *n) {
    struct word any[2] = {{0, (uintptr_t)&words[0], 0x82, 0}, {0, (uintptr_t)&words[1], 0x82, 0}};
    syscall(449, any, 2, 0, 0, 0); return n; }
int main(void) { pthread_t one; pthread_create(&one, 0, wait_for_any, 0); usleep(500000); look(); _exit(0); }
"""


def test_a_circle_over_other_processes(scenario: Scenario, compile_c, tmp_path) -> None:
    """Of three processes, each of which waits for the next one."""
    program, region = compile_c("circle", CIRCLE, "-pthread"), tmp_path / "region"
    asked = ("break look", "RUN", "cuda-locks", "cuda-locks --json", "kill")
    text = scenario.run(program, *asked, hook=None, arguments=(str(region),))
    step = rf"\(mutex at 0x\w+ in {re.escape(str(region))}\+0x\w+\)"
    process = r"process (\d+) \(circle\)"
    told = rf"^Deadlock: thread 2 waits for {process} {step}, {process} waits for {process} {step}, " \
           rf"{process} waits for thread 2 {step}$"  # fmt: skip
    found = re.search(told, text.replace("\n  ", " "), re.MULTILINE)
    assert found and found[1] == found[2] != found[3] == found[4], text
    assert f"held by  process {found[1]} (circle), alive, which waits for the mutex at 0x" in text
    data = json.loads(next(line for line in text.splitlines() if line.startswith('{"waiting"')))
    assert data["deadlocks"] == [[2, f"process {found[1]} (circle)", f"process {found[3]} (circle)"]]
    (holder,) = data["waiting"][0]["held_by"]
    assert holder["waits_for"]["held_by"]["number"] == int(found[3])


def has_waitv() -> bool:
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall(449, 0, 0, 0, 0, 0)
    return ctypes.get_errno() != errno.ENOSYS


@pytest.mark.skipif(not has_waitv(), reason="the kernel has no futex_waitv (Linux 5.16)")
def test_a_thread_that_waits_for_any_of_several_words(scenario: Scenario, compile_c) -> None:
    program = compile_c("waitv", WAITV, "-pthread")
    text = scenario.run(program, "break look", "RUN", "cuda-locks", "kill", hook=None)
    for word in ("words", "words + 4"):
        begins = f"^Thread 2 waits for the futex word {re.escape(word)} at 0x"
        block = re.search(rf"{begins}.*(?:\n  .*)*", text, re.MULTILINE)
        assert block and "in       app wait_for_any() at waitv.c:" in block[0]
        assert "one of 2: any of them wakes it (futex_waitv)" in block[0]
