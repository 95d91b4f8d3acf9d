"""Where gdb is to read no library by itself (`set auto-solib-add off`), it reads those with recorded functions."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from scenario import Scenario
from test_fast_log import lists_locations, placed, told

__all__ = ["placed"]
pytestmark = [
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the recorder is made for x86-64"),
    pytest.mark.skipif(not lists_locations(), reason="--fast needs a gdb that tells where its breakpoints are"),
]
UNREAD = "set auto-solib-add off"


@pytest.mark.parametrize("how", ["--fast", ""])
def test_the_same_log_as_where_gdb_reads_all(placed: Scenario, tmp_path: Path, how: str) -> None:
    read, unread = tmp_path / "read", tmp_path / "unread"
    placed.run("test_alloc", f"cuda-log start {how} --to {read}", "RUN")
    placed.run("test_alloc", UNREAD, f"cuda-log start {how} --to {unread}", "RUN")
    assert len(told(read)) >= 10
    assert told(unread) == told(read)


def test_what_has_no_recorded_functions_stays_unread(placed: Scenario) -> None:
    text = placed.run("test_alloc", UNREAD, "break show_memory", "cuda-log start --fast", "RUN", "info sharedlibrary")
    found = {name: word for word, name in re.findall(r" (Yes|No) .*?([^/\s]+)$", text, re.MULTILINE)}
    assert found["libcuda.so.1"] == found["libgdbcuda-hook.so"] == "Yes", text
    assert found["libgdbcuda.so"] == found["ld-linux-x86-64.so.2"] == "No", text


def test_a_library_that_comes_later(placed: Scenario) -> None:
    text = placed.run("nvml_dlopen", UNREAD, "cuda-log start --fast", "RUN", "cuda-log show")
    assert re.search(r"#\d+ .*nvmlInit_v2", text) and "exited normally" in text, text


def test_each_run_has_its_own(local: Scenario) -> None:
    start = "cuda-log start --fast cuMemAlloc --in driver"
    elsewhere = "set disable-randomization off"
    text = local.run("test_alloc", UNREAD, start, elsewhere, "run", "run", "run", "cuda-log stop")
    assert re.search(r"\b18 calls kept", text), text


def test_from_a_stop_on(local: Scenario) -> None:
    text = local.run("test_alloc", UNREAD, "cuda-load", "tbreak main", "run", "cuda-log start --fast cuMemAlloc",
                     "continue", "cuda-log")  # fmt: skip
    assert re.search(r"\b12 calls kept", text), text


def test_behind_an_exec(placed: Scenario, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(f"exec {placed.sample('test_alloc')}\n")
    start = "cuda-log start --fast cuMemAlloc"
    text = placed.run(Path("/bin/sh"), UNREAD, start, "RUN", "cuda-log stop", arguments=(str(script),))
    assert re.search(r"\b12 calls kept", text), text
