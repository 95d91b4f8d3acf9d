"""gdbcuda trace -p: the one line of what gdb said that tells why nothing is recorded."""

from __future__ import annotations

import pytest

from gdbcuda.shell.trace import attached

DETACHED = "[Inferior 1 (process 7) detached]\n"
MISSING = "missing pygments: python3 -m venv .venv"


@pytest.mark.parametrize(("said", "why"), [
    (f"gdbcuda: {MISSING}\nUndefined command: \"cuda-log\".  Try \"help\".\n{DETACHED}", MISSING),
    (f"gdbcuda: libh.so is a hook library\ncuda-log start: there is no call\n{DETACHED}", "there is no call"),
    (f"ptrace: Operation not permitted.\n{DETACHED}", "ptrace: Operation not permitted."),
    ("", "gdb could not put the recorder into it: it says nothing"),
])  # fmt: skip
def test_why(said: str, why: str) -> None:
    assert attached.why(said, was_ended=False) == why


def test_who_ends_it_early_is_told_nothing_of_the_program() -> None:
    assert attached.why("", was_ended=True).startswith("this ended before gdb")
    assert attached.why("", was_ended=False, was_late=True) == "gdb saw no call of the API in this time"
    assert attached.why(f"gdbcuda: {MISSING}", was_ended=False, was_late=True) == MISSING


def test_calls_that_could_not_be_noted_are_not_said_never_to_have_been_made() -> None:
    """What the recorder says of a program that may confine itself is passed on, and heeded at the end."""
    careful = "What pointers lead to, and threads that had made no call, are not recorded: train makes system calls."
    remarks = attached.REMARKS.findall(f"Recording 3 functions, 5 places.\n{careful}\n{DETACHED}")
    assert remarks == [careful]
    assert attached.why_nothing(7, remarks).startswith("no thread of process 7 had made a call before")
    assert attached.why_nothing(7, []) == "process 7 has made no call of these functions meanwhile"
