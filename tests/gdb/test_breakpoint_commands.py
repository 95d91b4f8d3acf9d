"""A breakpoint whose ``commands`` let the program go on, at a terminal: as in a gdb without the extension.

A handler of gdb's events that executes a command runs the breakpoint's own there and then, and gdb never prompts again.
That no handler does so is held by every scenario (`gdb_cli.execute` refuses); here it is what a user would see of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from scenario import Scenario
from terminal import Typist

SQUARES = """
#include <stdio.h>
int square(int a) { return a * a; }
int main(void)
{
    int sum = 0;
    for (int i = 0; i < 5; i++)
        sum += square(i);
    printf("sum %d\\n", sum);
    return 0;
}
"""
ALLOCATED = "CUresult 0"  # test_alloc writes it behind each allocation


@pytest.fixture
def typist(local: Scenario) -> Iterator[Typist]:
    one = Typist(local.environment(), str(local.sample("test_alloc")), in_full=local.in_full)
    yield one
    one.end()


@pytest.fixture(scope="module")
def plain(shim: Path) -> str:
    """What the program says where no breakpoint is."""
    return Scenario(shim).run("test_alloc", "run")


def with_commands(one: Typist, number: int, *lines: str) -> str:
    return one.type(f"commands {number}", *lines, "end")


@pytest.mark.smoke("words0")
@pytest.mark.parametrize("words", [("silent", "print a", "continue"), ("continue",)])
def test_a_program_without_cuda(local: Scenario, compile_c, words: tuple[str, ...]) -> None:
    one = Typist(local.environment(), str(compile_c("squares", SQUARES)), in_full=local.in_full)
    one.type("break square")
    with_commands(one, 1, *words)
    shown = one.type("run")
    assert "sum 30" in shown and "exited normally" in shown
    assert "already hit 5 times" in one.type("info breakpoints")
    one.end()


EVERYTHING = ("cuda-log start 'cuMem*'", "cuda-dlsym log on", "set cuda-memory-stop on", "set cuda-recursion-limit 50")


@pytest.mark.smoke("on return", "with all that listens")
@pytest.mark.parametrize("first", [(), EVERYTHING], ids=["alone", "with all that listens"])
@pytest.mark.parametrize("breakpoint", [
    "break cuMemAlloc_v2",
    "cuda-break cuMemAlloc",
    "cuda-break cuMemAlloc if bytesize > 1",
    "cuda-break cuMemAlloc --on return",
    "cuda-break cuMemAlloc --in driver --from any",
    "cuda-dlsym break 'cuMem*'",
])  # fmt: skip
def test_a_hook_library(
    local: Scenario, typist: Typist, plain: str, breakpoint: str, first: tuple[str, ...]
) -> None:
    typist.type(local.load(local.hook), *first, breakpoint)
    with_commands(typist, 1, "silent", "printf \"at %d\\n\", 1", "continue")
    shown = typist.type("run")
    assert "exited normally" in shown
    assert re.findall("CUresult [0-9]+", shown) == re.findall("CUresult [0-9]+", plain)
    assert "at 1" in shown or "dlsym" in breakpoint


@pytest.mark.parametrize("breakpoint", ["cuda-break cuMemAlloc", "cuda-break cuMemAlloc --on return",
                                        "break cuMemAlloc_v2"])  # fmt: skip
def test_silent_silences_what_we_say_as_well(local: Scenario, typist: Typist, breakpoint: str) -> None:
    """As gdb: where it is the first of the commands, and at the stops of that breakpoint alone."""
    typist.type(local.load(local.hook), breakpoint)
    with_commands(typist, 1, "silent", "printf \"at %d\\n\", 1")
    shown = typist.type("run")
    assert "at 1" in shown and "bytesize=" not in shown
    assert "bytesize" in typist.type("cuda-call")
    with_commands(typist, 1, "printf \"at %d\\n\", 1", "silent")
    shown = typist.type("continue")
    assert "Breakpoint 1  " in shown and "bytesize=" in shown


def test_silent_silences_stops_on_requests_too(local: Scenario, typist: Typist) -> None:
    typist.type(f"file {local.sample('dlsym_alloc')}", local.load(local.hook), "cuda-dlsym break cuMem*")
    with_commands(typist, 1, "silent", "printf \"at %d\\n\", 1")
    shown = typist.type("run")
    assert "at 1" in shown and "asked for" not in shown
    with_commands(typist, 1, "printf \"at %d\\n\", 1")
    assert "dlsym asked for cuMem" in typist.type("continue")


def test_step_and_finish_among_the_commands(local: Scenario, typist: Typist) -> None:
    """Behind the first that lets the program go on gdb executes none."""
    typist.type(local.load(local.hook), "cuda-break cuMemAlloc if bytesize > 1")
    with_commands(typist, 1, "finish")
    assert "= CUDA_SUCCESS" in typist.type("run")
    with_commands(typist, 1, "step")
    typist.type("continue")
    assert "[hook libgdbcuda-hook.so]" in typist.type("bt 1")
    typist.type("delete")
    assert "exited normally" in typist.type("continue")


def test_commands_that_only_look(local: Scenario, typist: Typist, tmp_path: Path) -> None:
    log = f"cuda-log start cuMemAlloc cuMemFree --to {tmp_path / 'calls.jsonl'}"
    typist.type(local.load(local.hook), log, "cuda-break cuMemAlloc")
    with_commands(typist, 1, "cuda-call", "bt 2")
    shown = typist.type("run")
    assert shown.index("Breakpoint 1") < shown.index("bytesize  size_t") < shown.index("#1")
    typist.type("delete")
    assert "exited normally" in typist.type("continue")
