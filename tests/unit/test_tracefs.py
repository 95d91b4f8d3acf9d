"""gdbcuda trace --with uprobe without bpftrace: what tracefs takes and tells."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from forking_gdbcuda import run_gdbcuda
from shim_support import OLDER_LIBC, ROOT, clean_environment
from watched_shim import shim as shim

from gdbcuda import api
from gdbcuda.observe.probes import Place, Probe, WatchedFile
from gdbcuda.observe.uprobes import needs, tracefs_run, tracefs_text
from gdbcuda.observe.uprobes.bpftrace_events import Entered, Left, Lost
from gdbcuda.observe.uprobes.tracefs_text import Forked, TracefsRecord
from gdbcuda.rings.ring_functions import RecordedFunction

WHERE = "/lib/libcuda.so.1:0x1000"
HEAD = "            my-job-77    (     70) [001] DBZff 21448.000019: "
needs_tracefs = pytest.mark.skipif(os.geteuid() != 0 or not needs.tracefs(), reason="no tracefs that takes uprobes")


def record(symbol: str) -> TracefsRecord:
    known = RecordedFunction(api.load().functions[symbol], "driver", "libcuda.so.1")
    file = WatchedFile("/lib/libcuda.so.1", "/lib/libcuda.so.1")
    return TracefsRecord(Probe(7, known, file, Place(symbol, 0x1000, None)))


def test_what_a_probe_fetches() -> None:
    assert tracefs_text.entry(record("cuMemAlloc_v2"), "g", WHERE) == (
        f"p:g/b7 {WHERE} sp=%sp:x64 back=+0(%sp):x64 ip=%ip:x64 w0=%di:x64 w1=%si:x64\n")
    assert tracefs_text.exit(record("cuMemAlloc_v2"), "g", WHERE) == f"r:g/e7 {WHERE} sp=%sp:x64 result=$retval:x64\n"
    assert "w6=+8(%sp):x64 w7=+16(%sp):x64" in tracefs_text.entry(record("cuLaunchKernel"), "g", WHERE)
    assert tracefs_text.entry(record("cuModuleGetFunction"), "g", WHERE).endswith(" t2=+0(%dx):string\n")


def test_lines() -> None:
    begun = tracefs_text.read(HEAD + "b7: (0x5000) sp=0x7ff0 back=0x4000 ip=0x5000 w0=0x1 w1=0xffffffffffffffff")
    assert begun == Entered(21448000019000, 7, 70, 77, 0x7FF0, 0x4000, 0x5000, 0, (1, (1 << 64) - 1), "my-job", "")
    assert tracefs_text.read(HEAD + "e7: (0x4000 <- 0x5000) sp=0x7ff8 result=0x2") == Left(
        21448000019000, 7, 77, 0x7FF0, 2, (), "")
    assert tracefs_text.read("CPU:1 [LOST 120 EVENTS]") == Lost(120)
    fork = "sched_process_fork: comm=my job pid=77 pid=77 child_comm=my job pid=77 child_pid=78"
    assert tracefs_text.read(HEAD + fork) == Forked(77, 78)


def test_texts() -> None:
    line = HEAD + 'b7: (0x5000) sp=0x7ff0 back=0x4000 ip=0x5000 w0=0x1 w2=0x2 t2="w3=0x9 "it" 100 %" t3="b"'
    begun = tracefs_text.read(line)
    assert isinstance(begun, Entered) and begun.words == (1, 2) and begun.texts == 'w3=0x9 "it" 100 %|b'
    missing = tracefs_text.read(HEAD + "b7: (0x5000) sp=0x7ff0 back=0x4000 ip=0x5000 w0=0x1 t2=(fault)")
    assert isinstance(missing, Entered) and missing.words == (1,) and missing.texts == ""


@pytest.mark.parametrize("line", ["", "# tracer: nop", HEAD, HEAD + "b7: (0) sp=", HEAD + "e7: result=0x1", "\udc80"])
def test_what_is_no_event(line: str) -> None:
    assert tracefs_text.read(line) is None


def test_only_what_is_watched_and_what_that_starts() -> None:
    tracer = tracefs_run.Tracefs([], 0)
    tracer.pid, tracer.watched = 77, {77}
    begun = "b7: (0x1) sp=0x1 back=0x1 ip=0x1"
    lines = [HEAD.replace("-77", f"-{tid}") + what for tid, what in [
        (78, begun), (77, "sched_process_fork: comm=x pid=77 child_comm=x child_pid=78"), (78, begun), (79, begun)]]
    assert [one.tid for one in tracer.wanted(lines)] == [78]  # type: ignore[union-attr]


def watch(shim: Path, tmp_path: Path, *words: str) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
    """In a PATH without bpftrace."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sh").symlink_to("/bin/sh")
    environment = {**clean_environment(), "LD_LIBRARY_PATH": str(shim / "standin"), "PYTHONPATH": str(ROOT),
                   "PATH": str(tmp_path / "bin")}  # fmt: skip
    log = tmp_path / "calls.jsonl"
    done = run_gdbcuda("trace", "--with", "uprobe", "-o", log, *words, env=environment, timeout=60)
    shown = run_gdbcuda("log", "show", "--json", log)
    return done, [json.loads(one) for one in shown.stdout.splitlines()]


@needs_tracefs
def test_a_program_and_its_children(shim: Path, tmp_path: Path) -> None:
    source = Path(__file__).with_name("traced.c")
    line = ["gcc", "-D_GNU_SOURCE", "-o", str(tmp_path / "traced"), str(source), f"-L{shim}/standin", "-lcuda"]
    subprocess.run([*line, "-pthread", *OLDER_LIBC], check=True)
    done, calls = watch(shim, tmp_path, "--function", "cuDeviceGet", "--", str(tmp_path / "traced"), "fork", "20")
    assert done.returncode == 0 and "no bpftrace here: by tracefs" in done.stderr
    counts = Counter(call["pid"] for call in calls)
    assert len(counts) > 1 and {call["name"] for call in calls} == {"cuDeviceGet"}
    found = {(call["arguments"]["ordinal"], call["result"]) for call in calls}
    assert found == {(0, "CUDA_SUCCESS"), (1, "CUDA_ERROR_INVALID_DEVICE")}
    left = tracefs_run.OURS.findall(Path(needs.tracefs(), "uprobe_events").read_text())
    assert all(Path("/proc", pid).exists() for _, pid in left)  # of others who watch now


@needs_tracefs
def test_a_condition_is_asked_afterwards(shim: Path, tmp_path: Path) -> None:
    program = str(shim / "sample" / "test_alloc")
    done, calls = watch(shim, tmp_path, "--function", "cuMemAlloc", "--filter", "bytesize > 1G", "--", program)
    assert "asked of the calls afterwards: there is no bpftrace" in done.stderr
    assert [call["arguments"]["bytesize"] for call in calls] == [(1 << 30) + 1, 3 << 30]


@needs_tracefs
def test_what_only_bpftrace_can(shim: Path, tmp_path: Path) -> None:
    group = tmp_path / "group"
    group.mkdir()
    (group / "cgroup.controllers").touch()
    program = str(shim / "sample" / "test_alloc")
    done, _ = watch(shim, tmp_path, "--function", "cuMemAlloc", "--cgroup", str(group), "--", program)
    assert done.returncode == 2 and done.stderr == "gdbcuda: --cgroup needs bpftrace (apt-get install bpftrace)\n"
