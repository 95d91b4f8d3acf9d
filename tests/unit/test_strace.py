"""System calls on NVIDIA's devices: lines of strace as a driver makes them, and a real strace on other files."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from forking_gdbcuda import run_gdbcuda
from shim_support import OLDER_LIBC, ROOT, clean_environment
from traced_programs import needs_recorder

from gdbcuda.calls import record
from gdbcuda.calls.record import Call
from gdbcuda.calls.sinks import JsonLines
from gdbcuda.observe import ioctls
from gdbcuda.observe.strace_lines import SystemCalls
from gdbcuda.shell import cli

HERE = Path(__file__).resolve().parent
GDBCUDA = (sys.executable, "-m", "gdbcuda")
needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="no strace")
# As strace 6.1 writes them with the options of shell/observers/strace.py; what a driver opens and asks.
LINES = """\
70<train> 1000.000000100 openat(-100</tmp>, "/etc/ld.so.cache", 0x80000) = 3</etc/ld.so.cache> <0.000010000>
70<train> 1000.000001000 openat(-100</tmp>, "/dev/nvidiactl", 0x80002) = 4</dev/nvidiactl> <0.000050000>
70<train> 1000.000100000 ioctl(4</dev/nvidiactl>, 0xc04846d2, 0x7ffe10) = 0 <0.000002000>
71<wo > rk> 1000.000110000 ioctl(4</dev/nvidiactl>, 0xc020462a <unfinished ...>
70<train> 1000.000120000 ioctl(5</dev/nvidia-uvm>, 0x30000001, 0x7ffe20) = 0 <0.000003000>
71<wo > rk> 1000.000310000 <... ioctl resumed>, 0x7ffe30) = 0 <0.000200000>
70<train> 1000.000400000 ioctl(5</dev/nvidia-uvm>, 0x25, 0x7ffe20) = -1 EINVAL (Invalid argument) <0.000003000>
70<train> 1000.000500000 mmap(NULL, 2097152, 0x3, 0x1, 6</dev/nvidia0>, 0x1000) = 0x7f0010000000 <0.000004000>
70<train> 1000.000600000 mmap(NULL, 4096, 0x3, 0x22, -1, 0) = 0x7f0010200000 <0.000001000>
70<train> 1000.000700000 close(6</dev/nvidia0>) = 0 <0.000001000>
70<train> 1000.000800000 ioctl(1</dev/pts/0>, 0x5413, 0x7ffe40) = 0 <0.000001000>
71<wo > rk> 1000.000900000 ioctl(4</dev/nvidiactl>, 0xc0204629 <unfinished ...>
71<wo > rk> 1000.000950000 +++ killed by SIGKILL +++
""".splitlines()


def read(lines: list[str]) -> tuple[SystemCalls, list[Call]]:
    calls = SystemCalls(10**12, lambda tid: 70)
    return calls, [call for call in map(calls.read, lines) if call is not None]


def test_calls_on_the_devices_have_their_names() -> None:
    calls, found = read(LINES)
    assert [(call.name, call.object, call.thread) for call in found] == [
        ("openat", "/dev/nvidiactl", 1), ("NV_ESC_CHECK_VERSION_STR", "/dev/nvidiactl", 1),
        ("UVM_INITIALIZE", "/dev/nvidia-uvm", 1), ("NV_ESC_RM_CONTROL", "/dev/nvidiactl", 2),
        ("UVM_REGISTER_GPU", "/dev/nvidia-uvm", 1), ("mmap", "/dev/nvidia0", 1), ("close", "/dev/nvidia0", 1),
    ]  # fmt: skip
    control = found[3]
    assert (control.start, control.seconds, control.pid) == (pytest.approx(0.00011), pytest.approx(0.0002), 70)
    assert control.arguments == {"fd": 4, "request": "0xc020462a", "arg": "0x7ffe30"}
    assert (found[4].failed, found[4].result, found[4].status) == (True, "EINVAL", 22)
    assert (found[5].arguments["length"], found[5].result) == (2097152, "0x7f0010000000")
    assert calls.strange == 0 and calls.threads[71][2] == "wo > rk"


def test_numbers_without_a_name_stay_numbers() -> None:
    assert ioctls.name(0x5401, "/dev/pts/0") == "ioctl 0x5401"
    assert ioctls.name(9999, "/dev/nvidia-uvm") == "UVM ioctl 9999"
    assert ioctls.name(0xC0104629, "/dev/nvidia3") == "NV_ESC_RM_FREE"
    assert ioctls.name(0xC23046D7, "/dev/nvidia0") == "NV_ESC_NUMA_INFO"  # of driver 580 on an H100


def test_lines_that_are_anything() -> None:
    dice = random.Random(4)
    for _ in range(5000):
        line = dice.choice(LINES)
        at = dice.randrange(len(line))
        wrong = dice.choice(["", "<", ">", '"', ",", "(", "\x00", "9" * 40])
        read([line[:at] + wrong + line[at + dice.randrange(4) :]])


def strace(tmp_path: Path, *words: str, **more: str) -> tuple[subprocess.CompletedProcess[str], Path]:
    log = tmp_path / "kernel.jsonl"
    environment = {**clean_environment(), "PYTHONPATH": str(ROOT), **more}
    return run_gdbcuda("trace", "--with", "strace", "-o", log, *words, env=environment, cwd=os.getcwd()), log


def view(name: str, *files: Path | str) -> list[dict[str, Any]]:
    done = run_gdbcuda("log", name, "--json", *files, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@needs_strace
def test_a_real_run(tmp_path: Path) -> None:
    script = "cat < /dev/zero | head -c 1 > /dev/null; exit 7"
    done, log = strace(tmp_path, "--device", "/dev/ze*", "--", "sh", "-c", script)
    assert done.returncode == 7, done.stderr
    first, *_ = calls = view("show", log)
    assert (first["name"], first["layer"], first["arguments"]["path"]) == ("openat", "kernel", "/dev/zero")
    assert {call["object"] for call in calls} == {"/dev/zero"}
    assert f"{len(calls)} system calls on /dev/ze*" in done.stderr


@needs_strace
@pytest.mark.skipif(needs_recorder[0].args[0] or needs_recorder[1].args[0], reason="the recorder is not for here")
def test_which_call_makes_which_system_calls(shim: Path, tmp_path: Path) -> None:
    hook, calls, joined = tmp_path / "libio.so", tmp_path / "calls", tmp_path / "joined.jsonl"
    subprocess.run(["gcc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", str(hook), str(HERE / "ioctl_hook.c"),
                    *OLDER_LIBC], check=True)  # fmt: skip
    recorder = [*GDBCUDA, "trace", "-o", str(calls), "--hook", str(hook), "--", str(shim / "sample" / "test_alloc")]
    done, log = strace(tmp_path, "--device", "/dev/full", "--", *recorder, LD_LIBRARY_PATH=str(shim / "standin"))
    assert done.returncode == 0, done.stderr
    (cost,) = [row for row in view("kernel", calls, log) if row["system_calls"]]
    assert (cost["function"], cost["layer"], cost["calls"], cost["ioctls"], cost["system_calls"]) == (
        "cuMemAlloc_v2", "hook", 3, 6, 7)  # fmt: skip
    told = run_gdbcuda("log", "kernel", "-o", joined, calls, log, check=True).stdout
    assert re.search(r"None of them ends after the call|\d of them end up to \S+ [mun]?s after the call", told)
    found = view("tree", joined)
    control = next(call for call in found if call["name"] == "NV_ESC_RM_CONTROL")
    parent = next(call for call in found if call["number"] == control["parent"])
    assert (parent["layer"], parent["name"], parent["depth"] + 1) == ("hook", "cuMemAlloc_v2", control["depth"])
    assert control["pid"] == parent["pid"] and parent["caller"]["function"] == "allocate_buffer"


def write_log(path: Path, name: str, layer: str, start: float, end: float) -> None:
    call = Call(0, name, start, 1)
    call.layer, call.lwp, call.pid, call.end, call.ended, call.object = layer, 71, 71, end, "", ""
    sink = JsonLines(str(path), {**record.header("13.0", "13.0", "train", "1"), "started": 1e9})
    sink.note(0.0, "thread", {"thread": 1, "lwp": 71, "pid": 71, "inferior": 0})
    sink.entry(call)
    sink.exit(call)
    sink.close()


def test_the_timeline_has_a_lane_for_the_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Below that of the thread, also where the system call is inside a call of the API."""
    calls, kernel, joined = (tmp_path / name for name in ("calls.jsonl", "kernel.jsonl", "joined.jsonl"))
    write_log(calls, "cuInit", "driver", 0.0, 0.001)
    write_log(kernel, "openat", "kernel", 0.0005, 0.0007)
    assert cli.main(["log", "kernel", "-o", str(joined), str(calls), str(kernel)]) == 0
    capsys.readouterr()
    assert cli.main(["log", "timeline", str(joined)]) == 0
    thread, system, said, *_ = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"T1 +i+", thread) and re.fullmatch(r"T1 kernel +\.+x+\.+", system)
    assert "i=init, x=system call" in said


@pytest.mark.parametrize("end, remark", [(0.0012, "are 200 us apart at least\n"), (0.0009, "")])
def test_every_view_of_a_joined_log_says_how_far_its_clocks_are_apart(tmp_path: Path, end: float, remark: str) -> None:
    calls, kernel, joined = (tmp_path / name for name in ("calls.jsonl", "kernel.jsonl", "joined.jsonl"))
    write_log(calls, "cuInit", "hook", 0.0, 0.001)
    write_log(kernel, "NV_ESC_RM_CONTROL", "kernel", 0.0005, end)
    run_gdbcuda("log", "kernel", "-o", joined, calls, kernel, check=True)
    for name in ("show", "tree", "summary"):
        done = run_gdbcuda("log", name, joined)
        assert done.returncode == 0 and done.stderr.endswith(remark) and bool(done.stderr) == bool(remark), name


def test_what_a_hook_library_adds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The program's call costs what all below it costs, whoever it calls in that run."""
    calls, kernel, without = (tmp_path / name for name in ("calls.jsonl", "kernel.jsonl", "without.jsonl"))
    write_log(calls, "cuInit", "hook", 0.0, 0.001)
    write_log(kernel, "openat", "kernel", 0.0005, 0.0007)
    write_log(without, "cuInit", "driver", 0.0, 0.001)
    line = ["log", "kernel", str(calls), str(kernel), "--without", str(without)]
    assert cli.main([*line, "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert [row[name] for name in ("function", "calls", "calls_without", "system_calls", "system_calls_without")] == [
        "cuInit", 1, 1, 1.0, 0.0]  # fmt: skip
    assert cli.main(line) == 0
    assert re.search(r"^cuInit +1 +1 +1 +0 +0 +0 +200 us +0 us$", capsys.readouterr().out, re.MULTILINE)


@needs_strace
def test_a_process_that_runs_is_watched_for_a_time(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "1000"]) as target:
        try:
            done, log = strace(tmp_path, "-p", str(target.pid), "--for", "0.5s")
            assert done.returncode == 0 and log.exists() and target.poll() is None, done.stderr
        finally:
            target.kill()


@needs_strace
@pytest.mark.parametrize(
    "words, told",
    [((), "strace watches one of"), (("--", "none"), "no such command in PATH"), (("-p", "4194303"), "no process"),
     (("--function", "cuInit", "--", "true"), "--function is for uprobes")],
)  # fmt: skip
def test_mistakes(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    done, log = strace(tmp_path, *words)
    assert done.returncode == 2 and told in done.stderr and done.stderr.count("\n") == 1
    assert not log.exists()


def test_the_recorder_has_none_of_these_options() -> None:
    done = run_gdbcuda("trace", "--device", "/dev/x", "--", "true")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1) and "--device is for --with" in done.stderr
