"""The differences of two runs, each kind folded into a line and a count."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from gdbcuda.data_classes import dataclass, field
from gdbcuda.errors import UserError
from gdbcuda.files import user_files

MOST_VALUES = 4  # different pairs of values that are a line each
ANYTHING = "*"
OUTPUTS = ("stdout", "stderr")
CALL = re.compile(r"call (added|dropped|reordered) ")


class Difference(NamedTuple):
    """``line`` is the same in each run that has it, and what an allow file holds; ``about`` the function, or what of
    the run it is; ``example`` the first of ``times``, for a person; ``is_drivers``: the program does not see it."""

    line: str
    about: str
    times: int
    example: str
    is_drivers: bool = False

    @property
    def kind(self) -> str:
        """Without the values, which may be others each time; of an output without the second run's line. Who has more
        calls may be the other one each time."""
        if CALL.match(self.line):
            return f"number and order of calls: {self.about}"
        return self.line.partition(" -> ")[0] if self.about in OUTPUTS else self.line.partition(": ")[0]

    def text(self) -> str:
        return f"{self.line}, {self.times} times" if self.times > 1 else self.line


class Seen(NamedTuple):
    times: int
    example: str


@dataclass
class Changed:
    """``values``: how often each pair of values was seen, and where first."""

    about: str
    is_drivers: bool
    at: float
    values: dict[tuple[str, str], Seen] = field(default_factory=dict)

    def times(self, values: tuple[str, str]) -> int:
        return self.values[values].times if values in self.values else 0


class Findings:
    def __init__(self) -> None:
        self.by_head: dict[str, Changed] = {}

    def add(
        self, head: str, about: str, values: tuple[str, str] = ("", ""), example: Callable[[], str] = str,
        is_drivers: bool = False, at: float = -1,
    ) -> None:  # fmt: skip
        """``head`` is the line without its ``values``; the first ``example`` alone is asked for. ``at``: seconds."""
        one = self.by_head.setdefault(head, Changed(about, is_drivers, at))
        known = one.values.get(values)
        one.values[values] = Seen(1, example()) if known is None else Seen(known.times + 1, known.example)

    def join(self, others: Findings) -> None:
        """Of heads that are not here."""
        self.by_head.update(others.by_head)

    def less(self, others: Findings) -> Findings:
        """What is more often here; what is less often, as what is no longer so."""
        found = Findings()
        found.by_head = {**more(self, others, ""), **more(others, self, "no longer: ")}
        return found

    def differences(self) -> list[Difference]:
        """In the order of time."""
        rows = sorted(self.by_head.items(), key=lambda row: row[1].at)
        return [found for head, one in rows for found in folded(head, one)]


def more(here: Findings, there: Findings, before: str) -> dict[str, Changed]:
    found: dict[str, Changed] = {}
    for head, one in here.by_head.items():
        known = there.by_head.get(head, Changed("", False, 0))
        kept = {values: seen._replace(times=seen.times - known.times(values)) for values, seen in one.values.items()
                if seen.times > known.times(values)}  # fmt: skip
        if kept:
            found[before + head] = Changed(one.about, one.is_drivers, one.at, kept)
    return found


def folded(head: str, one: Changed) -> Iterator[Difference]:
    if len(one.values) > MOST_VALUES:
        first, second = (of_all(side) for side in zip(*one.values))
        times, example = sum(seen.times for seen in one.values.values()), next(iter(one.values.values())).example
        yield Difference(f"{head}: {first} -> {second}", one.about, times, example, one.is_drivers)
        return
    for values, seen in one.values.items():
        line = head if values == ("", "") else f"{head}: {values[0]} -> {values[1]}"
        yield Difference(line, one.about, seen.times, seen.example, one.is_drivers)


def of_all(values: Sequence[str]) -> str:
    return values[0] if len(set(values)) == 1 else ANYTHING


class Allowed:
    """The differences that are meant: lines, in which * is anything; # begins a remark."""

    def __init__(self, text: str = "") -> None:
        lines = (line.strip() for line in text.splitlines())
        self.patterns = {line: pattern(line) for line in lines if line and not line.startswith("#")}
        self.used: set[str] = set()

    @classmethod
    def of_file(cls, path: str | None) -> Allowed:
        """None: nothing is meant."""
        if path and not os.path.exists(path):
            raise UserError(f"cannot read {path}: no such file or directory; --accept FILE writes one")
        return cls(user_files.read(path) if path else "")

    def holds(self, found: Difference) -> bool:
        matching = [line for line, one in self.patterns.items() if one.fullmatch(found.line)]
        self.used.update(matching)
        return bool(matching)

    @property
    def unused(self) -> list[str]:
        return [line for line in self.patterns if line not in self.used]


def pattern(line: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, line.split(ANYTHING))))


def allow_file(found: Iterable[Difference], title: str, command: str) -> str:
    """What `Allowed` reads: it allows just these."""
    read_by = f"gdbcuda {command} --allow FILE reads it."
    head = f"# {title}\n# One difference that is meant a line; * is anything. {read_by}\n"
    return head + "".join(f"{one.line}\n" for one in found)
