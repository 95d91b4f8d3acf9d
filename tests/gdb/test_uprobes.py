"""Where a uprobe is, the kernel keeps the stops of a breakpoint: the user is told, not left to wait."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from scenario import ROOT, Scenario
from shim_support import clean_environment

from gdbcuda import api, elf
from gdbcuda.observe.patched import offset
from gdbcuda.observe.probes import places
from gdbcuda.observe.uprobes import needs

pytestmark = [pytest.mark.skipif(bool([*needs.missing()]), reason="; ".join(needs.missing())),
              pytest.mark.skipif(not needs.has_bpftrace(), reason="no bpftrace")]  # fmt: skip
WHY = "libcuda.so.1:\nan int3 that is not gdb's is there."
SAID = f"Breakpoint 1 does not stop in cuMemAlloc_v2 of {WHY}"


@pytest.fixture(scope="module")
def watched(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A library in which somebody watches cuMemAlloc, of every process: no other test has this file mapped."""
    folder = tmp_path_factory.mktemp("watched")
    library = shutil.copy(shim / "standin" / "libcuda.so.1", folder)
    line = [sys.executable, "-m", "gdbcuda", "trace", "--with", "uprobe", "--all-of", library,
            "--function", "cuMemAlloc", "-o", str(folder / "calls.jsonl")]  # fmt: skip
    environment = {**clean_environment(), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(line, env=environment, stderr=subprocess.PIPE, text=True, preexec_fn=hear) as watching:
        assert watching.stderr is not None
        said = ""
        while "Ctrl-C ends it" not in said:
            said = watching.stderr.readline()
            assert said, "nobody watches"
        yield Path(library)
        watching.send_signal(signal.SIGINT)


def hear() -> None:
    """Ctrl-C, also where the tests run in the background of a script."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def played(local: Scenario, library: Path, *words: str, program: str = "test_alloc") -> str:
    first = f"set environment LD_LIBRARY_PATH {library.parent}{os.pathsep}{local.shim}/standin"
    return local.run(program, first, *words, hook=None)


def test_it_is_said_once_in_a_process(local: Scenario, watched: Path) -> None:
    text = played(local, watched, "cuda-break cuMemAlloc", "cuda-break cuMemFree", "run")
    assert text.count(SAID) == 1 and "Breakpoint 2, cuMemFree_v2" in text, text
    assert not re.search("^Breakpoint 1, ", text, re.MULTILINE), "now the kernel lets it through: say so no more"


def test_in_a_process_that_is_there(local: Scenario, watched: Path) -> None:
    text = played(local, watched, "break main", "run", "cuda-delay cuMemAlloc 2ms", "cuda-delay cuMemFree 2ms")
    assert text.count(SAID.replace("1 ", "2 ", 1)) == 1 and "Breakpoint 3 does not" not in text, text


def test_of_a_log_by_stops(local: Scenario, watched: Path) -> None:
    text = played(local, watched, "cuda-log start cuMemAlloc cuMemFree", "run", "cuda-log")
    assert text.count(f"Not recorded are calls of cuMemAlloc and cuMemAlloc_v2 of {WHY}") == 1, text
    assert "3 calls kept" in text, text


def test_not_where_nobody_watches(local: Scenario, shim: Path, tmp_path: Path) -> None:
    text = played(local, Path(shutil.copy(shim / "standin" / "libcuda.so.1", tmp_path)), "cuda-log start",
                  "cuda-break cuMemAlloc", "run")  # fmt: skip
    assert "is not gdb's" not in text and re.search("^Breakpoint 1, ", text, re.MULTILINE), text


TRACING = "/sys/kernel/tracing"  # mounted for ourselves alone, as it may be nowhere here


class Uprobe(NamedTuple):
    """``library``: a driver that only this test has mapped; ``line`` places the probe on its cuMemAlloc."""

    library: Path
    event: str
    line: str

    def shell(self, words: str) -> str:
        mounted = f"(test -e {TRACING}/uprobe_events || mount -t tracefs tracefs {TRACING})"
        return f"unshare -m sh -c '{mounted} && cd {TRACING} && {words}'"


@pytest.fixture
def probe(shim: Path, tmp_path: Path) -> Iterator[Uprobe]:
    library, event = shutil.copy(shim / "standin" / "libcuda.so.1", tmp_path), f"gdbcuda_test_{os.getpid()}/alloc"
    file = elf.open(library)
    where = offset(file, places(file, api.load())["cuMemAlloc_v2"])
    found = Uprobe(Path(library), event, f"p:{event} {library}:{where + 1:#x}")  # as somebody may who asks for SYMBOL+1
    yield found
    off = found.shell(f"echo 0 > events/{event}/enable && echo -:{event} >> uprobe_events")
    subprocess.run(off, shell=True, check=True)


PROBED = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *, unsigned long);
static void put(const char *file, const char *text)
{
    int at = open(file, O_WRONLY | O_APPEND);
    if (at < 0 || write(at, text, strlen(text)) < 0)
        _exit(3);
    close(at);
}
int main(int argc, char **argv)
{
    unsigned long long block;
    cuMemAlloc_v2(&block, 1);
    unshare(CLONE_NEWNS);
    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
    mount("tracefs", TRACING, "tracefs", 0, NULL);
    put(TRACING "/uprobe_events", LINE);
    put(TRACING "/events/" EVENT "/enable", "1");
    raise(SIGUSR1);
    return 0;
}
"""


def test_one_on_the_jump_of_a_guard_is_told(local: Scenario, probe: Uprobe, compile_c) -> None:
    """Wherever in it: the next call crashes, and gdb shows the function's own bytes: nobody would know why."""
    texts = {"TRACING": TRACING, "EVENT": probe.event, "LINE": probe.line}
    flags = [f'-D{name}="{text}"' for name, text in texts.items()]
    program = compile_c("program", PROBED, str(probe.library), *flags)
    text = played(local, probe.library, "cuda-break cuMemAlloc if bytesize == 7", "run", "cuda-guards", program=program)
    said = "on the jump of Breakpoint 1 in\n  cuMemAlloc_v2: calls of it crash, as they go on in the middle of"
    assert "SIGUSR1" in text and text.count(said) == 1, text


def test_one_that_comes_at_a_stop_is_told_by_the_log(local: Scenario, probe: Uprobe) -> None:
    put = probe.shell(f'echo "{probe.line}" >> uprobe_events && echo 1 > events/{probe.event}/enable')
    text = played(local, probe.library, "cuda-log start --fast cuMemAlloc cuMemFree", "tbreak main", "run",
                  f"shell {put}", "continue", "cuda-log")  # fmt: skip
    said = "whose first bytes somebody has changed meanwhile, as a uprobe does: cuMemAlloc_v2."
    assert "exited normally" in text and f"\nCalls are missing of functions {said}" in text, text
