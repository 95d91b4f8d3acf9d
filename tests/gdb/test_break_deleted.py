"""A deleted breakpoint is forgotten: whatever was kept of it, by whichever part, goes with it."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest
from scenario import Scenario

FIRST = 971  # a number that nothing else has: no thread, inferior, line or size
WALK = """
    import json, sys, types
    import gdb

    def walk(value, path, seen, found):
        if isinstance(value, gdb.Breakpoint):
            if not value.is_valid():
                found.append((0, path + ", a breakpoint that is gone"))
            elif value.number >= {first}:
                found.append((value.number, path))
        elif type(value) is int:
            if {first} <= value < {first} + 10:
                found.append((value, path))
        elif id(value) not in seen:
            seen.add(id(value))
            for name, part in parts(value):
                walk(part, path + name, seen, found)

    def parts(value):
        if isinstance(value, dict):
            yield from ((f", key of {{len(value)}}", one) for one in list(value))
            yield from ((f"[{{one!r}}]", part) for one, part in list(value.items()))
        elif isinstance(value, (list, tuple, set, frozenset)):
            yield from ((f"[{{i}}]", part) for i, part in enumerate(list(value)))
        elif isinstance(value, types.FunctionType):
            yield from ((" closure", cell.cell_contents) for cell in value.__closure__ or ())
        elif type(value).__module__.startswith("gdbcuda.live"):
            yield from (("." + name, part) for name, part in getattr(value, "__dict__", {{}}).items())

    found, seen = [], set()
    for name, module in list(sys.modules.items()):
        if name.startswith("gdbcuda.live") and type(module) is types.ModuleType:
            for attribute, value in list(vars(module).items()):
                if not isinstance(value, types.ModuleType):
                    walk(value, f"{{name}}.{{attribute}}", seen, found)
    print("KNOWN " + json.dumps(found))
"""


@pytest.fixture
def walk(tmp_path: Path) -> str:
    """The command that prints who knows a number from FIRST on, in all modules of the extension. (What had to wait for
    the prompt, which gdb does not come to here, is done before a command of ours: gdb 10 to 12.)"""
    script = tmp_path / "walk.py"
    script.write_text(textwrap.dedent(WALK.format(first=FIRST)))
    return f"python gdb.execute('cuda-guards'); gdb.execute('source {script}')"


def known(text: str) -> list[dict[int, set[str]]]:
    """Of each walk, who knows which number."""
    found = []
    for line in text.splitlines():
        if line.startswith("KNOWN "):
            by_number: dict[int, set[str]] = {}
            for number, path in json.loads(line.removeprefix("KNOWN ")):
                by_number.setdefault(number, set()).add(path)
            found.append(by_number)
    return found


def of_ours(found: dict[int, set[str]]) -> dict[int, set[str]]:
    """0 is a breakpoint that gdb has deleted, and somebody holds on to."""
    return {number: paths for number, paths in found.items() if number in (0, FIRST, FIRST + 1, FIRST + 2)}


BEFORE = f"python [gdb.Breakpoint('*0').delete() for i in range({FIRST - 1})]"
THREE = (
    "cuda-break cuMemAlloc --count if bytesize > 1M && every 1",
    "cuda-break cuMemFree --on return",
    "cuda-break cuMemFree --in driver",
    "break exit",
)
DELETE = f"delete {FIRST} {FIRST + 1} {FIRST + 2}"


def test_nothing_knows_a_deleted_breakpoint(scenario: Scenario, walk: str) -> None:
    """One counts calls, one waits for a return that is yet to come, one has just stopped."""
    words = (BEFORE, *THREE, "RUN", "continue 3", walk, DELETE, "continue", walk)
    text = scenario.run("test_alloc", *words)
    before, after = known(text)
    assert before.keys() >= {FIRST, FIRST + 1, FIRST + 2}, text  # the walk finds what there is
    assert of_ours(after) == {}, text


def test_nothing_knows_one_that_gdb_has_deleted(scenario: Scenario, walk: str) -> None:
    """At its stop."""
    text = scenario.run("test_alloc", BEFORE, "cuda-break cuMemAlloc --once if nth == 2", walk, "RUN", walk)
    before, after = known(text)
    assert f"\nBreakpoint {FIRST}  hook" in text
    assert FIRST in before and of_ours(after) == {}, after


def test_nothing_knows_one_that_is_deleted_when_the_process_is_gone(local: Scenario, walk: str) -> None:
    ends = ("kill", walk, DELETE, walk)
    before, after = known(local.run("test_alloc", BEFORE, *THREE, "run", "continue 3", *ends))
    assert before.keys() >= {FIRST, FIRST + 1, FIRST + 2}
    assert of_ours(after) == {}, after
