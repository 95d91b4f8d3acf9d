"""gdbcuda trace -p PID, and cuda-log detach: a process that runs is recorded while no debugger is there."""

from __future__ import annotations

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


def test_nothing_was_recorded(working, tmp_path: Path) -> None:
    """It calls, but none of the functions that are recorded."""
    program, folder = working(), tmp_path / "log"
    done = gdbcuda("trace", "-p", program.pid, "--for", "200ms", "--filter", "bytesize > 100G", "-o", folder)
    last = f"gdbcuda: nothing was recorded: process {program.pid} has made no call of these functions meanwhile\n"
    assert done.returncode == 0 and done.stderr.endswith(last), done
    done = gdbcuda("log", "summary", folder)
    assert done.returncode and f"nothing was recorded into {folder}: no call was made" in done.stderr, done
    program.goes_on()


@pytest.mark.parametrize("server", ["extended-remote | gdbserver --multi -", "remote | gdbserver --once - {}"])
def test_files_are_kept_of_processes_of_this_machine_alone(local: Scenario, tmp_path: Path, server: str) -> None:
    connect = "target " + server.format(local.sample("test_alloc"))
    text = local.run(None, connect, f"cuda-log start --fast --keep {tmp_path / 'log'}", "kill", hook=None)
    assert "--keep is of processes of this machine: there, type  gdbcuda trace -p PID" in text, text
    assert not (tmp_path / "log").exists()


EXECUTES = """#include <unistd.h>
int cuDriverGetVersion(int *);
int main(int count, char **words) {
    int version = count;
    while (access(words[1], F_OK)) { cuDriverGetVersion(&version); usleep(2000); }
    return execl("/bin/sleep", "sleep", "60", NULL);
}
"""


def test_what_it_executes_is_said_not_to_be_recorded(shim: Path, compile_c, tmp_path: Path) -> None:
    """It does so as soon as its first calls are in the folder."""
    program = compile_c("executes", EXECUTES, str(shim / "standin/libcuda.so.1"))
    environment = {"LD_LIBRARY_PATH": str(shim / "standin")}
    with subprocess.Popen([program, tmp_path / "calls/processes"], env=environment) as process:
        try:
            done = gdbcuda("trace", "-p", process.pid, "--for", "500ms", "-o", tmp_path / "calls")
        finally:
            process.kill()
    said = f"process {process.pid} has executed another program meanwhile, whose calls are not recorded\n"
    assert done.returncode == 0 and done.stderr.endswith(said), done
