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

import pytest
from scenario import ROOT, Scenario
from shim_support import clean_environment

from gdbcuda.observe import needs

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


def played(local: Scenario, library: Path, *words: str) -> str:
    first = f"set environment LD_LIBRARY_PATH {library.parent}{os.pathsep}{local.shim}/standin"
    return local.run("test_alloc", first, *words, hook=None)


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
