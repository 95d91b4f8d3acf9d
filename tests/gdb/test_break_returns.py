"""cuda-break --on return and --on error: the returns of the calls that are meant, and no others."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from guard_programs import HOOK
from scenario import Scenario
from test_guard import ON
from test_shown_calls import MANY


def test_survives_a_second_run_with_a_return_breakpoint(local: Scenario) -> None:
    text = local.run("test_alloc", "cuda-break cuMemAlloc --on return", "run", "run")
    assert "Cannot insert" not in text
    assert text.count("= CUDA_SUCCESS") == 2


@pytest.mark.smoke("local")
def test_on_error_shows_the_name(scenario: Scenario) -> None:
    text = scenario.run(
        "test_alloc", "cuda-break cuMemAlloc --on error", "RUN", "cuda-call", environment={"GDBCUDA_MEMORY_LIMIT": "2g"}
    )
    assert re.search(
        r"Breakpoint 1  hook \S+  cuMemAlloc_v2\(.*bytesize=3221225472 \[3\.00 GiB\]\) = "
        r"CUDA_ERROR_OUT_OF_MEMORY \(2\)\n +returned to app allocate_buffer\(\)",
        text,
    )
    assert text.count("Breakpoint 1  hook") == 1  # the two that were granted did not stop


def test_on_return_shows_out_values(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "cuda-break cuMemAlloc --on return", "RUN")
    assert re.search(r"cuMemAlloc_v2\(dptr=0x\w+ -> 0x\w+, bytesize=67108864 \[64\.00 MiB\]\) = CUDA_SUCCESS", text)


def test_on_error_respects_the_entry_condition(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "cuda-break cuMemAlloc --on return if bytesize > 2G", "RUN")
    assert "bytesize=3221225472" in text
    assert "bytesize=67108864" not in text


def test_two_breakpoints_that_wait_for_one_return(scenario: Scenario) -> None:
    """Both are named; one that is to be silent is not."""
    words = ("cuda-break cuMemAlloc --on return if bytesize > 0", "cuda-break cuMemAlloc --on return", "RUN")
    text = scenario.run("test_alloc", *words, "python gdb.breakpoints()[0].commands = 'silent'", "continue")
    assert re.findall(r"^Breakpoint ([\d, ]+)  hook .* = CUDA_SUCCESS", text, re.MULTILINE) == ["1, 2", "2"], text


def test_deleting_takes_the_return_breakpoints_too(local: Scenario) -> None:
    text = local.run(
        "test_alloc", "cuda-break cuMemAlloc --on return", "run", "delete 1", "continue", "info breakpoints"
    )
    assert "No breakpoints" in text or "\n2 " not in text.rpartition("Num     Type")[2]


@pytest.mark.parametrize(("deleted", "stops"), [("1", ["2"]), ("1 2", [])])
def test_deleting_ends_the_wait_of_calls_that_are_open(scenario: Scenario, deleted: str, stops: list[str]) -> None:
    """Two wait for the return of the call that is in the driver now."""
    twice = ("cuda-break cuMemAlloc --on return", "cuda-break cuMemAlloc --on return if bytesize < 128M")
    words = (*twice, "cuda-break cuMemAlloc --in driver --once", "RUN", f"delete {deleted}", "continue")
    text = scenario.run("test_alloc", *words)
    assert "Breakpoint 3  driver" in text
    assert re.findall(r"^Breakpoint (\d+)  hook .* = CUDA_SUCCESS", text, re.MULTILINE) == stops


@pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")
def test_deleted_while_its_calls_go_on(local: Scenario, compile_c, tmp_path: Path) -> None:
    """No prompt comes before the next call returns there: nobody waits for it, so that the place falls silent. The
    guard keeps what gdb has in the process there at stops too."""
    hook = compile_c("libguardhook.so", HOOK, "-shared")
    program = compile_c("program", MANY, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}")
    never, returns = "cuda-break cuMemAlloc if bytesize >= 4T", "cuda-break cuMemAlloc --on return if bytesize >= 1T"
    after = ("delete 2", "tbreak half", "continue", "continue")
    text = local.run(program, ON, never, returns, "RUN", *after, hook=hook)
    assert "returned to app ask()" in text and "exited normally" in text, text


def test_commands_run_where_the_calls_return(local: Scenario) -> None:
    """That is another breakpoint, but the user has given them to the one that cuda-break has named."""
    before = ("cuda-break cuMemAlloc --on return", "python gdb.execute('commands 1\\necho ONE\\\\n\\nend')", "run")
    after = ("python gdb.execute('commands 1\\necho TWO\\\\n\\nend')", "continue")
    text = local.run("test_alloc", *before, *after, "python gdb.execute('commands 1\\nend')", "continue")
    assert text.count("= CUDA_SUCCESS") == 3 and (text.count("ONE\n"), text.count("TWO\n")) == (1, 1)


def test_ignore_counts_the_returns(scenario: Scenario) -> None:
    """Of three calls the third; then info breakpoints has nothing left to ignore."""
    words = ("cuda-break cuMemAlloc --on return", "ignore 1 2", "RUN", "info breakpoints", "continue")
    text = scenario.run("test_alloc", *words)
    assert text.count("= CUDA_SUCCESS") == 1 and "\tignore next" not in text.rpartition("Num     Type")[2], text
    assert "exited" in text


def test_on_error_catches_the_call_that_we_are_in(scenario: Scenario) -> None:
    text = scenario.run(
        "test_alloc",
        "cuda-break cuMemAlloc --once if bytesize > 2G",
        "RUN",
        "cuda-break cuMemAlloc --on error",
        "continue",
        environment={"GDBCUDA_MEMORY_LIMIT": "2g"},
    )
    assert re.search(r"Breakpoint 2  hook .*bytesize=3221225472.* = CUDA_ERROR_OUT_OF_MEMORY \(2\)", text)


JUMPING_HOOK = """
extern void leave(unsigned long);
int cuMemAlloc_v2(unsigned long long *block, unsigned long size) { leave(size); return size == 2 ? 2 : 0; }
"""
JUMPING_PROGRAM = """
#include <setjmp.h>
extern int cuMemAlloc_v2(unsigned long long *, unsigned long);
static jmp_buf back;
static volatile int result;
void leave(unsigned long size) { if (size == 1) longjmp(back, 1); }
static unsigned long long block;
static void ask(unsigned long size) { if (!setjmp(back)) result = cuMemAlloc_v2(&block, size); }
int main(void) { ask(1); ask(2); ask(1); ask(3); return 0; }
"""


def test_a_call_left_by_longjmp_is_not_the_one_that_returns(scenario: Scenario, compile_c) -> None:
    hook = compile_c("libjumping.so", JUMPING_HOOK, "-shared")
    program = compile_c("jumping", JUMPING_PROGRAM, "-rdynamic", str(scenario.shim / "standin" / "libcuda.so.1"))
    text = scenario.run(program, "cuda-break cuMemAlloc --on return", "RUN", "continue", "continue", hook=hook)
    assert re.findall(r"^Breakpoint 1 .*bytesize=(\d+)\) = (\w+)", text, re.MULTILINE) == [
        ("2", "CUDA_ERROR_OUT_OF_MEMORY"),
        ("3", "CUDA_SUCCESS"),
    ]
