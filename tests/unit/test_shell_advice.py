"""What gdb's prompt advises is said in a shell as it is typed there."""

from __future__ import annotations

import pytest
from forking_gdbcuda import run_gdbcuda

from gdbcuda.shell.fault import gdb_run

ADVICE = {
    "cuda-fail: no option --xx (see: help cuda-fail)": "cuda-fail: no option --xx (see: gdbcuda help faults)",
    "no such word (cuda-help conditions)": "no such word (gdbcuda help conditions)",
    "cuda-delay: TIME is missing": "cuda-delay: TIME is missing",
}


@pytest.mark.parametrize("said", ADVICE)
def test_what_a_fault_s_command_says(said: str) -> None:
    assert gdb_run.in_shell(said) == ADVICE[said]


def test_the_page_is_there() -> None:
    assert run_gdbcuda("help", gdb_run.PAGE).stdout.startswith("When the driver fails\n")
