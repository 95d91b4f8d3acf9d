"""gdbcuda trace -p PID, and cuda-log start in a process that runs: what comes before the first recorded call."""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from guard_programs import PLAIN_ENTRY
from running_program import gdbcuda
from scenario import Scenario

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the recorder is made for x86-64")

IDLE = """#include <stdio.h>
int cuInit(unsigned); int main(void) { cuInit(0); puts("ready"); fflush(stdout); return getchar(); }
"""

# What was left on its stack by the library that was loaded is among what it has on its stack later.
DEEP = """#include <pthread.h>
#include <stdio.h>
int usleep(unsigned), cuInit(unsigned), cuDeviceGet(int *, int);
static volatile int is_over;
void seen(void) { }
__attribute__((noinline)) static void deeper(void) { volatile char room[1 << 15]; room[0] = 1; seen(); }
static void *work(void *device) {
    while (!is_over) { cuDeviceGet(device, 0); deeper(); usleep(2000); }
    return 0;
}
int main(void) {
    int device; pthread_t thread;
    cuInit(0);
    pthread_create(&thread, 0, work, &device);
    puts("ready"); fflush(stdout);
    getchar();
    is_over = 1;
    pthread_join(thread, 0);
    puts("over");
    return 5;
}
"""

LOADED = ("tbreak dlopen", "continue", "finish")  # by our code, in which the thread is then


@pytest.mark.parametrize(
    ("words", "end"), [(("tbreak seen", "continue"), "quit"), (LOADED, "detach")], ids=["behind it", "in it"]
)
def test_a_stop_on_the_way_to_our_library(local: Scenario, working, words: tuple[str, ...], end: str) -> None:
    """The thread loads it all the same, and nothing of that stays."""
    program = working(DEEP)
    stop, start = ("tbreak __errno_location",), ("cuda-log start --fast cuDeviceGet",)
    text = local.run(None, f"attach {program.pid}", *stop, *start, *words, end, hook=None)
    assert "the program has stopped before the library: nothing is recorded" in text, text
    assert ", seen ()" in text or text.count(" in ?? ()") > 5, text  # it is moved out, step by step
    assert "libgdbcuda.so" in Path(f"/proc/{program.pid}/maps").read_text()
    program.goes_on()

EXECUTES = """#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int cuInit(unsigned), cuDeviceGet(int *, int);
static void *work(void *device)
{
    for (;; usleep(2000))
        cuDeviceGet(device, 0);
}
int main(int count, char **words)
{
    int device;
    pthread_t thread;
    if (count > 1)
        return 5;
    cuInit(0);
    pthread_create(&thread, NULL, work, &device);
    puts("ready");
    fflush(stdout);
    while (access(getenv("GO"), F_OK))
        usleep(2000);
    execl("/proc/self/exe", words[0], "again", (char *)NULL);
    return 1;
}
"""


def test_another_program_behind_a_stop_on_the_way(local: Scenario, working, tmp_path: Path) -> None:
    """Where our code was is nothing then: gdb could not put in what was still there, and not go on."""
    go = tmp_path / "go"
    program = working(EXECUTES, GO=str(go))
    text = local.run(None, f"attach {program.pid}", "tbreak __errno_location", "cuda-log start --fast cuDeviceGet",
                     "thread 1", "set scheduler-locking on", f"shell touch {go}", "continue", hook=None)  # fmt: skip
    assert "the program has stopped before the library: nothing is recorded" in text, text
    assert "is executing new program" in text and "exited with code 05" in text, text


def test_a_program_that_makes_no_call(local: Scenario, working, tmp_path: Path) -> None:
    program = working(IDLE)
    line = [sys.executable, "-m", "gdbcuda", "trace", "-p", str(program.pid), "-o", str(tmp_path / "log")]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as trace:
        deadline = time.monotonic() + 60
        while not program.is_traced() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(3)
        trace.send_signal(signal.SIGINT)
        assert trace.wait(timeout=120) == 2 and trace.stderr is not None
        assert "is not recorded: this ended before gdb, which reads its symbols first, saw a" in trace.stderr.read()
    assert program.driver_code() == program.code and not program.is_traced()
    assert program.process.communicate("x", timeout=60)[0] == "" and program.process.returncode == ord("x")


def test_how_many_of_how_many_are_left_alone(local: Scenario, compile_c, working) -> None:
    """A function of one byte has no room for a jump."""
    source = '__attribute__((naked)) void cuDeviceGetCount(void) { __asm__("ret"); }'
    hook = compile_c("libshort.so", source, "-shared", "-fPIC", "-O1", PLAIN_ENTRY)
    program = working(LD_PRELOAD=str(hook))
    text = local.run(None, f"attach {program.pid}", "cuda-log start --fast", "cuda-log stop", "detach", hook=None)
    assert re.search(r"^Not recorded: 1 of \d+ functions \(there is no room for a jump in the function's first", text,
                     re.MULTILINE), text  # fmt: skip
    program.goes_on()

THIRD_IS_INTERRUPTED = """
from gdbcuda.live.keeping import bringing
made = []
class Interrupted(bringing.Arrival):
    def __init__(self, address):
        if len(made) == 2:
            raise KeyboardInterrupt
        made.append(self)
        super().__init__(address)
bringing.Arrival = Interrupted
"""


def test_ctrl_c_while_gdb_waits_for_a_call_leaves_no_stop(local: Scenario, working, tmp_path: Path) -> None:
    """The program would stop at each call of these, and nobody would say why."""
    program = working()
    (tmp_path / "third.py").write_text(THIRD_IS_INTERRUPTED)
    text = local.run(None, f"attach {program.pid}", f"source {tmp_path}/third.py", "cuda-log start --fast",
                     "python print('left:', [one.is_valid() for one in made])", "detach", hook=None)  # fmt: skip
    assert "\nleft: [False, False]\n" in text, text
    program.goes_on()


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("-p", "4194303"), "there is no process 4194303"),
        (("-p", "1", "--", "true"), "takes neither a program nor --hook"),
        (("--for", "3s", "--", "true"), "--for is with -p PID"),
        (("-p", "1", "--for", "soon"), "a time such as 10s, 500ms or 2m"),
    ],
)
def test_mistakes(words: tuple[str, ...], answer: str, tmp_path: Path) -> None:
    done = gdbcuda("trace", "-o", tmp_path / "log", *words)
    assert done.returncode == 2 and answer in done.stderr, done
    assert not (tmp_path / "log").exists()


def test_a_gdb_that_cannot_says_why(working, tmp_path: Path) -> None:
    """Whatever it is: gdb's last line. (Asked for Python, it has that.)"""
    gdb = tmp_path / "gdb"
    asked = 'case "$*" in *"python print"*) echo "$*";; esac'
    gdb.write_text(f"#!/bin/sh\n{asked}; echo 'warning: one'; echo 'Python Exception: no such thing'\n")
    gdb.chmod(0o755)
    program = working()
    line = [sys.executable, "-m", "gdbcuda", "trace", "-p", str(program.pid), "-o", str(tmp_path / "log")]
    done = subprocess.run(line, env={**os.environ, "GDBCUDA_GDB": str(gdb)}, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr == (
        f"gdbcuda: process {program.pid} is not recorded: gdb could not put the recorder into it: "
        "Python Exception: no such thing\n"
    )
