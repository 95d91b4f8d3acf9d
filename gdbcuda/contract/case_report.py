"""What the cases have found, for people, for scripts, and for CI."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import Any

from gdbcuda.calls.text import duration
from gdbcuda.compare.compare_text import junit_suite, unused
from gdbcuda.compare.findings import Difference
from gdbcuda.contract.patience import MOST_HANGS
from gdbcuda.contract.registry import Group
from gdbcuda.data_classes import dataclass, field, replace
from gdbcuda.text import render
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import counted, some

NO_TIME, GIVEN_UP = "there was no time (--seconds)", "others of its group hang"  # why a case was not run
CUT = "there was no time (Ctrl-C)"
INTERRUPTED = 130  # the exit status
MOST = 40  # of what was found, unless all is wanted
FEW = 3  # cases with the same finding that are a line each


@dataclass
class ConformReport:
    """``ran``: the cases; ``seconds`` that they took; ``not_run``: for which the time did not suffice;
    ``given_up``: of a group in which several hang; ``again``: the command that plays one again, without its name;
    ``is_cut``: a Ctrl-C has ended it."""

    hook: str
    seed: int
    ran: list[str] = field(default_factory=list)
    found: list[Difference] = field(default_factory=list)
    allowed: list[Difference] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)
    given_up: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)  # what is not tried
    seconds: float = 0.0
    again: str = ""
    is_cut: bool = False

    def put_in_order(self) -> None:
        """Which case is done first is chance."""
        for names in (self.ran, self.not_run, self.given_up, self.remarks):
            names.sort()
        self.found.sort()
        self.allowed.sort()

    @property
    def why_not_run(self) -> str:
        return CUT if self.is_cut else NO_TIME

    @property
    def status(self) -> int:
        """Of the process: 2 where no case was run."""
        if self.is_cut:
            return INTERRUPTED
        return int(bool(self.found)) if self.ran else 2

    def accepted(self) -> ConformReport:
        """As the next run is, which reads the allow file that allows all of this."""
        return replace(self, found=[], allowed=sorted([*self.allowed, *self.found]))


def text(report: ConformReport, is_all: bool) -> str:
    parts = [verdict(report), listed(report.found, is_all), to_see(report), by_group(report),
             not_tried([*given_up(report), *report.remarks]), unused(report.unused)]  # fmt: skip
    return "\n\n".join(filter(None, parts))


def verdict(report: ConformReport) -> str:
    if not report.ran:
        why = report.why_not_run if report.not_run or report.is_cut else "none could be"
        return f"No case of {visible(report.hook)} was run: {why}."
    failed, cases = len({one.about for one in report.found}), counted(len(report.ran), "case")
    kept = f"all {cases}" if len(report.ran) > 1 else "the one case played"
    says = f"breaks its contract in {failed} of {cases}" if failed else f"keeps its contract in {kept}"
    meant = f"; {counted(len(report.allowed), 'finding')} allowed" if report.allowed else ""
    late = f"; for {len(report.not_run)} more {report.why_not_run}" if report.not_run else ""
    return f"{visible(report.hook)} {says}{meant}{late}. {duration(report.seconds)}, seed {report.seed}."


def listed(found: list[Difference], is_all: bool) -> str:
    """What many cases have in common is told of the first."""
    alike: dict[tuple[str, str], list[Difference]] = {}
    for one in sorted(found):
        alike.setdefault((group_of(one.about), what(one)), []).append(one)
    by_group: dict[str, list[str]] = {}
    for (group, _), same in alike.items():
        by_group.setdefault(group, []).extend(said_of(same, is_all))
    room = {group: len(lines) for group, lines in by_group.items()} if is_all else shares(by_group, MOST)
    return "\n".join(line for group, lines in by_group.items() for line in cut(group, lines, room[group]))


def said_of(same: list[Difference], is_all: bool) -> Iterator[str]:
    shown = same if is_all or len(same) <= FEW else same[:1]
    for number, one in enumerate(shown, 1):
        left = len(same) - len(shown) if number == len(shown) else 0
        more = f"    and the same of {left} more: {some(names(same[1:]))} (--all)" if left else ""
        yield "\n".join(filter(None, [one.line, one.example and f"    {one.example}", more]))


def shares(by_group: Mapping[str, Sized], most: int) -> dict[str, int]:
    """How many of each are shown: what one group leaves is for the others."""
    room: dict[str, int] = {}
    for group in sorted(by_group, key=lambda name: len(by_group[name])):
        fair = (most - sum(room.values())) // (len(by_group) - len(room))
        room[group] = min(len(by_group[group]), max(1, fair))
    return room


def cut(group: str, lines: list[str], most: int) -> Iterator[str]:
    yield from map(visible_lines, lines[:most])
    if len(lines) > most:
        yield f"... and {len(lines) - most} more of {group}: --only {group} --all"


def to_see(report: ConformReport) -> str:
    """How the first of them is looked at."""
    first = next((one.about for one in sorted(report.found) if is_shown(one)), None)
    return f"The first as a C program, with the commands that stop in it:\n  {shown_by(report, first)}" if first else ""


def is_shown(one: Difference) -> bool:
    """By a program: what says that none begins has none."""
    return "/" in one.about


def seen_by(report: ConformReport, one: Difference) -> str:
    return shown_by(report, one.about) if is_shown(one) else ""


def shown_by(report: ConformReport, case: str) -> str:
    return f"{visible(report.again)} --show {shlex.quote(visible(case))}"


def visible_lines(text: str) -> str:
    return "\n".join(map(visible, text.split("\n")))


def what(one: Difference) -> str:
    return one.line.partition(": ")[2]


def names(found: list[Difference]) -> list[str]:
    """Of the cases, without their group."""
    return [one.about.partition("/")[2] for one in found]


def not_tried(remarks: Iterable[str]) -> str:
    lines = [f"  {visible(one)}" for one in remarks]
    return "\n".join(["Not tried:", *lines]) if lines else ""


def given_up(report: ConformReport) -> Iterator[str]:
    for group, count in Counter(map(group_of, report.given_up)).items():
        yield f"{group}: {MOST_HANGS} cases hang, so {count} more are not tried (--only CASE tries one)"


def by_group(report: ConformReport) -> str:
    cases, late = Counter(map(group_of, report.ran)), Counter(map(group_of, report.not_run))
    broken = failing(report.found)
    rows = [(name, cases[name], broken[name], late[name]) for name in sorted({*cases, *late})]
    width = 4 if late else 3
    return render.table([row[:width] for row in rows], ["group", "cases", "broken", "no time"][:width])


def failing(found: Iterable[Difference]) -> Counter[str]:
    """Cases, by group."""
    return Counter(group_of(name) for name in {one.about for one in found})


def group_of(case: str) -> str:
    return case.partition("/")[0]


def groups_text(groups: Iterable[Group]) -> str:
    return render.table([(group.name, group.means) for group in groups], ["group", "what a hook library owes"])


def data(report: ConformReport) -> dict[str, Any]:
    return {
        "hook": report.hook, "seed": report.seed, "status": report.status, "seconds": report.seconds,
        "cases": report.ran, "not_run": report.not_run, "given_up": report.given_up,
        "broken": [{**of_finding(one), "show": seen_by(report, one)} for one in report.found],
        "allowed": [of_finding(one) for one in report.allowed],
        "not_seen": report.unused, "not_tried": report.remarks,
    }  # fmt: skip


def of_finding(one: Difference) -> dict[str, Any]:
    return {"case": one.about, "broken": what(one), "example": one.example}


def junit(report: ConformReport) -> str:
    found = [one._replace(example="\n".join(filter(None, [one.example, seen_by(report, one)]))) for one in report.found]
    return junit_suite(f"gdbcuda conform {report.hook}", report.hook, report.ran, found,
                       {report.why_not_run: report.not_run, GIVEN_UP: report.given_up})  # fmt: skip
