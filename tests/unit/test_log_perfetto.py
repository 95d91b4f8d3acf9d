"""Our export as Perfetto takes it: events by time, those of one moment in the file's order, and each at once.

(Perfetto: slice_tracker.cc; flow_tracker.cc, where an arrow outside of a slice is dropped; json_trace_parser_impl.cc,
where the id of an arrow is a number.)"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from log_files import call, run, write


def taken(events: list[dict[str, Any]]) -> tuple[list[tuple[int, int | None]], list[tuple[str, int, int]]]:
    """Numbers of calls with those that they are in, and of the calls that arrows go between."""
    stacks: dict[Any, list[tuple[float, int]]] = defaultdict(list)  # ends and numbers of open slices, by track
    slices, begun, arrows = [], {}, []
    for one in sorted((one for one in events if one["ph"] in "Xsf"), key=lambda one: one["ts"]):
        stack = stacks[one["pid"], one["tid"]]
        while stack and stack[-1][0] <= one["ts"]:
            stack.pop()
        if one["ph"] == "X":
            end, number = one["ts"] + one["dur"], one["args"]["number"]
            assert one["dur"] > 0 and (not stack or end <= stack[-1][0]), "it would be dropped"
            slices.append((number, stack[-1][1] if stack else None))
            stack.append((end, number))
        elif one["ph"] == "s":
            assert type(one["id"]) is int and stack, "flow_invalid_id, or flow_no_enclosing_slice"
            begun[one["name"], one["id"]] = stack[-1][1]
        else:
            arrows.append((one["name"], begun[one["name"], one["id"]], stack[-1][1]))
    return slices, arrows


@pytest.mark.parametrize("start", [0.001, 0.0], ids=["later", "at the same time"])
def test_slices_nest_and_arrows_have_two_ends(capsys: pytest.CaptureFixture[str], tmp_path: Path, start: float) -> None:
    """Microseconds are all that tracefs tells, and a clock may be coarse: a call and what is in it begin together."""
    calls = [call(0, "cudaLaunchKernel", layer="runtime", start=0.0, end=0.009, pid=7),
             call(1, "cuLaunchKernel", parent=0, layer="hook", start=start, end=0.008, pid=7),
             call(2, "cuLaunchKernel", parent=1, layer="driver", start=2 * start, end=0.007, pid=7),
             call(3, "add(int*)", {"call": 0}, layer="gpu", start=0.003, end=0.02, pid=7, thread=2)]  # fmt: skip
    logs = [write(tmp_path / name, calls) for name in ("a", "b")]
    for given in (logs[:1], logs):
        slices, arrows = taken(json.loads(run(capsys, "export", *given))["traceEvents"])
        assert sorted(slices, key=str) == sorted([(0, None), (1, 0), (2, 1), (3, None)] * len(given), key=str)
        cause = 0 if start else 2  # an arrow that comes when its call is over begins at the innermost of that moment
        assert sorted(arrows) == sorted([("becomes", 0, 2), ("runs", cause, 3)] * len(given))
