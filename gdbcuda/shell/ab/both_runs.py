"""Both runs of `gdbcuda ab`, made and compared."""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from gdbcuda.compare import costs, outcome
from gdbcuda.compare.compare_text import AbReport
from gdbcuda.compare.comparison import Comparison
from gdbcuda.compare.findings import Allowed, Difference, Findings
from gdbcuda.compare.outcome import Outcome
from gdbcuda.compare.sides import RunSide
from gdbcuda.data_classes import replace
from gdbcuda.errors import UserError
from gdbcuda.files import places
from gdbcuda.log.source import LogSource
from gdbcuda.observe import ptracing
from gdbcuda.rings.traced.process_reading import IN_SLOTS
from gdbcuda.shell.ab import recorded_run
from gdbcuda.shell.ab.options import AUTO, STOPS, AbOptions
from gdbcuda.shell.ab.recorded_run import RecordedRun, RunPlan
from gdbcuda.shell.gdb_words import require_python
from gdbcuda.shell.hook_given import AUDIT, PRELOAD, PUT_BEFORE, hook_given
from gdbcuda.shell.trace import starting
from gdbcuda.text import output
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import counted, with_counts

PATIENCE, TIMES_THE_FIRST = 60.0, 10.0  # of the second run
SETTING = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
PATCHING = {"mprotect", "pkey_mprotect"}
STILL_OPEN = "a call without its end"  # of a program that was ended in it
WAYS_PAST_THE_LOADER = frozenset({"dl_iterate_phdr", "dlinfo", "_r_debug"})  # to the tables of symbols
FIRST, AGAIN, SECOND = "first", "again", "second"


def settings(words: Sequence[str]) -> dict[str, str]:
    found = {}
    for word in words:
        matched = SETTING.fullmatch(word)
        if matched is None:
            raise UserError(f"--env is NAME=VALUE, not {word!r}")
        found[matched[1]] = matched[2]
    return found


def compared(wanted: AbOptions, words: Sequence[str], given: Mapping[str, str], allowed: Allowed) -> AbReport:
    way = STOPS if wanted.way == STOPS or (wanted.way == AUTO and not recorder_works(words[0])) else ""
    if way == STOPS:
        require_python()
        ptracing.require()
    for hook in wanted.hook:
        hook_given(hook, (PRELOAD,) if way == STOPS else (PRELOAD, AUDIT))
    hooks = [None, *wanted.hook][-2:]
    plans = [RunPlan(words, hook, given if hook else {}, wanted.limit or 0.0, way, wanted.last) for hook in hooks]
    with recorded_run.folder_for(wanted.output) as folder:
        stdin = recorded_run.own_input(folder)
        runs, sides = both(plans, folder, stdin)
        found = Comparison(*sides)
        if found.is_blind and wanted.way == AUTO and way != STOPS and goes_past_the_loader(wanted.hook[-1]):
            hook = visible(os.path.basename(wanted.hook[-1]))
            output.complain(f"gdbcuda: recorded again by stops, for {hook} finds functions without asking the loader")
            plans = [replace(plan, way=STOPS) for plan in plans]
            runs, sides = both(plans, folder, stdin)
            found = Comparison(*sides)
        unsteady: set[str] = set()
        for number in range(wanted.repeat or int(wanted.twice)):
            to = os.path.join(folder, f"{AGAIN}{number or ''}")
            again = recorded_run.run(with_limit(plans[0], runs[0]), to, stdin)
            by_itself = differences(Comparison(sides[0], side(again)), (seen(runs[0], sides[0]), again.outcome), False)
            unsteady.update(one.kind for one in by_itself)
        return report(runs, found, allowed, unsteady)


def both(plans: Sequence[RunPlan], folder: str, stdin: str | None) -> tuple[list[RecordedRun], tuple[RunSide, RunSide]]:
    """Into ``folder``, in the place of what was recorded there before."""
    for name in (FIRST, SECOND):
        shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
    first = recorded_run.run(plans[0], os.path.join(folder, FIRST), stdin)
    second = recorded_run.run(with_limit(plans[1], first), os.path.join(folder, SECOND), stdin)
    return [first, second], (side(first), side(second))


def with_limit(plan: RunPlan, first: RecordedRun) -> RunPlan:
    return replace(plan, limit=plan.limit or PATIENCE + TIMES_THE_FIRST * first.outcome.seconds)


def goes_past_the_loader(hook: str) -> bool:
    """It can look for the driver's functions by itself, which the recorder would not see; and gdb is there."""
    from gdbcuda import elf

    try:
        return bool(places.find_gdb()) and not WAYS_PAST_THE_LOADER.isdisjoint(elf.open(hook).undefined)
    except UserError:
        return False


def recorder_works(program: str) -> bool:
    """What it would miss is said by `starting.remarks`; then gdb is asked to record."""
    remarks = list(starting.remarks(program))
    if platform.machine() == "x86_64" and places.built(places.TRACER) and not remarks:
        return True
    why = remarks[0] if remarks else "its library is not built here, or not for this machine"
    output.complain(f"gdbcuda: recorded by stops, for {visible(why)}")
    return False


def side(one: RecordedRun) -> RunSide:
    """A program that makes no call leaves an empty folder."""
    hooks = [one.plan.hook] if one.plan.hook else []
    if os.path.isdir(one.log) and not os.listdir(one.log):
        return empty_side(hooks)
    source = LogSource(one.log)
    found = RunSide(hooks, source.table, source.log.notes, source.writer).feed(source.events())
    require_whole(source, one)
    return found


def require_whole(source: LogSource, one: RecordedRun) -> None:
    """Calls that are missing would be taken for dropped ones. What a library has written into slots is its own part of
    a call: what it makes of it, the functions behind it tell, and that is compared."""
    problems = +source.log.problems
    for what in [one for one in problems if one == STILL_OPEN or IN_SLOTS in one]:
        del problems[what]
    if problems:
        what = visible(with_counts(problems))
        raise UserError(f"the run {label(one.plan)} was not recorded whole, so nothing is compared: {what}",
                        page="hook-changes")  # fmt: skip


def empty_side(hooks: list[str]) -> RunSide:
    from gdbcuda import api
    from gdbcuda.calls.references import References
    from gdbcuda.calls.text import CallWriter

    table, notes = api.load(), References()
    return RunSide(hooks, table, notes, CallWriter(table, notes))


def seen(one: RecordedRun, of: RunSide) -> Outcome:
    return replace(one.outcome, pids=of.pids)


def may_patch(plan: RunPlan) -> bool:
    """It has no function that a program could ask for, and can write code."""
    from gdbcuda import elf

    library = elf.open(plan.hook) if plan.hook else None
    return library is not None and bool(PATCHING & library.undefined.keys()) and not any(
        name.startswith(PUT_BEFORE) for name in library.exported)  # fmt: skip


def not_seen(found: Comparison, is_hidden: bool) -> Iterator[str]:
    if found.unnamed:
        calls = counted(found.unnamed, "call")
        yield f"{calls} came by a function of the hook library that has no name of the API: what that gave back"
    elif is_hidden and found.sides[1].hooks - found.sides[1].reached:
        yield "which calls get to it: it has no function of the API, and may have changed the code of others"


def differences(found: Comparison, outcomes: tuple[Outcome, Outcome], is_hidden: bool) -> list[Difference]:
    """Of the run itself first. ``is_hidden``: whether the hook library is reached is not seen."""
    of_run = Findings()
    outcome.compare(*outcomes, of_run)
    for name in [] if is_hidden else sorted(found.sides[1].hooks - found.sides[1].reached):
        of_run.add(f"not reached: {name}", "hook library")
    return [*of_run.differences(), *found.findings.differences()]


def report(runs: Sequence[RecordedRun], found: Comparison, allowed: Allowed, unsteady: set[str]) -> AbReport:
    sides = found.sides
    outcomes = seen(runs[0], sides[0]), seen(runs[1], sides[1])
    memory = costs.own_memory(found.extra, sides[1])
    costs.note_memory(memory, found.findings)
    is_hidden = may_patch(runs[-1].plan)
    unseen = list(not_seen(found, is_hidden))
    every = differences(found, outcomes, is_hidden)
    all_found = [one for one in every if one.kind not in unsteady]
    left_out = sorted({one.kind for one in every} & unsteady)
    meant = [one for one in all_found if allowed.holds(one)]
    names = Counter(one.ours.name for one in found.both)
    labels = [label(one.plan) for one in runs]
    if labels[0] == labels[1]:
        labels = [str(one.plan.hook) for one in runs]
    return AbReport(
        os.path.basename(runs[0].plan.words[0]), (labels[0], labels[1]), outcomes,
        (sides[0].count(), sides[1].count()), names, [one for one in all_found if one not in meant], meant,
        costs.times(found.both), memory, allowed.unused, found.is_blind, unseen, left_out,
    )  # fmt: skip


def label(plan: RunPlan) -> str:
    return f"with {os.path.basename(plan.hook)}" if plan.hook else "without it"
