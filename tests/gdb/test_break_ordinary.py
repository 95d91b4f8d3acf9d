"""cuda-break's are gdb's own breakpoints: commands, ignore, once, switched places, hit counts."""

from __future__ import annotations

import re

import pytest
from scenario import ROOT, Scenario
from test_break import enabled_rows


def test_ordinary_breakpoint_in_every_respect(local: Scenario) -> None:
    text = local.run(
        "test_alloc",
        "cuda-break cuMemAlloc",
        "ignore 1 1",
        "python gdb.execute('commands 1\\nsilent\\necho COMMANDS RAN\\\\n\\nend')",
        "run",
        "info breakpoints",
        "disable 1",
        "continue",
    )
    assert "COMMANDS RAN" in text
    assert "breakpoint already hit 2 times" in text
    assert "exited" in text


def test_once_is_temporary(local: Scenario) -> None:
    text = local.run("test_alloc", "cuda-break cuMemAlloc --once", "run", "info breakpoints", "continue")
    assert text.count("Breakpoint 1  hook") == 1
    assert "No breakpoints" in text


def test_user_may_switch_a_location_back_on(local: Scenario) -> None:
    text = local.run("test_alloc", "cuda-break cuMemAlloc", "run", "enable 1.1", "continue", "info breakpoints")
    assert len(enabled_rows(text)) == 2


def test_what_the_user_switched_stays_so_in_the_next_run(local: Scenario) -> None:
    there = ("break main", "cuda-break cuMemAlloc", "run")
    text = local.run("test_alloc", *there, "enable 2.1", "disable 2.2", "run", "info breakpoints")
    assert [row.partition(" ")[0] for row in enabled_rows(text)] == ["1", "2.1"]
    again = local.run("test_alloc", *there, "disable 2.2", "enable 2.2", "run", "continue")
    assert again.count("Breakpoint 2  hook libgdbcuda-hook.so  cuMemAlloc_v2(") == 1


def test_the_stop_names_the_breakpoint_whose_condition_was_true(scenario: Scenario) -> None:
    text = scenario.run(
        "test_alloc",
        "cuda-break cuMemAlloc if bytesize < 1G",
        "cuda-break cuMemAlloc if bytesize > 1G",
        "RUN",
        "continue",
        "continue",
    )
    found = re.findall(r"^Breakpoint (\d)  hook .*bytesize=(\d+)", text, re.MULTILINE)
    assert found == [("1", "67108864"), ("2", "1073741825"), ("2", "3221225472")]


@pytest.mark.parametrize("guard", ["on", "off"])
def test_a_function_that_the_compiler_has_parted(local: Scenario, compile_c, guard: str) -> None:
    """gcc makes a function of what is behind an early return, and puts it back: gdb has a second place there."""
    template = ROOT / "gdbcuda" / "shell" / "new_hook" / "template"
    source = '#include "hook.c"\n#include "resolve.c"\n'
    hook = compile_c("libparted.so", source, "-shared", "-O2", f"-I{template}", "-ldl")
    words = ("cuda-break cuMemAlloc if bytesize > 1G", "RUN", "continue", "info breakpoints")
    again = ("enable 1.3", "run", "info breakpoints")
    text = local.run("test_alloc", f"set cuda-guard {guard}", *words, *again, hook=hook)
    sizes = re.findall(r"^Breakpoint 1  hook libparted.so  cuMemAlloc_v2\(.*bytesize=(\d+)", text, re.MULTILINE)
    assert sizes[:2] == ["1073741825", "3221225472"], text
    places = re.findall(r"^1\.\d +([yn]) .* in cuMemAlloc_v2 at \S*hook.c:", text, re.MULTILINE)
    assert places in (["y", "n", "y", "y"], ["y"] * 2), text  # of what the user has enabled nothing is undone
