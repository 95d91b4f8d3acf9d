"""gdbcuda trace where the system has nothing to give: the program does not notice, the log says what is missing."""

from __future__ import annotations

import mmap
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shim_support import OLDER_LIBC, ROOT, clean_environment
from traced_programs import Traced, needs_recorder, traced

from gdbcuda.shell.trace import memory_limit, starting

__all__ = ["traced"]  # the fixture
pytestmark = needs_recorder
HERE = Path(__file__).resolve().parent
NO_RESERVE = 0x4000  # MAP_NORESERVE of asm-generic/mman.h: what a ring is made with
WAYS = [("exit", "7"), ("threads", "40"), ("fork", "20")]


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("refusing") / "refusing_maps"
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-o", program, HERE / "refusing_maps.c"],
                   check=True)  # fmt: skip
    return program


def run(shim: Path, folder: Path, *words: str) -> Traced:
    environment = {**clean_environment(), "LD_LIBRARY_PATH": str(shim / "standin"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
    return Traced(done, folder)


def tracing(folder: Path) -> list[str]:
    return [sys.executable, "-m", "gdbcuda", "trace", "-o", str(folder), "--"]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: str(way[0]))
@pytest.mark.parametrize("flags", [NO_RESERVE, mmap.MAP_SHARED], ids=["rings", "files"])
def test_no_memory_can_be_mapped(shim: Path, traced: Path, refusing: Path, tmp_path: Path, flags: int,
                                 way: tuple[str, str]) -> None:  # fmt: skip
    alone = run(shim, tmp_path, str(traced), *way).done
    found = run(shim, tmp_path / "calls", str(refusing), hex(flags), *tracing(tmp_path / "calls"), str(traced), *way)
    assert (found.done.returncode, found.done.stdout, found.done.stderr) == (alone.returncode, alone.stdout, "")
    said = found.log("show").stderr
    assert re.search(r"no room for (its|their) calls", said) and said.count("thread") < 50
    for process, first in re.findall(r"thread (\d+) of process (\d+):", said):
        assert process == first  # in each child one thread has called, its own


@pytest.mark.parametrize("which", ["as", "data"])
def test_a_program_with_little_room_keeps_it(shim: Path, tmp_path: Path, which: str) -> None:
    """The stacks of 64 threads, and 4 % more; rings beside them."""
    program = str(tmp_path / "little_room")
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-o", program, HERE.parent / "little_room.c",
                    f"-L{shim}/standin", "-lcuda", "-pthread", *OLDER_LIBC], check=True)  # fmt: skip
    alone = run(shim, tmp_path, program, which, "64").done
    found = run(shim, tmp_path / "calls", *tracing(tmp_path / "calls"), program, which, "64")
    assert (alone.returncode, found.done.returncode, found.done.stderr) == (0, 0, "")
    assert found.log("summary").stdout.startswith("2561 calls of 2 functions in 65 threads")


def test_more_threads_one_after_the_other_than_there_is_room_for(shim: Path, traced: Path, tmp_path: Path) -> None:
    """A thread for each request: the rings of those that have ended are taken over, and their files stay."""
    line = [*tracing(tmp_path / "calls")[:-1], "--last", "16", "--", str(traced), "one-by-one", "1100"]
    found = run(shim, tmp_path / "calls", *line)
    assert (found.done.returncode, found.done.stderr) == (0, "")
    said = found.log("summary")
    assert said.stdout.startswith("2201 calls of 2 functions in 1101 threads") and said.stderr == ""


def test_threads_that_have_ended_leave_little_on_the_disk(shim: Path, traced: Path, tmp_path: Path) -> None:
    line = [*tracing(tmp_path / "calls")[:-1], "--last", "1024", "--", str(traced), "one-by-one", "200"]
    found = run(shim, tmp_path / "calls", *line)
    assert (found.done.returncode, found.done.stderr) == (0, "")
    files = [one.stat() for one in (tmp_path / "calls").glob("*.ring")]
    assert len(files) == 201 and min(one.st_size for one in files) > 1024 * 640
    assert sum(one.st_blocks * 512 for one in files) < 80 * 1024 * 640
    assert found.log("summary").stdout.startswith("401 calls of 2 functions in 201 threads")


def test_processes_one_after_the_other_leave_little_on_the_disk(shim: Path, traced: Path, tmp_path: Path) -> None:
    """As from the 65th process on, here from the second."""
    line = [*tracing(tmp_path / "calls"), "env", f"{starting.WHOLE}=1", str(traced), "fork", "20"]
    found = run(shim, tmp_path / "calls", *line)
    assert (found.done.returncode, found.done.stderr) == (0, "")
    calls = sorted(one.stat().st_size // 640 for one in (tmp_path / "calls").glob("*.ring"))
    assert calls == [2048 + 8, 2048 + 8, 4096 + 8, 8192 + 8]
    assert found.log("show").stderr == ""


def on_small_disk(shim: Path, place: Path, size: str, *then: str) -> str:
    """What ``then`` prints, with a disk of that size at the place; the place is as before for everybody else."""
    script = f"mount -t tmpfs -o size={size} none {place} && " + "; ".join(then)
    environment = {**clean_environment(), "LD_LIBRARY_PATH": str(shim / "standin"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script], env=environment, capture_output=True, text=True)
    return done.stdout + done.stderr


def has_mounts() -> bool:
    line = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /mnt"]
    return os.geteuid() == 0 and shutil.which("unshare") is not None and not subprocess.call(line)


needs_mounts = pytest.mark.skipif(not has_mounts(), reason="no mounts of one's own here")


def traced_on_small_disk(shim: Path, traced: Path, folder: Path, size: str, option: str = "",
                         way: str = "threads 400") -> str:  # fmt: skip
    start = " ".join(tracing(folder / "calls")).replace(" trace ", f" trace {option} ")
    log = f"{sys.executable} -m gdbcuda log summary {folder}/calls"
    return on_small_disk(shim, folder, size, f"cd {ROOT}; {start} {traced} {way}; echo status $?", log)


@needs_mounts
def test_a_disk_without_room(shim: Path, traced: Path, tmp_path: Path) -> None:
    """Nor for what is to be said of each thread."""
    text = traced_on_small_disk(shim, traced, tmp_path, "64k", way="one-by-one 60")
    some = re.search(r"calls of \d functions in (\d+) thread", text)
    none = re.search(r"(\d+) threads of process \d+ or its children: no room for their calls", text)
    assert "status 0" in text and some is not None and none is not None, text
    assert int(some[1]) + int(none[1]) == 61


@needs_mounts
def test_a_disk_that_is_full_before_the_first_call(shim: Path, traced: Path, tmp_path: Path) -> None:
    """There is a name for the process's file, but no block."""
    program = f"sh -c 'cat /dev/zero > {tmp_path}/all 2> /dev/null; {traced} one-by-one 3; exit 7'"
    start = f"cd {ROOT}; {' '.join(tracing(tmp_path / 'calls'))} {program}; echo status $?"
    text = on_small_disk(shim, tmp_path, "64k", start, f"{sys.executable} -m gdbcuda log summary {tmp_path}/calls")
    assert "status 7" in text and "Bus error" not in text and "the file is empty" in text, text


@needs_mounts
@pytest.mark.parametrize("option", ["", "--all"])
def test_all_threads_share_a_small_disk(shim: Path, traced: Path, tmp_path: Path, option: str) -> None:
    """Such as /dev/shm of a container. One thread's file would take half of it, or more than there is."""
    text = traced_on_small_disk(shim, traced, tmp_path, "12m", option)
    assert "status 0\n2811 calls of 2 functions in 6 threads" in text and "no room" not in text


@needs_mounts
def test_a_disk_with_room_for_few_calls_of_each(shim: Path, traced: Path, tmp_path: Path) -> None:
    text = traced_on_small_disk(shim, traced, tmp_path, "1m")
    assert "in 6 threads" in text and "no room" not in text
    assert re.search(r"\d x a call that has been overwritten: its thread had room for \d+ calls, where 8192 were", text)


@needs_mounts
def test_a_disk_that_may_not_be_written_any_more(shim: Path, traced: Path, tmp_path: Path) -> None:
    program = f"sh -c 'mount -o remount,ro {tmp_path}; {traced} exit 7'"
    start = f"cd {ROOT}; {' '.join(tracing(tmp_path / 'calls'))} {program}; echo status $?"
    text = on_small_disk(shim, tmp_path, "1m", start, f"{sys.executable} -m gdbcuda log show {tmp_path}/calls")
    assert "status 7" in text and "or the program could not write there" in text


@pytest.mark.parametrize(
    ("line", "file", "said"),
    [
        ("0::/kubepods/pod7", "kubepods/pod7/memory.max", "60000000"),
        ("0::/kubepods/pod7", "kubepods/memory.max", "60000000\n"),  # of all in the node's share
        ("0::/", "memory.max", "60000000"),  # in a container
        ("7:cpu,memory:/docker/x", "memory/docker/x/memory.limit_in_bytes", "60000000"),
        ("7:memory:/docker/x", "memory/memory.limit_in_bytes", "60000000"),
    ],
)
def test_the_limit_of_a_control_group(tmp_path: Path, line: str, file: str, said: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(said)
    assert [*memory_limit.limits_of(["3:cpu:/x", line], str(tmp_path))] == [60_000_000]


@pytest.mark.parametrize("text", ["max", "9223372036854771712", "", "12 MB"])
def test_what_is_no_limit(tmp_path: Path, text: str) -> None:
    (tmp_path / "memory.max").write_text(text)
    assert not [*memory_limit.limit_in(str(tmp_path / "memory.max"))]
    assert not [*memory_limit.limit_in(str(tmp_path / "none"))]


def test_rings_are_small_where_memory_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """640 bytes a call: of 60 MiB a 256th is 240 KiB, which 256 calls fit into."""
    monkeypatch.setattr(memory_limit, "limits", lambda pid: iter([8 << 30, 60 << 20]))
    said = "memory is limited to 60 MiB here: of each thread the last 256 calls are kept"
    assert memory_limit.fitting(8192) == (256, said)
    assert memory_limit.fitting(100) == (100, "")
    monkeypatch.setattr(memory_limit, "limits", lambda pid: iter(()))
    assert memory_limit.fitting(262144) == (262144, "")


def test_of_all_who_start_programs(monkeypatch: pytest.MonkeyPatch, shim: Path) -> None:
    """gdbcuda ab starts them as well."""
    monkeypatch.setattr(memory_limit, "limits", lambda pid: iter([60 << 20]))
    assert starting.environment({}, None, 32768, [])[starting.LAST] == "256"


OF_ITS_RING = """
#include <stdio.h>
#include <string.h>
int cuInit(unsigned);
int main(void)
{
    char line[512];
    int is_ring = 0, size, whole = 0, there = 0;
    cuInit(0);
    FILE *maps = fopen("/proc/self/smaps", "r");
    while (fgets(line, sizeof line, maps)) {
        is_ring = strchr(line, '-') && !strstr(line, " kB") ? strstr(line, ".ring") != 0 : is_ring;
        whole += is_ring && sscanf(line, "Size: %d", &size) == 1 ? size : 0;
        there += is_ring && sscanf(line, "Rss: %d", &size) == 1 ? size : 0;
    }
    printf("%d of %d kB\\n", there, whole);
    return 0;
}
"""


def test_a_thread_of_few_calls_takes_little_memory(shim: Path, tmp_path: Path) -> None:
    """The pages of a ring come with its calls."""
    if tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) < (5, 14):
        pytest.skip("before Linux 5.14 pages of a file are written to by their calls alone, or all at once")
    program = str(tmp_path / "of_its_ring")
    line = ["gcc", "-x", "c", "-", "-x", "none", f"-L{shim}/standin", "-lcuda", *OLDER_LIBC, "-o", program]
    subprocess.run(line, input=OF_ITS_RING, text=True, check=True)
    said = run(shim, tmp_path / "calls", *tracing(tmp_path / "calls"), program).done.stdout
    there, whole = map(int, re.findall(r"(\d+)", said))
    assert whole > 5000 and 0 < there < 1000, said
