"""The decorator that makes a function a group of cases.

@contract("status", means="...")
def statuses(bench: Bench) -> Iterator[Case]:
    yield Case("status", "cuMemAlloc_v2", run)

def run(bench: Bench) -> Iterable[Broken]:
    with bench.copy() as program:                   # a process of its own
        program.call("cuMemAlloc_v2", address, arguments) ...
    return [] if ... else [Broken("what is wrong", "an example of it")]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Callable, NamedTuple

from gdbcuda.contract.c_programs.showing_program import Shown
from gdbcuda.packages import load_all

if TYPE_CHECKING:
    from gdbcuda.contract.bench import Bench


class Broken(NamedTuple):
    """``what`` is the same in each run with any seed, and what an allow file holds behind the case's name; ``example``
    shows it with the values of this run, as does the C program that ``shown`` makes of a title, the hook library and
    the folder of the stand-in."""

    what: str
    example: str = ""
    shown: Shown | None = None


class Case(NamedTuple):
    """``about`` is the API function, or what else it is about; ``run`` may let `endings.Ended` through, for a crash or
    a hang is a finding. One that ``is_long`` comes after the others of its group, and ends by `Bench.until`."""

    group: str
    about: str
    run: Callable[[Bench], Iterable[Broken]]
    is_long: bool = False

    @property
    def name(self) -> str:
        return f"{self.group}/{self.about}"

    def matches(self, pattern: str) -> bool:
        """A glob over GROUP/ABOUT, or over one of the two."""
        return any(fnmatchcase(text, pattern) for text in (self.name, self.group, self.about))


class Group(NamedTuple):
    name: str
    means: str
    cases: Callable[[Bench], Iterator[Case]]
    is_prescribed: bool = False

    def may_have(self, pattern: str) -> bool:
        """Whether a case of its may be of that glob; what names no group can be of any."""
        group, slash, _ = pattern.partition("/")
        return "[" in group or not (slash or pattern in GROUPS) or fnmatchcase(self.name, group)


GROUPS: dict[str, Group] = {}
_Cases = Callable[["Bench"], Iterator[Case]]


def contract(name: str, *, means: str, is_prescribed: bool = False) -> Callable[[_Cases], _Cases]:
    """Registers a function that makes the cases of a group. ``means``: what a hook library owes, in a line;
    ``is_prescribed``: the driver is told what to answer, which only the stand-in does."""
    assert name not in GROUPS, name

    def register(function: _Cases) -> _Cases:
        GROUPS[name] = Group(name, means, function, is_prescribed)
        return function

    return register


def load_groups() -> dict[str, Group]:
    """Of every file in ``groups/``."""
    from gdbcuda.contract import groups

    load_all(groups)
    return GROUPS
