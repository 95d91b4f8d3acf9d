"""A run that gets memory and gives it back, again and again, each time with another call that the driver refuses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property, partial

from gdbcuda import api
from gdbcuda.contract.bench import Bench
from gdbcuda.contract.books import numbers
from gdbcuda.contract.books.sequences import of_allocators
from gdbcuda.contract.c_programs.building import Ran, written
from gdbcuda.contract.c_programs.filling import block_type
from gdbcuda.contract.c_programs.showing_program import HookSurroundings
from gdbcuda.contract.failing import run_output
from gdbcuda.contract.failing.one_function import DriverFault, can_fail
from gdbcuda.contract.failing.run_judging import RunJudge
from gdbcuda.contract.failing.run_output import ProgramCall
from gdbcuda.contract.program import ANSWER, SEEN
from gdbcuda.contract.registry import Broken
from gdbcuda.data_classes import dataclass

PATIENCE = 5.0  # seconds of a run: a lock that is left held is waited for
MOST = 200  # calls that are refused, one a run
DEEDS = """\
static BLOCK block;

static long get(void)
{
    return GET;
}

static long give(void)
{
    return GIVE;
}
"""


@dataclass
class FailingRun:
    """Of one allocator, with the release that is the last of its."""

    bench: Bench
    allocator: api.Function

    def broken(self) -> Iterator[Broken]:
        usual, made = self.run(None)
        if usual.status or not made:
            return  # what ends where nothing is refused is told by the other groups
        judge = RunJudge(self.bench.table, made)
        seen: set[str] = set()
        for fault in self.chosen(run_output.positions(made)):
            what, example = judge.wrong(*self.run(fault), fault)
            if what and what not in seen:
                seen.add(what)
                yield Broken(what, example, partial(self.shown, fault))

    def chosen(self, positions: Iterable[tuple[str, int]]) -> list[DriverFault]:
        table = self.bench.table
        found = [DriverFault(*one) for one in positions if can_fail(table.functions.get(one[0]))]
        if len(found) > MOST:
            self.bench.note(f"faults: {MOST} of {len(found)} calls of the driver a run are refused, others by --seed")
            found = sorted(self.bench.dice(f"faults {self.allocator.symbol}").sample(found, MOST))
        return found

    def run(self, fault: DriverFault | None) -> tuple[Ran, list[ProgramCall]]:
        workshop = self.bench.workshop
        ran = workshop.run([workshop.built(self.text)], more=self.environment(fault), patience=PATIENCE)
        return ran, list(run_output.calls(ran.output, self.bench.table.functions))

    def environment(self, fault: DriverFault | None) -> dict[str, str]:
        answer = {ANSWER: fault.answer(self.bench.table)} if fault else {}
        return {SEEN: "/dev/stdout", **answer}

    def shown(self, fault: DriverFault, title: str, around: HookSurroundings) -> str:
        showing = self.bench.workshop.showing(self.text, self.allocator.symbol, more=self.environment(fault))
        return showing.shown(title, around)

    @cached_property
    def text(self) -> str:
        functions, allocator = self.bench.memory_functions, self.allocator
        release = functions.releases(allocator)[-1]
        got, given = (functions.call(one, "block", "size") for one in (allocator, release))
        assert got and given
        deeds = DEEDS.replace("BLOCK", block_type(allocator)).replace("GET", got.text).replace("GIVE", given.text)
        places = {
            "HELPERS": of_allocators(functions, {allocator.symbol}), "NUMBERS": numbers.asking(functions.numbers),
            "DEEDS": deeds, "RUNS": f'if (done("{allocator.symbol}", get))\n    done("{release.symbol}", give);',
        }  # fmt: skip
        template = (self.bench.templates / "failing" / "run.c").read_text()
        return written(functions.table, template, places, functions.is_by_dlsym)
