"""What two runs differ in, for people, for scripts, and for CI."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape  # xml.sax.saxutils loads ssl
from types import MappingProxyType
from typing import Any

from gdbcuda.calls.text import duration
from gdbcuda.compare.costs import FunctionTime, OwnMemory
from gdbcuda.compare.findings import Difference
from gdbcuda.compare.outcome import Outcome
from gdbcuda.data_classes import dataclass, field, replace
from gdbcuda.text import render
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import counted
from gdbcuda.text.units import human

MOST = 40  # differences, and functions of the table of times, unless all are wanted
MOST_TIMES = 10
BLIND = ("Behind the hook library no call of the driver was seen: it passes on none, or in a way that is not recorded\n"
         "(gdbcuda help trace).")  # fmt: skip
NO_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass
class AbReport:
    """``labels`` of the two runs, such as "without" and "with libvgpu.so"; ``functions``: those that were called."""

    program: str
    labels: tuple[str, str]
    outcomes: tuple[Outcome, Outcome]
    calls: tuple[int, int]
    functions: Counter[str]
    found: list[Difference]
    allowed: list[Difference]
    times: list[FunctionTime]
    memory: OwnMemory
    unused: list[str] = field(default_factory=list)
    is_blind: bool = False
    unseen: list[str] = field(default_factory=list)  # what the recorder cannot see of this hook library
    left_out: list[str] = field(default_factory=list)  # kinds that differ between runs without the hook library

    @property
    def status(self) -> int:
        return int(bool(self.found))

    def accepted(self) -> AbReport:
        """As the next run is, which reads the allow file that allows all of this."""
        return replace(self, found=[], allowed=[*self.allowed, *self.found])


def text(report: AbReport, is_all: bool) -> str:
    seen, asked = ([one for one in report.found if one.is_drivers == is_it] for is_it in (False, True))
    parts = [verdict(report), listed("What the program sees", seen, is_all),
             listed("What the driver is asked", asked, is_all), BLIND if report.is_blind else "",
             left_out(report), not_seen(report), costs(report),
             timed(report.times, is_all), unused(report.unused)]  # fmt: skip
    return "\n\n".join(filter(None, parts))


def verdict(report: AbReport) -> str:
    calls = " and ".join(f"{count} {label}" for count, label in zip(report.calls, report.labels))
    meant = f"; {counted(len(report.allowed), 'other')} allowed" if report.allowed else ""
    count = counted(len(report.found), "difference") if report.found else "No difference"
    return f"{count} in {visible(report.program)}{meant}. Calls of the program: {calls}."


def listed(title: str, found: Sequence[Difference], is_all: bool) -> str:
    if not found:
        return ""
    shown = found if is_all else found[:MOST]
    lines = [title]
    for one in shown:
        lines.append(f"  {visible(one.text())}")
        if one.example:
            lines.append(f"      {visible(one.example)}")
    more = len(found) - len(shown)
    return "\n".join([*lines, *([f"  ... and {more} more: --all"] if more else [])])


def left_out(report: AbReport) -> str:
    """So that nobody takes for the same what was not compared."""
    kinds = [f"  {visible(one)}" for one in report.left_out]
    return "\n".join([f"Left out, for it differs {report.labels[0]} too", *kinds]) if kinds else ""


def not_seen(report: AbReport) -> str:
    lines = [f"  {visible(one)}" for one in report.unseen]
    return "\n".join(["Not seen", *lines]) if lines else ""


def costs(report: AbReport) -> str:
    ours, theirs = report.outcomes
    lines = [f"Time: {duration(ours.seconds)} {report.labels[0]}, {duration(theirs.seconds)} {report.labels[1]}"]
    if ours.memory and theirs.memory:
        lines.append(f"Host memory at most: {human(ours.memory)}, {human(theirs.memory)}")
    if report.memory.peak:
        lines.append(f"Device memory of the hook's own: {human(report.memory.peak)} at most, "
                     f"{human(report.memory.left)} left")  # fmt: skip
    return "\n".join(lines)


def timed(times: Sequence[FunctionTime], is_all: bool) -> str:
    rows = [(one.name, one.calls, duration(one.ours), duration(one.theirs), signed(one.added)) for one in times]
    shown = rows if is_all else rows[:MOST_TIMES]
    more = f"\n... and {len(rows) - len(shown)} more: --all" if len(rows) > len(shown) else ""
    return render.table(shown, ["a call, recorded", "calls", "first", "second", "in all"]) + more if shown else ""


def signed(seconds: float) -> str:
    return ("-" if seconds < 0 else "+") + duration(abs(seconds))


def unused(lines: Sequence[str]) -> str:
    return "\n".join(["Allowed, and not seen:", *(f"  {visible(line)}" for line in lines)]) if lines else ""


def data(report: AbReport) -> dict[str, Any]:
    return {
        "program": report.program, "status": report.status,
        "runs": [{"run": label, "ended": one.ending, "seconds": one.seconds, "memory": one.memory, "calls": calls}
                 for label, one, calls in zip(report.labels, report.outcomes, report.calls)],
        "differences": [of_difference(one) for one in report.found],
        "allowed": [of_difference(one) for one in report.allowed],
        "not_seen": report.unused, "left_out": report.left_out, "not_recorded": report.unseen,
        "device_memory": report.memory._asdict(),
        "times": [one._asdict() for one in report.times],
    }  # fmt: skip


def of_difference(one: Difference) -> dict[str, Any]:
    return {"difference": one.line, "about": one.about, "times": one.times, "of": "driver" if one.is_drivers else
            "program", "example": one.example}  # fmt: skip


def junit(report: AbReport) -> str:
    """A case for each function that was called, for the outputs and the exit status."""
    names = [*dict.fromkeys(["exit status", "stdout", "stderr", "memory", *sorted(report.functions),
                             *(one.about for one in report.found)])]  # fmt: skip
    return junit_suite(f"gdbcuda ab {report.program}", report.labels[1], names, report.found)


def junit_suite(
    title: str, suite: str, names: Sequence[str], found: Iterable[Difference],
    skipped: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> str:
    """``names`` of all cases; a case has failed where something was ``found`` about it. ``skipped``: those that
    were not run, by why."""
    failed: dict[str, list[Difference]] = {}
    for one in found:
        failed.setdefault(one.about, []).append(one)
    left_out = [(name, why) for why, cases in skipped.items() for name in cases]
    lines = ['<?xml version="1.0" encoding="UTF-8"?>',
             f'<testsuite name={quoted(title)} tests="{len(names) + len(left_out)}" '
             f'failures="{len(failed)}" errors="0" skipped="{len(left_out)}">']  # fmt: skip
    for name in names:
        lines += case(name, suite, failed.get(name, []))
    for name, why in left_out:
        lines += [f"{head(name, suite)}>", f"    <skipped message={quoted(why)}/>", "  </testcase>"]
    return "\n".join([*lines, "</testsuite>", ""])


def case(name: str, suite: str, found: Iterable[Difference]) -> list[str]:
    """The examples are the text of its failure."""
    all_found = list(found)
    if not all_found:
        return [f"{head(name, suite)}/>"]
    message = "; ".join(visible(one.text()) for one in all_found)
    lines = [line for one in all_found for line in [visible(one.text()), *map(visible, one.example.splitlines())]]
    text = escape(NO_XML.sub("?", "\n".join(lines)), quote=False)
    return [f"{head(name, suite)}>", f"    <failure message={quoted(message)}>{text}</failure>", "  </testcase>"]


def head(name: str, suite: str) -> str:
    return f"  <testcase classname={quoted(suite)} name={quoted(name)}"


def quoted(text: str) -> str:
    """An attribute. (XML 1.0, 3.3.3: ends of lines and tabs would become blanks.)"""
    spaces = {ord(one): f"&#{ord(one)};" for one in "\t\n\r"}
    return f'"{escape(NO_XML.sub("?", text)).translate(spaces)}"'
