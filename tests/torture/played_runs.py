"""What a played session says, made up for the tests of judging."""

from __future__ import annotations

from typing import Any

import judging
from building import Build
from playing import Outcome
from sessions import Session
from watches import Watch

COUNT = "# count 0 cuMemAlloc_v2 alpha 1 3 3298534883334"
COUNTED = ["# holding", COUNT, "# count 1 cuMemAlloc_v2 beta 0 9 90"]
SIZES = [(1 << 40) + 1, (1 << 40) + 2, (1 << 40) + 3]
GOOD = ["= fork 0: exit 40", "= damaged registers 0, wrong calls 0", "= end"]


def played(lines: list[str], *notes: dict[str, Any], status: int = 3, **more: Any) -> Outcome:
    return Outcome(out=[*lines, *COUNTED], notes=list(notes), status=status, gdb_status=0, **more)


def stops(*sizes: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"what": "watch", "index": 0, "numbers": [2]}]
    for size in sizes:
        found += [{"what": "stop", "watches": [0]}, {"what": "size", "watch": 0, "value": size}]
    return found


def kinds(build: Build, watch: Watch, run: Outcome, end: str = "exits") -> set[str]:
    plain = Outcome(out=GOOD, status=3)
    session = Session("local", end, "nothing", [watch])
    return {one.kind for one in judging.differences(build, session, plain, run, False)}
