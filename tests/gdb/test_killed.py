"""Somebody else kills the program while it stands."""

from __future__ import annotations

import pytest
from scenario import Scenario, is_before_13

KILL = (
    "python import os, time; pid = gdb.selected_inferior().pid; os.kill(pid, 9)",
    "python while ') Z ' not in open(f'/proc/{pid}/stat').read(): time.sleep(0.001)",
)


def test_a_program_that_was_killed_is_said_to_be_dead(local: Scenario) -> None:
    """Once; and what gdb bears then is to kill it."""
    text = local.run("test_alloc", "cuda-break cuMemGetInfo", "run", "cuda-guards", *KILL, "cuda-guards", "cuda-guards",
                     "kill", "run", "cuda-guards")  # fmt: skip
    before, said, behind = text.partition("is dead: somebody, or the kernel for want of memory, has killed it. kill, ")
    assert said and "is dead" not in before + behind
    assert text.count("called by app show_memory()") == 2


def test_a_program_that_has_gone_behind_gdbs_back_is_said_to_be_over(local: Scenario) -> None:
    """Where threads come to breakpoints meanwhile gdb fails in the middle of the end that it has taken from the kernel;
    here that is taken in its place."""
    if is_before_13():
        pytest.skip("gdb before 12 does not tell what it is connected to")
    text = local.run("test_alloc", "cuda-break cuMemGetInfo", "run", *KILL, "python os.waitpid(pid, 0)", "cuda-guards",
                     "kill", "run")  # fmt: skip
    assert text.count("is over, and gdb has not heard of its end: kill, then run\n") == 1
    assert text.count("called by app show_memory()") == 2
