"""Hook functions that end up in themselves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scenario import Scenario

pytestmark = pytest.mark.files_here

CYCLE = """
int cuDeviceGet(int *d, int n);
int cuInit(unsigned f) { int d = 0; return cuDeviceGet(&d, f); }
int cuDeviceGet(int *d, int n) { return cuInit(n + 1) + *d; }
"""


@pytest.fixture
def cycle(compile_c) -> Path:
    return compile_c("libcycle.so", CYCLE, "-shared")


@pytest.mark.smoke
def test_the_limit_stops_with_the_cycle(scenario: Scenario, cycle: Path) -> None:
    text = scenario.run("test_alloc", "set cuda-recursion-limit 20", "RUN", "info breakpoints", hook=cycle)
    assert "Recursion: hook libcycle.so cuInit is nested 21 deep on thread 1: cuInit -> cuDeviceGet -> cuInit" in text
    assert re.search(r"^1 +breakpoint +keep y .* in cuInit at", text, re.MULTILINE)
    assert "SIGSEGV" not in text


def test_it_goes_on_to_the_next_time(local: Scenario, cycle: Path) -> None:
    text = local.run("test_alloc", "set cuda-recursion-limit 20", "run", "continue", "continue", hook=cycle)
    assert "cuDeviceGet is nested 21 deep on thread 1: cuDeviceGet -> cuInit -> cuDeviceGet" in text
    assert "cuInit is nested 41 deep" in text


def test_switched_off_it_leaves_nothing(local: Scenario, cycle: Path) -> None:
    text = local.run("test_alloc", "set cuda-recursion-limit 20", "run", "set cuda-recursion-limit 0",
                     "info breakpoints", hook=cycle)  # fmt: skip
    assert "No breakpoints" in text


@pytest.mark.parametrize(("program", "hook"), [("dlsym_alloc", "wrong/recursing_dlsym.so")])
def test_a_full_stack_is_explained_without_any_setting(scenario: Scenario, program: str, hook: str) -> None:
    text = scenario.run(program, "RUN", hook=scenario.sample(hook))
    assert "SIGSEGV" in text
    assert "Recursion: the stack is used up by one cycle, innermost last: hook recursing_dlsym.so dlsym() -> " in text


CHATTY = """
#define _GNU_SOURCE
#include <dlfcn.h>
int cuInit(unsigned f) { return ((int (*)(unsigned))dlsym(RTLD_DEFAULT, "cuInit"))(f) + 1; }
"""


def test_a_full_stack_that_ends_in_something_that_the_cycle_calls(local: Scenario, compile_c) -> None:
    """What the cycle calls needs the most stack, here the loader's search for a name."""
    text = local.run("test_alloc", "run", "bt 1", hook=compile_c("libchatty.so", CHATTY, "-shared"))
    assert "SIGSEGV" in text
    assert "innermost last: hook libchatty.so cuInit() -> hook libchatty.so cuInit()" in text


def test_a_full_stack_in_a_library_that_was_not_named(local: Scenario, compile_c) -> None:
    """The user preloads it beside the one under debug."""
    other = f"set exec-wrapper env LD_PRELOAD={compile_c('libchatty.so', CHATTY, '-shared')}"
    text = local.run("test_alloc", other, f"cuda-load {local.sample('minimal_hook.so')}", "run", hook=None)
    assert "innermost last: hook libchatty.so cuInit() -> hook libchatty.so cuInit()" in text


def test_another_crash_is_not_called_recursion(local: Scenario, compile_c) -> None:
    hook = compile_c("libcrash.so", "int cuInit(unsigned f) { return *(volatile int *)8 + (int)f; }", "-shared")
    text = local.run("test_alloc", "run", hook=hook)
    assert "SIGSEGV" in text and "Recursion" not in text


def test_a_hook_without_recursion_runs_on(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "set cuda-recursion-limit 3", "RUN")
    assert "exited normally" in text and "Recursion" not in text


def test_a_rerun(local: Scenario, cycle: Path) -> None:
    text = local.run("test_alloc", "set cuda-recursion-limit 20", "run", "run", hook=cycle)
    assert text.count("cuInit is nested 21 deep") == 2
    assert "Cannot insert" not in text
