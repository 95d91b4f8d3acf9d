"""The recorder in libgdbcuda.so in real programs: what it records is what stops record, and what the program does."""

from __future__ import annotations

import json
import platform
import re
from pathlib import Path
from typing import Any

import pytest
from scenario import Scenario
from test_log import KINDS, calls_of_sample, events

JUMPS = Path(__file__).resolve().with_name("jumps_to_recorder.py")
pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the recorder is made for x86-64")


def recorded(local: Scenario, path: Path, program: str, patched: str, *arguments: str) -> tuple[str, Any]:
    text = local.run(
        program, "tbreak main", "RUN", f"source {JUMPS}", f"python patch({patched})", "continue",
        f"python write({str(path)!r})", "continue", arguments=arguments,
    )  # fmt: skip
    return text, json.loads(path.read_text())


def test_every_call_of_every_thread(local: Scenario, tmp_path: Path) -> None:
    text, found = recorded(local, tmp_path / "calls", "threads", f"{KINDS}, 'hook'", "8", "2500")
    assert [[call["name"] for call in thread] for thread in found["threads"]] == [
        calls_of_sample(number, 2500) for number in range(8)
    ]
    assert all(call["status"] == 0 and call["depth"] == 0 for thread in found["threads"] for call in thread)
    assert (found["missed"], found["lost"]) == (0, [0] * 8)
    assert "exited normally" in text


def test_the_same_tree_as_by_stops(local: Scenario, tmp_path: Path) -> None:
    names, log = ("cuMemAlloc_v2", "cuMemFree_v2", "cuMemGetInfo_v2", "cuDeviceGet"), tmp_path / "log"
    _, found = recorded(local, tmp_path / "calls", "test_alloc", str(names))
    local.run("test_alloc", f"cuda-log start {' '.join(names)} --to {log}", "RUN")
    stopped = events(log)
    ends = {event["op_id"]: event["details"] for event in stopped if event["phase"] == "E"}
    begins = [event for event in stopped if event["phase"] == "B"]
    (thread,) = found["threads"]
    assert len(begins) >= 8
    assert [(call["layer"], call["name"], call["depth"]) for call in thread] == [
        (event["layer"], event["name"], event["depth"]) for event in begins
    ]
    by_stops = [[one["details"], ends[one["op_id"]]["result"], ends[one["op_id"]].get("out", {})] for one in begins]
    assert renamed([[one["arguments"], one["result"], one["out"]] for one in thread]) == renamed(by_stops)


def renamed(data: Any) -> Any:
    """Each address by its first place in the log: the kernel hands out others where a ring is mapped."""
    seen: dict[str, str] = {}
    text = re.sub(r"0x[0-9a-f]{9,}", lambda found: seen.setdefault(found[0], f"address {len(seen)}"), json.dumps(data))
    return json.loads(text)
