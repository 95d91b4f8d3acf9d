"""cuda-locks in a real gdb: who waits for which lock, and who has it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from scenario import GDB, Scenario

LOCKS = (Path(__file__).parent / "locks.c").read_text()
OWNERS = """
import fcntl, sys, time
file = open(sys.argv[1], "w")
fcntl.lockf(file, fcntl.LOCK_EX)
print("locked", flush=True)
time.sleep(600)
"""


@pytest.fixture
def other(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has the file "locked" locked by fcntl."""
    made = subprocess.Popen(["python3", "-c", OWNERS, str(tmp_path / "locked")], stdout=subprocess.PIPE, text=True)
    assert made.stdout is not None and made.stdout.readline() == "locked\n"
    yield made
    made.kill()
    made.wait()


def block(text: str, start: str) -> str:
    """The line that begins so, and what is indented below it."""
    found = re.search(rf"^{re.escape(start)}.*(?:\n  .*)*", text, re.MULTILINE)
    assert found, f"no {start!r} in {text}"
    return found.group()


def waits(text: str, function: str) -> str:
    """The block of the thread that waits in that function of the program."""
    blocks = re.findall(r"^Threads? .*(?:\n  .*)*", text, re.MULTILINE)
    return next(one for one in blocks if f"in       app {function}() at " in one)


def links_through_gdbserver() -> bool:
    """Before gdb 12 no packet can be sent, and gdb has no command that reads a link."""
    asked = [GDB, "-nx", "-batch", "-ex", "python print(hasattr(gdb, 'RemoteTargetConnection'))"]
    return "True" in subprocess.run(asked, capture_output=True, text=True, check=True).stdout


@pytest.mark.smoke
def test_who_waits_and_who_has_it(scenario: Scenario, compile_c, tmp_path: Path, other) -> None:
    program, files = compile_c("locks", LOCKS, "-pthread"), (str(tmp_path / "locked"), str(tmp_path / "flocked"))
    text = scenario.run(program, "break look", "RUN", "cuda-locks", "cuda-locks --json", hook=None, arguments=files)
    held = "held by  thread 5, app holder() at locks.c:"
    assert re.search(r"^Deadlock: thread 2 waits for thread 3 \(mutex second at 0x\w+\), "
                     r"thread 3 waits for thread 2 \(mutex first at 0x\w+\)$", text, re.MULTILINE)  # fmt: skip
    itself = r"^Deadlock: thread 4 waits for the mutex own at 0x\w+, which it has locked itself$"
    assert re.search(itself, text, re.MULTILINE)
    assert "held by  thread 3, app second_first() at locks.c:" in waits(text, "first_second")
    busy = waits(text, "wait_busy")
    assert "for the mutex busy at 0x" in busy and "(recursive)" in busy and "locked 2 times" in busy
    assert held in busy and busy.count("in clock_nanosleep") == 1
    assert held in waits(text, "wait_busy_timed")
    robust = waits(text, "wait_robust")
    assert "(error-checking, robust)" in robust and held in robust
    for function in ("wait_written", "write_written"):
        assert "read-write lock written at 0x" in waits(text, function) and held in waits(text, function)
    assert "2 readers have it; it keeps no names of readers" in waits(text, "write_read")
    gate = waits(text, "wait_gate")
    assert gate.startswith("Threads 12-13 wait for the semaphore gate at 0x")
    assert "its value is 0; a semaphore has no owner" in gate
    assert "condition variable signalled at 0x" in waits(text, "wait_signal")
    end = waits(text, "wait_end")
    assert "for the end of thread 5" in end and "where    thread 5, app holder()" in end
    file_lock, flock = waits(text, "wait_fcntl"), waits(text, "wait_flock")
    named = files if scenario.place == "local" or links_through_gdbserver() else ["an unknown file"] * 2
    # cuda-gdb leaves a file open in the process
    first = re.search(rf"fcntl lock of {re.escape(named[0])} \(descriptor (\d)\)", file_lock)
    assert first, file_lock
    assert f"held by  process {other.pid} (python3), alive" in file_lock
    assert f"flock of {named[1]} (descriptor {int(first[1]) + 1})" in flock
    assert "this process itself, through another descriptor" in flock
    found = json.loads(next(line for line in text.splitlines() if line.startswith('{"waiting"')))
    assert found["deadlocks"] == [[2, 3], [4]]
    kinds = {one["thread"]: (one["lock"]["kind"], [who["thread"] for who in one["held_by"]])
             for one in found["waiting"]}  # fmt: skip
    assert kinds[6] == ("mutex", ["5"]) and kinds[12] == ("semaphore", []) and kinds[17] == ("thread's end", ["5"])


def test_a_core_file_says_the_same_of_memory(local: Scenario, compile_c, tmp_path: Path, other) -> None:
    program, files = compile_c("locks", LOCKS, "-pthread"), (str(tmp_path / "locked"), str(tmp_path / "flocked"))
    core = tmp_path / "the.core"
    live = local.run(program, "break look", "run", "cuda-locks", f"generate-core-file {core}", "kill", hook=None,
                     arguments=files)  # fmt: skip
    dead = local.run(program, f"core-file {core}", "cuda-locks", "cuda-locks busy", hook=None)
    for function in ("wait_busy", "wait_written"):  # gdb counts the threads of a core file otherwise
        of_core, of_process = (re.sub(r"[Tt]hread \d+", "", waits(text, function)) for text in (dead, live))
        assert of_core == of_process
    assert "waits for thread" in block(dead, "Deadlock: thread")
    assert "a core file does not say who has files locked" in waits(dead, "wait_flock")
    assert "held by  thread" in block(dead, "The mutex busy at 0x")


@pytest.fixture
def region(local: Scenario, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process with the sample's hook library that sleeps inside the lock of the region."""
    environment = local.environment() | {"LD_PRELOAD": str(local.sample("region_hook.so")), "REGION_SLOW": "600000",
                                         "REGION_FILE": str(tmp_path / "region")}  # fmt: skip
    made = subprocess.Popen([str(local.sample("test_alloc"))], env=environment, stdout=subprocess.DEVNULL)
    until_asleep(made.pid, "35", "230")
    yield made
    made.kill()
    made.wait()


def until_asleep(pid: int, *in_calls: str) -> None:
    deadline = time.monotonic() + 60
    while (syscall := Path(f"/proc/{pid}/syscall").read_text().split())[0] not in in_calls:
        assert time.monotonic() < deadline, syscall
        time.sleep(0.05)


# gdb interrupts the program when it sleeps in the kernel.
INTERRUPT = "python __import__('runpy').run_path('{}')['when_it_sleeps'](gdb.selected_inferior().pid)"


def test_after_attach(local: Scenario, tmp_path: Path, region) -> None:
    environment = local.environment() | {"REGION_FILE": str(tmp_path / "region")}
    waiter = subprocess.Popen([str(local.sample("test_alloc"))], stdout=subprocess.DEVNULL,
                              env=environment | {"LD_PRELOAD": str(local.sample("region_hook.so"))})  # fmt: skip
    try:
        until_asleep(waiter.pid, "202")
        text = local.run("test_alloc", f"attach {waiter.pid}", "cuda-locks", "detach", hook=None)
        waiting = block(text, "Thread 1 waits for the mutex region lock")
        assert f"held by  process {region.pid} (test_alloc), alive, in " in waiting
    finally:
        waiter.kill()
        waiter.wait()


def second(place: Scenario, tmp_path: Path, *commands: str) -> str:
    helper = INTERRUPT.format(Path(__file__).parent / "interrupting.py")
    return place.run("test_alloc", "set breakpoint pending on", "break cuCtxSetCurrent", "RUN", helper, "continue",
                     *commands, "kill", hook=place.sample("region_hook.so"),
                     environment={"REGION_FILE": str(tmp_path / "region")})  # fmt: skip


def test_the_owner_in_another_process_is_alive(scenario: Scenario, tmp_path: Path, region) -> None:
    waiting = block(second(scenario, tmp_path, "cuda-locks"), "Thread 1 waits for the mutex region lock at 0x")
    assert f"in {tmp_path}/region+0x8 (process-shared)\n" in waiting
    assert "  in       hook region_hook.so enter() at region_hook.c:" in waiting
    assert f"held by  process {region.pid} (test_alloc), alive, in " in waiting
    assert f"nanosleep, see it with gdb -p {region.pid}" in waiting and "dead" not in waiting


def test_the_owner_was_killed_inside(scenario: Scenario, tmp_path: Path, region) -> None:
    region.send_signal(signal.SIGKILL)
    region.wait()
    text = second(scenario, tmp_path, "cuda-locks", "cuda-locks &region->lock", "cuda-locks --json")
    for start in ("Thread 1 waits for the mutex region lock at 0x", "The mutex region lock at 0x"):
        said = f"held by  thread or process {region.pid}, which is dead\n  Nobody will unlock it: the mutex is not"
        assert said in block(text, start)
    found = json.loads(next(line for line in text.splitlines() if line.startswith('{"waiting"')))
    assert [(who["state"], who["number"]) for who in found["waiting"][0]["held_by"]] == [("dead", region.pid)]


def test_a_number_that_was_given_away_again(scenario: Scenario, tmp_path: Path, region, other) -> None:
    """The lock holds the number of a process that is alive, and is no part of it."""
    region.kill()
    region.wait()
    shared = tmp_path / "region"
    shared.write_bytes(shared.read_bytes().replace(region.pid.to_bytes(4, "little"), other.pid.to_bytes(4, "little")))
    waiting = block(second(scenario, tmp_path, "cuda-locks"), "Thread 1 waits for the mutex region lock at 0x")
    assert f"{other.pid}, which is dead: its number is now process {other.pid} (python3)'s, which does not" in waiting
    assert "Nobody will unlock it" in waiting


FORKS = r"""
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t copied = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t holding;
static void *holder(void *n) { pthread_mutex_lock(&copied); pthread_barrier_wait(&holding); sleep(600); return n; }
static void *waiter(void *n) { pthread_mutex_lock(&copied); return n; }
void look(void) {}
int main(void) {
    pthread_t one;
    pthread_barrier_init(&holding, 0, 2);
    pthread_create(&one, 0, holder, 0);
    pthread_barrier_wait(&holding);
    int child = fork();
    if (child) { waitpid(child, 0, 0); _exit(0); }
    pthread_create(&one, 0, waiter, 0);
    while (copied.__data.__lock != 2) usleep(1000);  /* somebody waits */
    usleep(300000); look(); _exit(0);
}
"""


def test_a_mutex_that_fork_has_copied_locked(local: Scenario, compile_c) -> None:
    text = local.run(compile_c("forks", FORKS, "-pthread"), "set follow-fork-mode child", "break look", "run",
                     "cuda-locks", hook=None)  # fmt: skip
    waiting = waits(text, "waiter")
    assert "alive" in waiting and "fork has copied it locked, and nobody here will unlock it" in waiting


def test_nobody_waits_and_mistakes(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "cuda-locks", "break main", "RUN", "cuda-locks", "cuda-locks nosuch",
                        "cuda-locks 16", "cuda-locks 'not C", hook=None)  # fmt: skip
    assert "cuda-locks: there is no process to look at: run, attach PID or core-file FILE" in text
    assert "No thread waits for a lock." in text
    assert 'cuda-locks: nosuch: No symbol "nosuch" in current context.' in text
    assert "cuda-locks: what is at 0x10 does not look like a locked mutex; say what it is: cuda-locks (" in text
