"""Somebody else kills the program while it stands."""

from __future__ import annotations

from scenario import Scenario

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
