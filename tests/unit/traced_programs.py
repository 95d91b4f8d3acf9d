"""Programs that gdbcuda trace starts, and what its log says of them."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any, Callable

import pytest
from forking_gdbcuda import run_gdbcuda
from shim_support import OLDER_LIBC, ROOT, clean_environment

from gdbcuda.calls.reader import BEGIN, Log
from gdbcuda.calls.record import Call
from gdbcuda.rings.traced.trace_folder import TraceFolder
from gdbcuda.shell.trace import starting

needs_recorder = [
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the recorder is made for x86-64"),
    pytest.mark.skipif((starting.libc() or (0, 0)) < starting.TELLS_OF_ALL, reason="its loader does not tell all"),
]
HERE = Path(__file__).resolve().parent
Done = subprocess.CompletedProcess[str]


class Traced:
    """What the program did, and what the log says of it."""

    def __init__(self, done: Done, folder: Path) -> None:
        self.done, self.folder = done, folder

    def log(self, view: str, *options: str) -> Done:
        return run_gdbcuda("log", view, self.folder, *options, check=True)

    def calls(self, *options: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log("show", "--json", *options).stdout.splitlines()]

    def recorded(self) -> list[Call]:
        """The same without what a user is shown of them, which takes most of the time where they are many."""
        return [call for phase, call in TraceFolder(str(self.folder)).events(Log()) if phase == BEGIN]

    def counts(self) -> Counter[str]:
        return Counter(call.name for call in self.recorded())


Trace = Callable[..., Traced]


@pytest.fixture
def trace(shim: Path, tmp_path: Path) -> Trace:
    def run_traced(program: str | Path, *words: str, options: tuple[str, ...] = (), stdin: str = "",
                   limits: dict[int, int] | None = None, **environment: str) -> Traced:  # fmt: skip
        folder = tmp_path / "calls"
        variables = {**clean_environment(), "LD_LIBRARY_PATH": f"{shim}/sample:{shim}/standin", "PYTHONPATH": str(ROOT)}
        done = run_gdbcuda("trace", "-o", folder, *options, "--", shim / "sample" / program, *words, cwd=os.getcwd(),
                       env={**variables, **environment}, input=stdin, timeout=60, limits=limits)  # fmt: skip
        return Traced(done, folder)

    return run_traced


@pytest.fixture(scope="module")
def traced(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("traced") / "traced"
    subprocess.run(
        ["gcc", "-g", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-o", str(program), str(HERE / "traced.c"),
         f"-L{shim}/standin", "-lcuda", "-pthread", *OLDER_LIBC], check=True,
    )  # fmt: skip
    return program
