"""Several programs in one gdb, as with MPI: each with its own calls, places, log and hook library."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator

import pytest
from scenario import GDBSERVER, Scenario

pytestmark = pytest.mark.usefixtures("several_processes")
LOOK = "cuda-call"


def second(local: Scenario, program: str, *arguments: str) -> tuple[str, ...]:
    return (f"add-inferior -exec {local.sample(program)}", "inferior 2", f"set args {' '.join(arguments)}")


def test_two_programs_side_by_side(local: Scenario) -> None:
    """The first one's call is still known when the second has been run; its requests and its places too."""
    text = local.run(
        "test_alloc", "cuda-dlsym log on", "cuda-break cuMemAlloc", "run", *second(local, "threads", "1", "4"), "run",
        LOOK, "cuda-env SECOND=2", "thread 1.1", LOOK, "finish", LOOK, "cuda-env SECOND", "info breakpoints",
    )  # fmt: skip
    assert re.search(r"called by app allocate\(\) at threads\.c:\d+, thread 2\.2\n", text)
    assert text.count("called by app allocate_buffer() at test_alloc.c:25, thread 1.1") == 1
    assert "returned to app allocate_buffer() at test_alloc.c:25, thread 1.1" in text
    assert "SECOND=2 in the running process" in text and "SECOND is not set in the process" in text
    places = re.findall(r"^1\.\d+ +(y|n) .* at (\S+):\d+ inf (\d)$", text, re.MULTILINE)
    assert sorted(place[1:] for place in places if place[0] == "y") == [("hook/alloc.c", "1"), ("hook/alloc.c", "2")]


def test_what_one_leaves_behind_does_not_keep_the_other_from_running(local: Scenario) -> None:
    """Breakpoints at bare addresses of a running process; where the second loads its own, nothing is mapped there."""
    text = local.run(
        "test_alloc", "set disable-randomization off", "set cuda-recursion-limit 90", "cuda-dlsym log on",
        "cuda-break cuMemAlloc --on return", "run", *second(local, "threads", "1", "4"), "run", "continue",
        "inferior 1", "continue",
    )  # fmt: skip
    assert "Cannot insert breakpoint" not in text
    assert "returned to app allocate() at threads.c:" in text and ", thread 2.2\n" in text
    assert text.count("returned to app allocate_buffer() at test_alloc.c:25, thread 1") == 2


def test_a_second_program_without_a_hook(local: Scenario) -> None:
    """Who is hook is decided in each by itself; cuda-break means the outermost where there is none."""
    text = local.run(
        "test_alloc", "unset exec-wrapper", "cuda-break cuMemAlloc", "run", LOOK, "add-inferior", "inferior 2",
        f"file {local.sample('test_alloc')}", f"set exec-wrapper env LD_PRELOAD={local.hook}", "run", LOOK,
        hook=None,
    )  # fmt: skip
    assert (
        "cuMemAlloc_v2 in driver libcuda.so.1, called by app allocate_buffer() at test_alloc.c:25, thread 1\n" in text
    )
    assert "cuMemAlloc_v2 in hook libgdbcuda-hook.so, called by app allocate_buffer() at test_alloc.c:25, thread 2.1" in text  # fmt: skip  # noqa: E501


@pytest.fixture
def server() -> Iterator[str]:
    if not shutil.which("gdbserver"):
        pytest.skip("gdbserver is not installed (apt-get install gdbserver)")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    process = subprocess.Popen([GDBSERVER, "--multi", address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    yield address
    process.kill()
    process.wait()


def test_several_on_one_gdbserver(local: Scenario, server: str) -> None:
    """The environment is each inferior's own: the second one's preload is set when it is run."""
    path = f"set environment LD_LIBRARY_PATH={local.shim}/standin"
    remote_file = "set remote exec-file"
    text = local.run(
        "test_alloc", f"target extended-remote {server}", f"{remote_file} {local.sample('test_alloc')}", path,
        f"cuda-load {local.hook}", "cuda-break cuMemAlloc", "run",
        *second(local, "threads", "1", "4"), f"{remote_file} {local.sample('threads')}", path, "run", LOOK,
        "thread 1.1", LOOK, "cuda-route cuMemAlloc_v2", "set schedule-multiple on", "delete", "continue", hook=None,
    )  # fmt: skip
    assert text.count("is loaded, first in the search order") == 2
    assert re.search(r"called by app allocate\(\) at threads\.c:\d+, thread 2\.2\n", text)
    assert "called by app allocate_buffer() at test_alloc.c:25, thread 1.1" in text
    assert "1 function reachable: 1 hooked, 0 past the hook" in text
    assert "exited normally" in text
