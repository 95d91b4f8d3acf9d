"""A guarded breakpoint with several places: two hook libraries that define the same function."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from guard_programs import CALLS, HOOK
from scenario import Scenario

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")


def test_a_count_over_several_places_is_one(scenario: Scenario, compile_c, tmp_path: Path) -> None:
    """Each trampoline counted for itself, and the fourth call went by."""
    first = compile_c("libfirsthook.so", HOOK, "-shared")
    second = compile_c("libsecondhook.so", HOOK, "-shared", "-Wl,-soname,libsecondhook.so")
    late = compile_c("liblate.so", "int late;", "-shared")
    program = compile_c("program", CALLS, "-O1", f'-DLIBRARY="{late}"', str(second), f"-Wl,-rpath,{tmp_path}",
                        "-pthread", "-ldl")  # fmt: skip
    words = ("tbreak main", "RUN", "cuda-break cuMemAlloc if bytesize >= 1T && nth == 4", "continue")
    text = scenario.run(program, *words, hook=first, arguments=("1", "1000", "10"))
    assert "libsecondhook.so, hook libfirsthook.so" in text, "two places"
    assert "not guarded: it counts calls at several places" in text
    assert re.findall(r"bytesize=(\d+) \[", text) == [str((1 << 40) + 1000 + 3)]
