"""Cases, run one after the other until all are done or the time is up."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from gdbcuda.compare.findings import Allowed, Difference
from gdbcuda.contract.bench import Bench
from gdbcuda.contract.program import Ended
from gdbcuda.contract.registry import Broken, Case
from gdbcuda.contract.report import ConformReport
from gdbcuda.errors import UserError

STARTING = "start"


def of(bench: Bench, chosen: Sequence[Case], seconds: float, allowed: Allowed) -> ConformReport:
    report = ConformReport(os.path.basename(bench.hook), bench.seed)
    began = time.monotonic()
    for case, groups in in_turns(shuffled(bench, chosen)):
        now, end = time.monotonic(), began + seconds
        if now > end:
            report.not_run.append(case.name)
            continue
        bench.until = now + (end - now) / groups
        try:
            found = broken(bench, case)
        except UserError as why:
            bench.note(f"{case.name}: {why}")
            continue
        report.ran.append(case.name)
        for one in differences(case, found):
            (report.allowed if allowed.holds(one) else report.found).append(one)
    if not bench.targets:
        report.ran.append(STARTING)
        line = f"{STARTING}: no API function that a program asks for leads into it"
        report.found.append(Difference(line, STARTING, 1, "gdbcuda check says why"))
    report.unused, report.remarks = allowed.unused, bench.remarks
    report.seconds = time.monotonic() - began
    return report


def none(bench: Bench, why: str) -> ConformReport:
    """No program begins with it."""
    report = ConformReport(os.path.basename(bench.hook), bench.seed)
    report.ran.append(STARTING)
    report.found.append(Difference(f"{STARTING}: a program does not begin with it", STARTING, 1, why))
    return report


def shuffled(bench: Bench, cases: Iterable[Case]) -> dict[str, list[Case]]:
    """Those of each group in an order of the seed, long ones last."""
    by_group: dict[str, list[Case]] = {}
    for case in cases:
        by_group.setdefault(case.group, []).append(case)
    for name, group in by_group.items():
        bench.dice(name).shuffle(group)
        group.sort(key=lambda case: case.is_long)
    return by_group


def in_turns(
    by_group: dict[str, list[Case]], clock: Callable[[], float] = time.monotonic
) -> Iterator[tuple[Case, int]]:
    """The next is of the group that has had the least time: if the time is up, each had its share. With it, how many
    groups have cases left.

    Cases of one group take a hundred times as long as those of another, and may be a hundred times as many.
    """
    waiting = {name: iter(cases) for name, cases in by_group.items()}
    spent = dict.fromkeys(waiting, 0.0)
    while spent:
        name = min(spent, key=spent.__getitem__)
        case = next(waiting[name], None)
        if case is None:
            del spent[name]
            continue
        began = clock()
        yield case, len(spent)
        spent[name] += clock() - began


def broken(bench: Bench, case: Case) -> list[Broken]:
    """A crash or a hang is believed when it comes again in a program that is no copy."""
    before = bench.ended
    found = tried(bench, case)
    if bench.ended == before:
        return found
    bench.is_apart = True
    try:
        return tried(bench, case)
    finally:
        bench.is_apart = False


def tried(bench: Bench, case: Case) -> list[Broken]:
    bench.last = None
    bench.renew()
    try:
        return list(case.run(bench))
    except Ended as how:
        return [Broken(str(how), "", bench.last)]


def shown(bench: Bench, case: Case) -> str:
    """The C program of the first thing that is broken in it; `UserError` where there is none."""
    found = broken(bench, case)
    if not found:
        raise UserError(f"{case.name} is kept: there is nothing to show (seed {bench.seed})")
    made = next((one for one in found if one.shown), None)
    if made is None or made.shown is None:
        raise UserError(f"{case.name}: {found[0].what}; there is no program that shows it")
    return made.shown(f"{case.name} of {os.path.basename(bench.hook)}: {made.what}", bench.surroundings)


def differences(case: Case, found: Iterable[Broken]) -> Iterator[Difference]:
    """Of several of a kind the first."""
    kinds: dict[str, list[Broken]] = {}
    for one in found:
        kinds.setdefault(one.what, []).append(one)
    for what, of_kind in kinds.items():
        yield Difference(f"{case.name}: {what}", case.name, len(of_kind), of_kind[0].example)
