"""What is known of the guards in each process, and of the breakpoints that want some."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Callable

import gdb

from gdbcuda.data_classes import dataclass, field
from gdbcuda.live import process
from gdbcuda.live.breakpoints import ours
from gdbcuda.live.breakpoints.ours import WantedGuards
from gdbcuda.live.guard import libc_calls
from gdbcuda.live.guard.guard import Guard
from gdbcuda.live.guard.watch import Watch, sweep, trash
from gdbcuda.live.guarding.counted_calls import CountedCalls
from gdbcuda.live.host import inferiors
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.stopping import injections


@dataclass
class Guarded:
    """``guards``: by address of the function; ``fresh``: objects loaded since the process last ran, in whose functions
    no thread can be; ``inherited``: guards of the process that it is a fork of, perhaps: their patches, and nobody's
    now; ``touched``: functions that a breakpoint has left, or whose calls somebody of ours watches, or has ceased to,
    since they were looked at; ``is_confined``: by seccomp, None while nobody looks out for that; ``lookouts``: for
    libc's calls that matter."""

    guards: dict[int, Guard] = field(default_factory=dict)
    fresh: set[str] = field(default_factory=set)
    touched: set[int] = field(default_factory=set)
    inherited: list[Guard] = field(default_factory=list)
    calls: CountedCalls = field(default_factory=lambda: CountedCalls())
    is_stopped: bool = field(default_factory=lambda: is_stopped())  # for the user
    is_leaving: bool = False
    is_confined: bool | None = None
    lookouts: dict[Callable[[], None], list[Watch]] = field(default_factory=dict)
    last_calls: set[tuple[int, int]] = field(default_factory=set)  # begun, by thread and stack pointer
    is_full: str = ""  # no room for another trampoline

    def end(self) -> None:
        for one in self.guards.values():
            one.end()
        ended[:] = self.guards.values() or ended
        trash.extend(one for watches in self.lookouts.values() for one in watches)
        sweep()

    def guards_of(self, number: int) -> list[Guard]:
        return [one for one in self.guards.values() if number in one.members]

    def look_out(self, ways: dict[str, libc_calls.Wanted], notice: Callable[[], None], rare: bool = False) -> None:
        if notice not in self.lookouts:
            self.lookouts[notice] = libc_calls.watches((ways, notice), rare=rare)

    def look_no_more(self) -> None:
        """Nothing wants a guard any more."""
        self.is_confined = self.is_confined or None
        while self.lookouts:
            for one in self.lookouts.popitem()[1]:
                one.switch(False)
                trash.append(one)

    def trouble_of(self, number: int) -> str:
        """Why one of its functions stays as it is, though it has a guard."""
        return next((one.trouble for one in self.guards_of(number) if one.trouble), "")


def is_stopped() -> bool:
    thread = inferiors.selected_thread()
    return thread is not None and thread.is_stopped()


PROCESSES: PerInferior[Guarded] = PerInferior(Guarded, Guarded.end)
ended: list[Guard] = []  # of the last process that gdb has left: where it follows a fork, that one


def wanted() -> dict[int, WantedGuards]:
    """By breakpoint, what there is of the guards that it wants in the selected inferior's process."""
    inferior = gdb.selected_inferior()
    return {one.number: one.here.of(inferior).guards for one in ours.filtered()}


def wanted_by(number: int) -> WantedGuards:
    return ours.of(number).here().guards


def members_of(function: int) -> dict[int, int]:
    """The breakpoints that want a guard there, and the addresses of their locations."""
    return {number: one.stops[function] for number, one in wanted().items() if function in one.stops}


def members_by_function() -> dict[int, dict[int, int]]:
    found: dict[int, dict[int, int]] = {}
    for number, one in wanted().items():
        for function, stop in one.stops.items():
            found.setdefault(function, {})[number] = stop
    return found


def refuse(numbers: Iterable[int], why: str, is_for_now: bool = False, is_roomless: bool = False) -> None:
    for one in map(wanted_by, numbers):
        one.why = why
        one.is_waiting |= is_for_now
        one.is_roomless |= is_roomless


def waiting() -> list[int]:
    return [number for number, one in wanted().items() if one.is_waiting]


def roomless() -> list[int]:
    return [number for number, one in wanted().items() if one.is_roomless]


def look_again(numbers: Iterable[int]) -> None:
    """At what these breakpoints want, as soon as may be."""
    for number in numbers:
        wanted_by(number).is_stale = True


def calls_seen(number: int) -> int | None:
    """With cuda-break --count: the calls of the function since then, those that did not match included."""
    found = ours.filter_of(number)
    if found is None or not found.counts_calls:
        return None
    if not process.is_alive():
        return ours.of(number).ended().calls_seen
    state = PROCESSES()
    return state.calls.seen(number, state.guards_of(number))


def keep_counts() -> None:
    """The process's memory goes with it."""
    for one in ours.filtered() if process.is_alive() else ():
        seen = calls_seen(one.number)
        if seen is not None:
            one.ended().calls_seen = seen
    injections.keep()
    if any(one.enabled for one in PROCESSES().lookouts.get(at_last_call, ())) and process.catches_sigtrap():
        look_at_last_calls_no_more()


def at_last_call() -> None:
    """A thread comes by once: it comes back where gdb passes the SIGTRAP of its breakpoints on to the program, which
    would never come to its end. (`handle SIGTRAP pass`; who catches it is not known through gdbserver in gdb 10.) And
    where a timer is faster than we are: gdb has a breakpoint of its own there then, and ours stays."""
    state, thread = PROCESSES(), inferiors.selected_thread()
    where = thread.num if thread is not None else 0, process.register("sp")
    if where in state.last_calls:
        look_at_last_calls_no_more()
    else:
        keep_counts()
    state.last_calls.add(where)


def look_at_last_calls_no_more() -> None:
    for watch in PROCESSES().lookouts.get(at_last_call, ()):
        watch.switch(False)
