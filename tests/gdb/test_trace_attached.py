"""gdbcuda trace -p PID, and cuda-log detach: a process that runs is recorded while no debugger is there."""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from running_program import calls, gdbcuda, wait_for_calls
from scenario import Scenario

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the recorder is made for x86-64")

IDLE = """#include <stdio.h>
int cuInit(unsigned); int main(void) { cuInit(0); puts("ready"); fflush(stdout); return getchar(); }
"""


def assert_counts_up(found: list[Any], threads: int = 3) -> None:
    """No call between the first and the last of a thread is missing, and each has all that it has."""
    sizes: dict[int, list[int]] = {}
    for one in found:
        if one["name"] == "cuMemAlloc_v2":
            size = int(one["arguments"]["bytesize"])
            sizes.setdefault(size >> 24, []).append(size)
            assert one["result"] == "CUDA_SUCCESS" and one["caller"]["function"] == "work", one
    assert len(sizes) == threads, sizes.keys()
    for some in sizes.values():
        assert len(some) > 3 and some == list(range(some[0], some[0] + len(some)))


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.05)


def test_for_a_time_and_again(working, tmp_path: Path) -> None:
    program = working(RANK="3")
    for folder in (tmp_path / "first", tmp_path / "second"):
        done = gdbcuda("trace", "-p", program.pid, "--for", "1s", "-o", folder)
        told = rf"gdbcuda: recording \d+ functions of process {program.pid} into .*, for 1 s\n"
        assert done.returncode == 0 and done.stdout == "" and re.match(told, done.stderr), done
        assert_counts_up(calls(folder))
        assert program.driver_code() == program.code
        assert ', rank 3"}' in gdbcuda("log", "export", folder, "--format", "chrome").stdout
    program.goes_on()


def test_all_calls_and_again(working, tmp_path: Path) -> None:
    """The helper goes on after the end of the recording, up to that of the process."""
    program, folders = working(), [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        words = ("--for", "700ms", "--all", "--last", "4096", "-o", folder)
        assert gdbcuda("trace", "-p", program.pid, *words).returncode == 0
    program.goes_on()
    wait_until(lambda: not list(tmp_path.glob("*/*.ring")))
    for folder in folders:
        assert_counts_up(calls(folder))
        assert not list(folder.glob("*.ring"))


def test_what_a_hook_library_makes_of_the_calls(local: Scenario, working, tmp_path: Path) -> None:
    program = working(LD_PRELOAD=str(local.hook))
    done = gdbcuda("trace", "-p", program.pid, "--for", "500ms", "--in", "hook,driver", "--last", "16384",
                   "-o", tmp_path / "log")  # fmt: skip
    assert done.returncode == 0, done
    found = calls(tmp_path / "log", are_lost=True)  # until gdb is there again the program goes on
    below = {(one["name"], one["layer"]) for one in found if one["depth"]}
    assert ("cuMemAlloc_v2", "driver") in below
    for thread in {one["lwp"] for one in found}:
        outermost = [one["layer"] for one in found if one["lwp"] == thread and not one["depth"]]
        assert len(outermost) > 30
        assert set(outermost[10:]) == {"hook"}  # before: what a call of the hook's had still to call when gdb came
    program.goes_on()


def test_only_the_calls_that_are_wanted(working, tmp_path: Path) -> None:
    program = working()
    words = ("--for", "300ms", "--filter", "bytesize >= 48M", "--stack", "2", "--last", "64", "-o", tmp_path / "log")
    assert gdbcuda("trace", "-p", program.pid, *words).returncode == 0
    found = calls(tmp_path / "log", are_lost=True)
    assert found and {int(one["arguments"]["bytesize"]) >> 24 for one in found} == {3}
    assert {one["name"] for one in found} == {"cuMemAlloc_v2"}
    program.goes_on()


def test_no_debugger_is_there_meanwhile_and_ctrl_c_ends_it(working, tmp_path: Path) -> None:
    program = working()
    line = [sys.executable, "-m", "gdbcuda", "trace", "-p", str(program.pid), "-o", str(tmp_path / "log")]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as trace:
        assert trace.stderr is not None and "until Ctrl-C" in trace.stderr.readline()
        assert not program.is_traced() and program.driver_code() != program.code
        wait_for_calls(tmp_path / "log")
        trace.send_signal(signal.SIGINT)
        assert trace.wait(timeout=120) == 0 and trace.stderr.read() == ""
    assert_counts_up(calls(tmp_path / "log"))
    program.goes_on()


def test_a_recorder_that_is_left_is_ended_by_another_gdb(local: Scenario, working, tmp_path: Path) -> None:
    program = working()
    start = f"cuda-log start --fast --keep {tmp_path / 'log'}"
    text = local.run(None, f"attach {program.pid}", start, "cuda-log detach", hook=None)
    assert re.search(r"^[1-9]\d* functions go on being recorded into ", text, re.MULTILINE), text
    wait_for_calls(tmp_path / "log")
    assert not program.is_traced() and program.driver_code() != program.code
    text = local.run(None, f"attach {program.pid}", "cuda-log stop", "x/2i cuMemAlloc_v2", "detach", hook=None)
    assert re.search(r"The recorder that was left in the process has ended: \d+ functions are as they were", text), text
    assert_counts_up(calls(tmp_path / "log"))
    program.goes_on()


def test_no_recorder_is_left_at_the_far_end_of_a_link(local: Scenario, working, tmp_path: Path) -> None:
    program = working()
    start = f"cuda-log start --fast --keep {tmp_path / 'log'} cuMemAlloc"
    link = f"target remote | gdbserver --once --attach - {program.pid}"
    text = local.run(None, start, link, "cuda-log detach", "detach", hook=None)
    assert "cuda-log detach: a recorder stays in processes of this machine: there, type  gdbcuda trace -p PID" in text
    program.goes_on()


def test_the_log_of_this_gdb_in_a_process_it_has_attached_to(local: Scenario, working) -> None:
    program = working()
    stops = ("tbreak cuMemFree_v2", "continue") * 6
    text = local.run(
        None, f"attach {program.pid}", "cuda-log start --fast cuMemAlloc", *stops,
        "cuda-log show cuMemAlloc --last 4",  # those of the three threads may not be over
        "cuda-log detach", "detach", hook=None,
    )  # fmt: skip
    assert re.search(r"#\d+ .* cuMemAlloc_v2\(.*SUCCESS.* by work at work.c", text), text
    assert "cuda-log start --fast --keep FOLDER keeps them" in text, text
    program.goes_on()


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


FORKS = """#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
int cuInit(unsigned), cuDeviceGet(int *, int);
int main(void)
{
    int device, go_on[2];
    char line[8];
    cuInit(0);
    if (pipe(go_on))
        return 1;
    puts("ready");
    fflush(stdout);
    while (access(getenv("FORK"), F_OK)) {
        cuDeviceGet(&device, 0);
        usleep(20000);
    }
    if (!fork()) { /* it makes no call until the recording is over */
        close(go_on[1]);
        device = (int)read(go_on[0], line, 1);
        for (int i = 0; i < 100; i++)
            device |= cuDeviceGet(&device, 0);
        _exit(device);
    }
    if (!fgets(line, 8, stdin))
        return 2;
    close(go_on[1]);
    wait(&device);
    puts("over");
    return device ? 6 : 5;
}
"""


def test_a_child_that_has_made_no_call(working, tmp_path: Path) -> None:
    """It has its parent's jumps, and gets the functions' own bytes back as the parent does."""
    program = working(FORKS, FORK=str(tmp_path / "fork"))
    line = [sys.executable, "-m", "gdbcuda", "trace", "-p", str(program.pid), "-o", str(tmp_path / "log")]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as trace:
        wait_for_calls(tmp_path / "log", threads=1)
        wait_until(lambda: not program.is_traced())
        (tmp_path / "fork").touch()
        wait_until(lambda: bool(program.children()))
        (child,) = program.children()
        assert program.driver_code(child) != program.code
        trace.send_signal(signal.SIGINT)
        assert trace.wait(timeout=120) == 0
    assert program.driver_code(child) == program.code
    program.goes_on()
    assert not list((tmp_path / "log").glob(f"{child}-*"))


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
        assert "is not recorded: it has made no call of the API" in trace.stderr.read()
    assert program.driver_code() == program.code and not program.is_traced()
    assert program.process.communicate("x", timeout=60)[0] == "" and program.process.returncode == ord("x")


def test_nothing_was_recorded(working, tmp_path: Path) -> None:
    """It calls, but none of the functions that are recorded."""
    program, folder = working(), tmp_path / "log"
    done = gdbcuda("trace", "-p", program.pid, "--for", "200ms", "--filter", "bytesize > 100G", "-o", folder)
    last = f"gdbcuda: nothing was recorded: process {program.pid} has made no call of these functions meanwhile\n"
    assert done.returncode == 0 and done.stderr.endswith(last), done
    done = gdbcuda("log", "summary", folder)
    assert done.returncode and f"nothing was recorded into {folder}: no call was made" in done.stderr, done
    program.goes_on()


def test_how_many_of_how_many_are_left_alone(local: Scenario, compile_c, working) -> None:
    """A function of one byte has no room for a jump."""
    source = '__attribute__((naked)) void cuDeviceGetCount(void) { __asm__("ret"); }'
    hook = compile_c("libshort.so", source, "-shared", "-fPIC", "-O1")
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
    """Whatever it is: gdb's last line."""
    gdb = tmp_path / "gdb"
    gdb.write_text("#!/bin/sh\necho 'warning: one'; echo 'Python Exception: no such thing'\n")
    gdb.chmod(0o755)
    program = working()
    line = [sys.executable, "-m", "gdbcuda", "trace", "-p", str(program.pid), "-o", str(tmp_path / "log")]
    done = subprocess.run(line, env={**os.environ, "GDBCUDA_GDB": str(gdb)}, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr == (
        f"gdbcuda: process {program.pid} is not recorded: gdb could not put the recorder into it: "
        "Python Exception: no such thing\n"
    )


@pytest.mark.parametrize("server", ["extended-remote | gdbserver --multi -", "remote | gdbserver --once - {}"])
def test_files_are_kept_of_processes_of_this_machine_alone(local: Scenario, tmp_path: Path, server: str) -> None:
    connect = "target " + server.format(local.sample("test_alloc"))
    text = local.run(None, connect, f"cuda-log start --fast --keep {tmp_path / 'log'}", "kill", hook=None)
    assert "--keep is of processes of this machine: there, type  gdbcuda trace -p PID" in text, text
    assert not (tmp_path / "log").exists()
