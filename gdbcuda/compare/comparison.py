"""What the hook library has changed of the calls: what the program saw, and what the driver was asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gdbcuda.calls.references import NOTHING, References
from gdbcuda.compare.findings import Findings
from gdbcuda.compare.matching import Pair, aligned, partners, reordered
from gdbcuda.compare.passed_on import PassedOn, resolves
from gdbcuda.compare.run_values import ValueReader, behind
from gdbcuda.compare.sides import ComparedCall, ComparedProcess, ComparedThread, RunSide
from gdbcuda.log.views.pairs import ARGUMENTS, OUT, RESULT, Pairs, PairsOfThread, UnlikeValue, is_address, unlike_values

WORDS = {ARGUMENTS: "argument", OUT: "out", RESULT: "result"}


class Both(NamedTuple):
    """One call in both runs."""

    ours: ComparedCall
    theirs: ComparedCall


class Comparison:
    """Of two sides that were fed. ``extra``: the calls that the second hook library has made of its own;
    ``both``: the program's calls that are in both runs; ``unnamed``: so many have got to functions of the hook library
    that are none of the API's by name; ``is_blind``: behind the hook library no call was seen."""

    def __init__(self, ours: RunSide, theirs: RunSide) -> None:
        self.sides = ours, theirs
        self.findings = Findings()
        self.both: list[Both] = []
        self.unnamed = 0
        for mine, yours in partners(ours.processes, theirs.processes):
            self.compare_processes(mine, yours)
        first, second = (PassedOn(side) for side in self.sides)
        self.extra = second.extra
        is_missing = any("never forwarded" in head for head in second.findings.by_head)
        self.is_blind = is_missing and not second.forwarded and not second.extra
        self.findings.join(second.findings.less(first.findings))

    def compare_processes(self, ours: ComparedProcess | None, theirs: ComparedProcess | None) -> None:
        threads = partners(ours.threads if ours else [], theirs.threads if theirs else [])
        seen = [both for pair in threads for both in self.of_program(*pair)]
        self.compare_values(seen)
        self.both += seen

    def of_program(self, ours: ComparedThread | None, theirs: ComparedThread | None) -> Iterator[Both]:
        mine, yours = ([one for one in (thread.calls if thread else []) if one.of_program] for thread in (ours, theirs))
        of_nobody = [one for one in (theirs.calls if theirs else []) if one.is_of_nobody]
        latest = 0.0  # in the second run, whose times order what is found
        for here, there, is_moved in matched(mine, yours):
            latest = there.call.start if there is not None and not is_moved else latest
            if here is not None and there is not None:
                yield Both(here, there)
                if is_moved:
                    self.tell(f"call reordered {here.name}", there, 1)
            elif here is not None and (passed := taken(of_nobody, here, latest)) is not None:
                passed.of_program, latest = True, passed.call.start
                self.unnamed += 1
                yield Both(here, passed)
            elif here is not None:
                self.tell(f"call dropped {here.name}", here, 0, at=latest)
            elif there is not None:
                self.tell(f"call added {there.name}", there, 1)

    def compare_values(self, calls: list[Both]) -> None:
        """In the order of time: an address stands for what had handed it out last."""
        all_threads, reader = Pairs(), ValueReader(self.sides[1].table, (self.sides[0].pids, self.sides[1].pids))
        by_thread: dict[int, Pairs] = {}
        for both in sorted(calls, key=lambda one: one.ours.call.start):
            ours, theirs = both.ours.call, both.theirs.call
            pairs = by_thread.setdefault(ours.lwp, PairsOfThread(all_threads))
            found = list(unlike_values(ours, theirs, pairs))
            for one in found:
                if is_meant(one, ours.name, pairs, reader):
                    values = reader.shown(ours.name, one.name, one.one, one.other)
                    name = "" if one.what == RESULT else f" {one.name}"
                    self.tell(f"{WORDS[one.what]} {ours.name}{name}", both.theirs, 1, values)
            if resolves(both.ours, self.sides[1].table):
                self.compare_answers(both)
            for side, call in enumerate((ours, theirs)):
                reader.learn(side, call.name, call.out)

    def compare_answers(self, both: Both) -> None:
        """By the names of the functions that were handed out, as far as those are known and the API's."""
        ours, theirs = (self.names(one, side.notes) for one, side in zip(both, self.sides))
        if ours and theirs and not ours & theirs:
            arguments = both.ours.call.arguments
            asked = f"{arguments.get('symbol')}@{arguments.get('cudaVersion', 'newest')}"
            flags = arguments.get("flags")
            stream = " per thread" if "PER_THREAD" in str(flags) else ""
            values = ", ".join(sorted(ours)), ", ".join(sorted(theirs))
            self.tell(f"answer {both.ours.name} {asked}{stream}", both.theirs, 1, values)

    def names(self, one: ComparedCall, notes: References) -> set[str]:
        table, found = self.sides[1].table, set[str]()
        for data in map(behind, one.call.out.values()):
            if is_address(data):
                found.update(notes.functions.get((one.call.process, int(data, 16)), NOTHING).get("names", ()))
        return {name for name in found if table.function(name) is not None}

    def tell(
        self, head: str, one: ComparedCall, side: int, values: tuple[str, str] = ("", ""), at: float | None = None
    ) -> None:
        writer, at = self.sides[side].writer, one.call.start if at is None else at
        self.findings.add(head, one.name, values, lambda: writer.line(one.call), at=at)


def taken(of_nobody: list[ComparedCall], wanted: ComparedCall, after: float) -> ComparedCall | None:
    """The first of them that is the same call, and not before that moment; it is no other's then."""
    found = next((one for one in of_nobody if one.name == wanted.name and one.call.start >= after), None)
    if found is not None:
        of_nobody.remove(found)
    return found


def is_meant(one: UnlikeValue, symbol: str, pairs: Pairs, reader: ValueReader) -> bool:
    """It would be the same in both runs, were it not for the hook library."""
    if one.what != RESULT and not reader.is_steady(symbol, one.name):
        return False
    return not pairs.same(reader.steady(one.one, 0), reader.steady(one.other, 1))


def matched(
    mine: list[ComparedCall], yours: list[ComparedCall]
) -> Iterator[tuple[ComparedCall | None, ComparedCall | None, bool]]:
    """(the call here, the call there, whether that is in another place); None where there is none."""
    names = [one.name for one in mine], [one.name for one in yours]
    found: list[Pair] = list(aligned(*names))
    elsewhere = dict(reordered(*names, found))
    taken = set(elsewhere.values())
    for first, second in found:
        if first is not None and first in elsewhere:
            yield mine[first], yours[elsewhere[first]], True
        elif second is None or second not in taken:
            yield (None if first is None else mine[first]), (None if second is None else yours[second]), False
