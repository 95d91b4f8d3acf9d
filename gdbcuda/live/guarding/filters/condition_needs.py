"""What a condition's machine code needs of the process beside the call: counters, threads, callers' addresses."""

from __future__ import annotations

from collections.abc import Sequence

from gdbcuda.condition import typed
from gdbcuda.condition.place import Range
from gdbcuda.live.frames import callers, condition_words
from gdbcuda.live.guarding.filters import gdb_threads
from gdbcuda.live.patching import counter_words
from gdbcuda.live.stopping import counting
from gdbcuda.machine.detour import NoDetour


def counter(number: int) -> int:
    """Address of what a breakpoint's terms count in, at all of its places."""
    count = counting.of(number)
    if count.word is None:
        count.word = counter_words.reserve()
    return count.word


class SelectedProcess:
    """`gdbcuda.condition.place.ProcessPlaces` of the selected process, for the condition of one breakpoint."""

    def __init__(self, number: int, counts: bool = False) -> None:
        self.number, self.counts = number, counts

    def counter(self, node: typed.Count) -> int:
        address = counter(self.number)
        if counting.of(self.number).address != address:
            counting.move_into_process(self.number, address)
        return address

    def caller_ranges(self, node: typed.CallerIn) -> Sequence[Range]:
        if self.counts and not self.knows_all_callers(node):
            raise NoDetour(f"calls are counted, and {', '.join(node.words)} may be Python's, whose frames gdb reads")
        return callers.ranges(node.words)

    def knows_all_callers(self, node: typed.CallerIn) -> bool:
        return not any(map(condition_words.may_be_script, node.words))

    def thread(self, node: typed.Thread) -> int:
        return gdb_threads.known_by(node.number)


class FaultyProcess(SelectedProcess):
    """The same for a fault: gdb does not look at the call again."""

    def caller_ranges(self, node: typed.CallerIn) -> Sequence[Range]:
        if not self.knows_all_callers(node):
            raise NoDetour(f"{', '.join(node.words)} may be Python's, whose frames gdb reads")
        return callers.ranges(node.words)
