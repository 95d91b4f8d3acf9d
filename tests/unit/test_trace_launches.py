"""A launch by <<<>>> is in the log, whoever records: nvcc makes calls of it that no header has."""

from __future__ import annotations

from pathlib import Path

import pytest
from launching import LAUNCH, compile_launching
from traced_programs import Trace, needs_recorder, trace

from gdbcuda import api, elf
from gdbcuda.observe.probes import Choice, WatchedFile
from gdbcuda.observe.watched_files import Target

__all__ = ["trace"]  # the fixture


@pytest.fixture
def launching(shim: Path, tmp_path: Path) -> Path:
    return compile_launching(shim, tmp_path)


@pytest.mark.skipif(any(mark.args[0] for mark in needs_recorder), reason="no recorder here")
def test_the_recorder_has_it(trace: Trace, launching: Path) -> None:
    calls = trace(launching).calls("--in", "runtime")
    assert [call["name"] for call in calls] == LAUNCH
    assert calls[-1]["arguments"]["gridDim"] == {"x": 5, "y": 2, "z": 1}
    assert calls[-1]["arguments"]["sharedMem"] == 128


def test_uprobes_are_put_on_it(launching: Path, shim: Path) -> None:
    """What the program names, as far as it does anything for the GPU."""
    table, target, runtime = api.load(), Target(), str(shim / "standin/libcudart.so.13")
    target.note_uses(elf.open(str(launching)), table)
    found = Choice(table, (), target.used).probes([(WatchedFile(runtime, runtime), elf.open(runtime))])
    assert {one.known.function.symbol for one in found} == {LAUNCH[-1]}
