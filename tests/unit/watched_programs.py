"""Runs of programs that the kernel watches, and what their logs have."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from forking_gdbcuda import run_gdbcuda
from shim_support import ROOT, clean_environment

from gdbcuda.observe.uprobes import needs

GDBCUDA = (sys.executable, "-m", "gdbcuda")
Done = subprocess.CompletedProcess[str]
Calls = list[dict[str, Any]]
needs_bpftrace = [pytest.mark.skipif(bool([*needs.missing()]), reason="; ".join(needs.missing())),
                  pytest.mark.skipif(not needs.has_bpftrace(), reason="no bpftrace")]  # fmt: skip


class Watched:
    """What came of a run: the program's end and output, and the log."""

    def __init__(self, done: Done, log: Path) -> None:
        self.done, self.log = done, log

    def calls(self, *options: str) -> Calls:
        done = run_gdbcuda("log", "show", "--json", *options, self.log, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def named(self, name: str) -> Calls:
        return [call for call in self.calls() if call["name"] == name]


def variables(shim: Path, *folders: Path) -> dict[str, str]:
    libraries = ":".join(map(str, [*folders, shim / "standin", shim / "sample"]))
    return {**clean_environment(), "LD_LIBRARY_PATH": libraries, "PYTHONPATH": str(ROOT)}


def started(line: list[str], shim: Path) -> subprocess.Popen[str]:
    """It hears Ctrl-C, also where the tests run in the background of a script, which ignores it."""

    def hear() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    return subprocess.Popen(line, env=variables(shim), stderr=subprocess.PIPE, text=True, preexec_fn=hear)


def until(happened: Callable[[], bool], longest: float = 60.0) -> None:
    latest = time.monotonic() + longest
    while not happened():
        assert time.monotonic() < latest, "it did not happen"
        time.sleep(0.05)
