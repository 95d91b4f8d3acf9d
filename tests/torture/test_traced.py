"""Sessions of `gdbcuda trace`: what is recorded is held against what the program has printed itself."""

from __future__ import annotations

import json
import platform
from dataclasses import replace
from pathlib import Path

import pytest
import traced
from lines import Tools
from sessions import TRACED, Session
from torture_support import Torture

from gdbcuda.files import places

pytestmark = [
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the recorder is made for x86-64"),
    pytest.mark.skipif(not places.built(places.TRACER), reason="libgdbcuda-trace.so is not built"),
]


@pytest.mark.parametrize("start", TRACED)
def test_a_program_is_as_alone(torture: Torture, start: str) -> None:
    assert torture.play(Path("/none"), Session(start, "exits", "nothing")) == {}


def test_a_call_too_many_or_too_few_is_found(torture: Torture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a run without a fault, and the same with calls that nobody has made, and without all of them."""
    session, folder = Session("traced", "exits", "nothing"), torture.folder / "played"
    run = traced.play(torture.build, session, Tools("gdb", "gdbserver", Path("/none")), folder, False, 60)
    assert traced.of_calls(torture.build, session, run) == []
    (pid,) = [int(line.split()[2]) for line in run.out if line.startswith("# ready ")]
    call = {"phase": "B", "name": "cuMemAlloc_v2", "layer": "hook", "pid": pid, "caller": 0, "details": {"bytesize": 1}}
    more = replace(run, log=[json.dumps(call)] * 100_000)
    assert [one.kind for one in traced.of_calls(torture.build, session, more)] == ["log"]
    monkeypatch.setattr(traced, "through_plt", lambda build: set(build.names))
    assert {one.kind for one in traced.of_calls(torture.build, session, replace(run, log=[]))} == {"log"}
