"""cuda-coverage in a real gdb: what of the hook library the session's log has reached."""

from __future__ import annotations

import json
import re
from pathlib import Path

from scenario import Scenario


def test_what_was_reached(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "cuda-log start", "RUN", "cuda-coverage")
    assert "libgdbcuda-hook.so: 9 of 1453 functions reached, in 15 calls\nBy which way: by name 15\n" in text
    assert re.search(r"^cuMem +73 +3 +9 +0$", text, re.MULTILINE)
    assert "went past" not in text


def test_of_a_log_and_in_a_shell_it_is_the_same(local: Scenario, tmp_path: Path) -> None:
    text = local.run("test_alloc", "cuda-log start", "RUN", f"cuda-coverage --json --lcov {tmp_path}/hook.info")
    found = json.loads(next(line for line in text.splitlines() if line.startswith('{"hook"')))
    calls = {one["function"]: one["calls"] for one in found["functions"] if one["calls"]}
    assert (calls["cuMemAlloc_v2"], calls["cuMemGetInfo_v2"], found["reached"]) == (3, 3, len(calls))
    assert "FNDA:3,cuMemAlloc_v2" in (tmp_path / "hook.info").read_text().splitlines()


def test_nothing_recorded_and_no_hook(local: Scenario) -> None:
    text = local.run("test_alloc", "cuda-coverage", "cuda-coverage --json", hook=None)
    assert "Nothing is recorded: cuda-log start" in text
    assert "cuda-coverage: nothing is recorded: cuda-log start" in text.splitlines(), "no JSON is an error"
    text = local.run("test_alloc", "cuda-log start", "RUN", "cuda-coverage", hook=None)
    wanted = "cuda-coverage: no hook library has a call in the log; name one: cuda-coverage ./libhook.so"
    assert wanted in text.splitlines(), text


def test_what_was_not_recorded_is_not_said_to_be_unreached(scenario: Scenario, tmp_path: Path) -> None:
    """cuInit was called, as every program does."""
    text = scenario.run("test_alloc", "cuda-log start cuMemAlloc cuMemsetD8", "RUN", "cuda-coverage --json",
                        f"cuda-coverage --lcov {tmp_path}/hook.info", "cuda-coverage --all")  # fmt: skip
    flat = " ".join(text.split())
    assert re.search(r"Never reached: [^:]*cuMemsetD8_v2\b", flat)
    assert not re.search(r"Never reached: [^:]*cuInit\b", flat)
    assert re.search(r"Not known of 14\d\d functions, whose calls were not all recorded: \w", flat)
    found = json.loads(next(line for line in text.splitlines() if line.startswith('{"hook"')))
    known = {one["function"] for one in found["functions"] if one["known"]}
    assert {"cuMemAlloc_v2", "cuMemFree_v2", "cuMemsetD8_v2"} <= known and "cuInit" not in known
    assert "FNDA:0,cuInit" not in (tmp_path / "hook.info").read_text()
