"""gdbcuda trace --all: a process beside the program keeps all calls, and what it cannot keep is counted."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from traced_programs import Trace, Traced, needs_recorder, trace, traced

from gdbcuda.rings.ring_layout import FILE_HEADER, PAST_ROOM, RECORD, RING, RING_HEADER, RING_RECORD, WORD
from gdbcuda.rings.traced.kept_calls import sizes_in

__all__ = ["trace", "traced"]  # the fixtures
FEW = ("--all", "--last", "1000")
pytestmark = needs_recorder


def wait_for_helper(found: Traced) -> None:
    """It takes away the ring of a process that has ended, once all of it is kept."""
    until = time.monotonic() + 30
    while list(found.folder.glob("*.ring")):
        assert time.monotonic() < until, "the helper has not ended"
        time.sleep(0.01)


def dropped(found: Traced) -> int:
    text = found.log("summary").stderr
    said = re.search(r"(\d+) x a call that (came too fast to be kept|was overwritten while)", text)
    return int(said[1]) if said else 0


def test_more_calls_than_a_ring_has_room_for(trace: Trace) -> None:
    found = trace("threads", "2", "20000", options=FEW)
    assert (found.done.returncode, found.done.stderr) == (0, "")
    said = Counter[str]()
    for line in found.done.stdout.splitlines():
        said.update({name: int(count) for name, count in re.findall(r"(cu\w+) (\d+)", line)})
    while_it_works = found.counts()
    wait_for_helper(found)
    counted = found.counts()
    assert sum(while_it_works.values()) + dropped(found) == sum(counted.values()) + dropped(found) == 40000 + 8
    assert all(counted[name] <= count for name, count in said.items())
    assert sum(counted.values()) >= 2 * 1024 + 6  # the last ones at least


def test_they_are_as_they_were_in_the_ring(trace: Trace) -> None:
    found = trace("test_alloc", options=("--all",))
    wait_for_helper(found)
    calls = found.calls()
    assert [call["arguments"]["bytesize"] for call in calls[5:8]] == [64 << 20, (1 << 30) + 1, 3 << 30]
    assert all(call["result"] == "CUDA_SUCCESS" and call["out"]["dptr"]["value"] for call in calls[5:8])
    assert calls[5]["caller"]["function"] == "allocate_buffer"
    assert found.log("show").stderr == "" and dropped(found) == 0


def test_of_64_threads(trace: Trace) -> None:
    found = trace("threads", "64", "300", options=FEW)
    wait_for_helper(found)
    assert sorted(Counter(call.thread for call in found.recorded()).values()) == [4 + 64, *[301] * 64]


def test_of_children(trace: Trace, traced: Path) -> None:
    found = trace(traced, "fork", "5", options=FEW)
    wait_for_helper(found)
    assert sorted(Counter(call["pid"] for call in found.calls()).values()) == [5, 6, 7, 11]


@pytest.mark.parametrize("how", ["kill", "crash"])
def test_the_program_dies(trace: Trace, traced: Path, how: str) -> None:
    found = trace(traced, how, "500", options=FEW)
    assert found.done.returncode == -{"kill": signal.SIGKILL, "crash": signal.SIGSEGV}[how]
    assert found.counts() == {"cuInit": 1, "cuDeviceGet": 500}
    wait_for_helper(found)
    assert found.counts() == {"cuInit": 1, "cuDeviceGet": 500}


def test_the_call_that_crashes_is_kept(trace: Trace, traced: Path) -> None:
    found = trace(traced, "crash-inside", "3", options=FEW)
    wait_for_helper(found)
    assert (found.calls()[-1]["name"], found.calls()[-1]["ended"]) == ("cuDeviceGetCount", "not over")


def test_no_room_on_the_disk(trace: Trace, traced: Path) -> None:
    """For a part of the calls."""
    found = trace(traced, "exit", "20000", options=FEW, limits={resource.RLIMIT_FSIZE: 1 << 20})
    assert found.done.returncode == 20000 % 256
    kept = sum(found.counts().values())
    assert 1024 <= kept < 20001 and kept + dropped(found) == 20001


def test_it_is_said_that_the_disk_was_full(shim: Path, trace: Trace, traced: Path) -> None:
    """And not that the calls came too fast, against which there is --last."""
    found = trace(traced, "exit", "500", options=("--last", "16"))
    pid = next(found.folder.glob("*.process")).name.partition("-")[0]
    subprocess.run([str(shim / "gdbcuda-drain"), str(found.folder), pid], check=True, preexec_fn=with_small_files)
    until = time.monotonic() + 30
    while "while --all could not write (a full disk, or a limit)" not in found.log("show").stderr:
        assert time.monotonic() < until, found.log("show").stderr
    assert dropped(found) == 485 and found.counts() == {"cuDeviceGet": 16}


def with_small_files() -> None:
    """Of so many bytes: a header, and one call."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_HEADER + 200, FILE_HEADER + 200))


def test_a_ring_whose_file_is_long_in_the_making(shim: Path, tmp_path: Path) -> None:
    """Of hundreds of megabytes: the helper sees it while it has no records yet, and nothing tells when it has."""
    with subprocess.Popen(["sleep", "30"]) as program:
        ring = tmp_path / f"{program.pid}-1-{program.pid}.ring"
        ring.write_bytes(bytes((RING_HEADER + RING_RECORD + PAST_ROOM) * WORD))
        subprocess.run([str(shim / "gdbcuda-drain"), str(tmp_path), str(program.pid)], check=True)
        time.sleep(0.2)  # ten times as long as it looks at a folder that has just changed
        with ring.open("r+b") as file:
            file.seek(RING["RECORDS"] * WORD)
            file.write((1).to_bytes(WORD, "little"))
        until = time.monotonic() + 10
        while not ring.with_suffix(".calls").exists() and time.monotonic() < until:
            time.sleep(0.01)
        is_seen = ring.with_suffix(".calls").exists()
        program.kill()
    assert is_seen


def missing(found: Traced) -> int:
    return sum(int(count) for count in re.findall(r"(\d+) x an? (?:older )?call that", found.log("summary").stderr))


KILL = """
import contextlib, os, signal, subprocess, sys
subprocess.run(sys.argv[1:])
for name in filter(str.isdigit, os.listdir("/proc")):
    with contextlib.suppress(OSError):
        words = open(f"/proc/{name}/cmdline").read().split("\\0")
        if "gdbcuda-drain" in words[0] and os.environ["GDBCUDA_TRACE"] in words:
            os.kill(int(name), signal.SIGKILL)
subprocess.run(sys.argv[1:])
"""


def test_the_helper_is_killed(trace: Trace, traced: Path) -> None:
    """There are the rings still."""
    found = trace(sys.executable, "-c", KILL, str(traced), "exit", "5000", options=FEW)
    assert found.done.returncode == 0
    kept = sorted(Counter(call["pid"] for call in found.calls()).values())
    assert kept[0] >= 1024 and sum(kept) + missing(found) == 2 * 5001


NOT_MAPPED = 'file=$GDBCUDA_TRACE/$$-1.process; : > "$file"; while [ $((i += 1)) -lt 400000 ]; do :; done; rm "$file"'


@pytest.mark.parametrize("line", ["(sleep 0.5; {}) > /dev/null 2>&1 &",
                                  f"sh -c '{NOT_MAPPED}; exec {{}}' > /dev/null 2>&1 & sleep 0.1"])  # fmt: skip
def test_a_process_that_outlives_the_one_that_was_started(trace: Trace, traced: Path, line: str) -> None:
    """The helper may see a process's file before the process has mapped it."""
    found = trace("/bin/sh", "-c", line.format(f"{traced} exit 3000"), options=FEW)
    until = time.monotonic() + 30
    while not list(found.folder.glob("*.calls")) and time.monotonic() < until:
        time.sleep(0.05)
    wait_for_helper(found)
    assert sum(found.counts().values()) + dropped(found) == 3001


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="nobody may make a namespace")
def test_a_process_whose_number_is_of_another_namespace(trace: Trace, traced: Path) -> None:
    """It calls itself 1, and the process that is 1 for everybody else does not end."""
    found = trace("/usr/bin/unshare", "--pid", "--fork", str(traced), "exit", "300", options=FEW)
    if not (found.folder / "1-1.process").exists():
        pytest.skip("nobody may make a namespace")
    assert found.done.returncode == 300 % 256
    wait_for_helper(found)
    assert sum(found.counts().values()) + dropped(found) == 301


def test_the_program_has_no_child_and_no_file_of_ours(trace: Trace) -> None:
    script = "import os\nprint(sorted(os.listdir('/proc/self/fd'))[:4])\nos.wait()"
    found = trace(sys.executable, "-c", script, options=FEW)
    alone = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, input="")
    assert "ChildProcessError" in found.done.stderr and found.done.stdout == alone.stdout


def ends_of_records(kept: bytes) -> list[int]:
    ends = [FILE_HEADER]
    while ends[-1] < len(kept):
        parts = sizes_in(kept, ends[-1])
        assert parts is not None
        ends.append(ends[-1] + WORD * (1 + RECORD["STACK"] + sum(parts)))
    return ends


def handed_out_again(calls: list[dict[str, Any]]) -> int:
    """Which of these calls is the first allocation of a block at an address of before."""
    addresses = [call["out"]["dptr"]["value"] if call["name"] == "cuMemAlloc_v2" else "" for call in calls]
    return next(at for at, one in enumerate(addresses) if one and one in addresses[:at])


def test_what_was_lost_in_between_makes_no_mistake_of_the_programs(trace: Trace) -> None:
    """A block's allocation is not there, and one of before was freed at the same address."""
    found = trace("threads", "1", "300", options=("--all",))
    wait_for_helper(found)
    assert "No bad free" in found.log("memory").stdout
    calls = [call for call in found.calls() if call["thread"] == 2]
    kept = next(path for path in found.folder.glob("*.calls") if f"-{calls[0]['lwp']}.calls" in path.name)
    whole, lost = kept.read_bytes(), handed_out_again(calls)
    ends = ends_of_records(whole)
    kept.write_bytes(whole[: ends[lost]] + whole[ends[lost + 1] :])
    said = found.log("memory")
    assert "No bad free" in said.stdout and ": a call that came too fast to be kept" in said.stderr
    assert "Blocks that the log does not know were freed by 1 call" in said.stdout
    assert "cuMemFree_v2: calls are missing in between." in said.stdout
