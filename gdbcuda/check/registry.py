"""The decorator that makes a function a check. One function, one finding, one place.

@check("exec-stack", "warning", LIBRARY, means="...", do="...")
def executable_stack(subject: Subject) -> Answer:
    return "what was seen" if ... else None
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Callable, NamedTuple, Union

from gdbcuda.check.finding import SEVERITIES, Finding
from gdbcuda.check.subjects.subject import Subject
from gdbcuda.errors import UserError
from gdbcuda.packages import load_all

# What a check looks at: every file; a hook library; a program; a program together with a hook library.
ANY, LIBRARY, PROGRAM, PAIR = "any", "library", "program", "pair"


class Answered(NamedTuple):
    """An answer that says more than what was seen: what is given replaces what the decorator says."""

    seen: str
    do: str = ""
    means: str = ""
    severity: str = ""
    verdict: str = ""


Answer = Union[None, str, Answered]
_Function = Callable[[Subject], Answer]


class Check(NamedTuple):
    id: str
    severity: str
    on: str
    means: str
    do: str
    verdict: str
    fatal: bool
    instead_of: str
    run: _Function


CHECKS: dict[str, Check] = {}


def check(
    id: str, severity: str, on: str, *, means: str, do: str = "", verdict: str = "", fatal: bool = False,
    instead_of: str = "",
) -> Callable[[_Function], _Function]:  # fmt: skip
    """Registers a function that returns None, or what it saw. ``fatal``: nothing runs, tell it first. ``instead_of``:
    the check of one file that this one of a pair says better."""
    assert severity in SEVERITIES and id not in CHECKS, id

    def register(function: _Function) -> _Function:
        CHECKS[id] = Check(id, severity, on, means, do, verdict, fatal, instead_of, function)
        return function

    return register


def load_checks() -> dict[str, Check]:
    """Every check of every file in ``checks/``."""
    from gdbcuda.check import checks

    load_all(checks)
    return CHECKS


def findings(subject: Subject, on: tuple[str, ...]) -> Iterator[Finding]:
    """What the checks find; a part of the file that cannot be read is a finding, once."""
    damaged: list[str] = []
    said: set[str] = set()
    chosen = [each for each in load_checks().values() if each.on in on]
    for each in sorted(chosen, key=lambda each: each.on != PAIR):  # what is asked about a pair comes first
        try:
            answer = each.run(subject)
        except UserError as problem:
            damaged.append(str(problem))
            continue
        if answer is not None and each.id not in said:
            said.add(each.instead_of)
            yield _finding(each, answer if isinstance(answer, Answered) else Answered(answer))
    for message in dict.fromkeys(damaged):
        yield Finding(
            "damaged", "error", message,
            "this part of the file is not what its headers say: gdb will stumble over it too",
            "link it again, or copy it again and compare with `sha256sum`", "damaged",
        )  # fmt: skip


def _finding(each: Check, answer: Answered) -> Finding:
    """A finding that is milder here than the check is has nothing fatal, and not the check's verdict."""
    severity = answer.severity or each.severity
    is_as_said = severity == each.severity
    return Finding(
        each.id, severity, answer.seen, answer.means or each.means,
        answer.do or each.do, answer.verdict or (each.verdict if is_as_said else ""), each.fatal and is_as_said,
    )  # fmt: skip
