"""Cases, run until all are done or the time is up."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence

from gdbcuda.compare.findings import Allowed, Difference
from gdbcuda.contract.bench import Bench
from gdbcuda.contract.c_programs.showing_program import NoCompiler
from gdbcuda.contract.case_report import ConformReport
from gdbcuda.contract.endings import Ended
from gdbcuda.contract.registry import Broken, Case
from gdbcuda.contract.running.turns import Turn, Turns
from gdbcuda.contract.running.workers import Played, finished, workers
from gdbcuda.errors import UserError
from gdbcuda.text.sentences import counted

STARTING = "start"
ALL_ELSE = "all cases: they need a program that begins with it"


def of(bench: Bench, chosen: Sequence[Case], seconds: float, allowed: Allowed, jobs: int = 1) -> ConformReport:
    report = ConformReport(os.path.basename(bench.hook), bench.seed, remarks=list(bench.remarks))
    began = time.monotonic()
    try:
        for case, played in all_played(bench, chosen, began + seconds, jobs, report):
            note(report, case, played, allowed)
            findings = counted(len(report.found), "finding")
            bench.so_far = f", {len(report.ran)} of {counted(len(chosen), 'case')}, {findings}"
    except KeyboardInterrupt:  # what was found is told
        done = {*report.ran, *report.not_run, *report.given_up}
        report.is_cut = True
        report.not_run += (one.name for one in chosen if one.name not in done)
    if not bench.targets:
        report.ran.append(STARTING)
        line = f"{STARTING}: no API function that a program asks for leads into it"
        report.found.append(Difference(line, STARTING, 1, "gdbcuda check says why"))
    report.unused = allowed.unused
    report.put_in_order()
    report.seconds = time.monotonic() - began
    return report


def note(report: ConformReport, case: Case, played: Played, allowed: Allowed) -> None:
    report.remarks += (one for one in played.remarks if one not in report.remarks)
    if played.is_tried:
        report.ran.append(case.name)
    for one in played.found:
        (report.allowed if allowed.holds(one) else report.found).append(one)


def all_played(
    bench: Bench, chosen: Sequence[Case], end: float, jobs: int, report: ConformReport
) -> Iterator[tuple[Case, Played]]:
    """As each is done."""
    turns, at_work = Turns(shuffled(bench, chosen)), {}
    with workers(bench, play, chosen, jobs) as free:
        while True:
            while free and (turn := next_turn(turns, end, report)):
                worker = free.pop()
                now = time.monotonic()
                worker.begin(turn.case, min(end, now + (end - now) * jobs / turn.groups))
                at_work[worker] = turn
            if not at_work:
                return
            for worker in finished(at_work):
                played, turn = worker.result(), at_work.pop(worker)
                turns.ended(turn, played.is_hung)
                free.append(worker)
                yield turn.case, played


def next_turn(turns: Turns, end: float, report: ConformReport) -> Turn | None:
    """Of those that are to be played."""
    while turn := turns.next():
        if turns.is_given_up(turn.case.group):
            report.given_up.append(turn.case.name)
        elif time.monotonic() > end:
            report.not_run.append(turn.case.name)
        else:
            return turn
        turns.ended(turn)
    return None


def play(bench: Bench, case: Case, until: float) -> Played:
    """In this process."""
    bench.until, noted, hung = until, len(bench.remarks), bench.patience.hung
    try:
        found = list(differences(case, broken(bench, case)))
    except NoCompiler as why:
        return Played([], [f"{case.group}: {why}"], is_tried=False)
    except UserError as why:
        return Played([], [f"{case.name}: {why}"], is_tried=False)
    times = bench.patience.hung - hung
    is_hung = times > 1 or (times == 1 and bool(found))  # once alone, and all is well: the machine was busy
    bench.patience.is_short |= is_hung
    return Played(found, bench.remarks[noted:], is_hung)


def none(bench: Bench, why: str, seconds: float) -> ConformReport:
    """No program begins with it."""
    report = ConformReport(os.path.basename(bench.hook), bench.seed, remarks=[ALL_ELSE], seconds=seconds)
    report.ran.append(STARTING)
    report.found.append(Difference(f"{STARTING}: a program does not begin with it", STARTING, 1, why))
    return report


def cut(bench: Bench, seconds: float) -> ConformReport:
    """A Ctrl-C before the cases are known."""
    return ConformReport(os.path.basename(bench.hook), bench.seed, seconds=seconds, is_cut=True)


def shuffled(bench: Bench, cases: Iterable[Case]) -> dict[str, list[Case]]:
    """Those of each group in an order of the seed, long ones last."""
    by_group: dict[str, list[Case]] = {}
    for case in cases:
        by_group.setdefault(case.group, []).append(case)
    for name, group in by_group.items():
        bench.dice(name).shuffle(group)
        group.sort(key=lambda case: case.is_long)
    return by_group


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
        return [Broken(str(how), how.example, bench.last)]


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
