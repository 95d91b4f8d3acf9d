"""Guards: the filters of cuda-break compiled into the process, so that a call which does not match costs no stop.

Which breakpoints have one, and when they come and go; `guard` is what one of them does, `guard_filters` what it tests.
A guard is made where gdb can make breakpoints and it is known where the threads are: in commands, when the program
goes on, at a stop, and in the ``stop`` of a breakpoint of ours on the loader (`Loading`), which gdb asks after it has
set its own breakpoints again. Not in the events about breakpoints: gdb 14 aborts when one is made while it walks its
list of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Callable

import gdb

from gdbcuda import condition as conditions
from gdbcuda.detour import Detour, Refused
from gdbcuda.errors import UserError
from gdbcuda.live import counting, detour, guard_filters, inferiors, settings, target
from gdbcuda.live.guard import Guard, places, sweep, switching, trash
from gdbcuda.live.guard_calls import Calls
from gdbcuda.live.guard_filters import EVERY_CALL, Filter
from gdbcuda.live.inferiors import PerInferior

THIS = "__import__('gdbcuda.live.guards', fromlist=['*'])"  # in gdb's python command: binds no name of the user's
SWITCHED_OFF = "guards are off ('set cuda-guard auto' switches them on)"
FEW = 8  # guards that are lifted at every stop; of more, only that of the function where the program stops
# Where gdb has read the loader's list anew (glibc's probes in elf/rtld.c, dl-open.c, dl-close.c), and what it uses
# where the loader has none. They are gdb's own places, so that they cost no packets of their own.
START, LOADER = "-probe-stap rtld:init_complete", ("-probe-stap rtld:reloc_complete", "-probe-stap rtld:unmap_complete")
NO_PROBES = "-function _dl_debug_state"


@dataclass
class Process:
    """``guards``: by address of the function; ``stops``: by function, which breakpoints want a guard there, and where;
    ``why``: by breakpoint, why it has none; ``stale``: breakpoints to look at again; ``waiting``: those for which it
    was not the moment; ``fresh``: objects loaded since the process last ran, in whose functions no thread can be;
    ``inherited``: guards of the process that it is a fork of, perhaps: their patches, and nobody's now."""

    guards: dict[int, Guard] = field(default_factory=dict)
    stale: set[int] = field(default_factory=lambda: set(FILTERS))
    waiting: set[int] = field(default_factory=set)
    fresh: set[str] = field(default_factory=set)
    inherited: list[Guard] = field(default_factory=list)
    calls: Calls = field(default_factory=lambda: Calls())
    why: dict[int, str] = field(default_factory=dict)
    stops: dict[int, dict[int, int]] = field(default_factory=dict)
    is_stopped: bool = field(default_factory=lambda: is_stopped())  # for the user
    is_leaving: bool = False
    is_full: str = ""  # no room for another trampoline

    def end(self) -> None:
        for one in self.guards.values():
            one.forget()
        _ended[:] = self.guards.values() or _ended
        for place in _loading:
            place.enabled = True
        sweep()

    def guards_of(self, number: int) -> list[Guard]:
        return [one for one in self.guards.values() if number in one.members]


def is_stopped() -> bool:
    thread = gdb.selected_thread()
    return thread is not None and thread.is_stopped()


FILTERS: dict[int, Filter] = {}
PROCESSES: PerInferior[Process] = PerInferior(Process, Process.end)
_stepping: list[bool] = []  # the stops are ours
_loading: list[Loading] = []
_ended: list[Guard] = []  # of the last process that gdb has left: where it follows a fork, that one


class NotNow(Refused):
    """Later perhaps: what is in the way now is no property of the function."""


class Loading(gdb.Breakpoint):
    """Where the loader tells debuggers of new objects. Internal, for it never stops."""

    def __init__(self, place: str) -> None:
        super().__init__(place, internal=True)
        self.place = place

    def stop(self) -> bool:
        process = PROCESSES()
        if self.place == START or (self.place == NO_PROBES and any(one.is_probe() for one in _loading)):
            self.enabled = False
        forget_unloaded(process)
        if process.fresh:
            for guard in [one for one in process.guards.values() if any(FILTERS[n].names_callers for n in one.members)]:
                process.stale.update(guard.members)
                remove(guard)
        refresh(process.waiting)
        process.fresh.clear()
        return False

    def is_probe(self) -> bool:
        return self.place in LOADER and not self.pending


def forget_unloaded(process: Process) -> None:
    """What was written into an object has gone with it. (gdb 10 has no event for that.)"""
    target.forget()
    for function, guard in list(process.guards.items()):
        if not hasattr(gdb, "BreakpointLocation"):  # before gdb 13 an unloaded one cannot be found to switch it on
            guard.wake()
        if not any(one.holds(function) for one in target.images()):
            del process.guards[function]
            process.stale.update(guard.members)
            guard.forget()
            detour.take_back(guard.detour, guard.trampoline)


def watch_loader() -> None:
    _loading.extend(Loading(place) for place in (START, *LOADER, NO_PROBES))


def watch_or_not() -> None:
    """Where there is no loader yet gdb would say so: hence the command, whose text is dropped."""
    if not FILTERS or settings.value("cuda-guard") == "off":
        trash.extend(_loading)
        _loading.clear()
    elif not _loading:
        gdb.execute(f"python {THIS}.watch_loader()", to_string=True)


# -- what cuda-break asks for


def want(
    made: gdb.Breakpoint, native: str, symbol: str, condition: conditions.Condition | None, wanted_callers: str,
    counts_calls: bool = False,
) -> None:  # fmt: skip
    """cuda-break has made a breakpoint on ``symbol`` with the condition ``native``, which says the same in gdb."""
    found = guard_filters.of_function(made, native, symbol, condition, wanted_callers)
    found.counts_calls = counts_calls
    add(made, found)


def want_name(made: gdb.Breakpoint, native: str, argument: int, pattern: str | None, wanted_callers: str) -> None:
    """The same for a resolver that is asked for a name."""
    add(made, guard_filters.of_name(native, argument, pattern, wanted_callers))


def add(made: gdb.Breakpoint, found: Filter) -> None:
    FILTERS[made.number] = found
    watch_or_not()
    PROCESSES().stale.add(made.number)


def state_of(number: int) -> str:
    """For people: "guarded", or why not; "" where nobody would expect it, or it is not known yet."""
    if number not in FILTERS or not target.is_alive():
        return ""
    if PROCESSES().guards_of(number):
        return "guarded"
    why = PROCESSES().why.get(number, "")
    return f"not guarded: {why}" if why not in ("", EVERY_CALL, SWITCHED_OFF) else ""


# -- which guards there are


def refresh(numbers: Iterable[int] = ()) -> None:
    """Makes the guards of these breakpoints, and of those that have changed, what they should be now."""
    process = PROCESSES()
    while process.inherited:
        process.inherited.pop().undo_in_fork()
    wanted = set(numbers) & set(FILTERS) | process.stale
    process.stale.clear()
    reason = "detaching" if process.is_leaving else SWITCHED_OFF if settings.value("cuda-guard") == "off" else ""
    if not wanted or (reason == SWITCHED_OFF and not process.guards):
        process.why.update(dict.fromkeys(wanted, reason))
        return
    reason = reason or detour.is_possible()
    functions = {function for function, stops in process.stops.items() if not wanted.isdisjoint(stops)}
    for function in functions:
        process.stops[function] = {n: s for n, s in process.stops[function].items() if n not in wanted}
    for one in gdb.breakpoints():
        if one.number in wanted and one.number in FILTERS:
            for stop in stops_of(one, reason):
                function = target.function_start(stop) or stop
                functions.add(function)
                process.stops.setdefault(function, {})[one.number] = stop
    process.waiting -= wanted
    for function in functions:
        settle(function)


def stops_of(breakpoint: gdb.Breakpoint, reason: str) -> list[int]:
    """Addresses of the breakpoint's locations that are on, or would be without their guard; says why there are none."""
    process, number, found = PROCESSES(), breakpoint.number, places(breakpoint)
    if not found:
        process.why[number] = ""  # pending, and gdb does not even tell its condition
    elif not breakpoint.enabled:
        process.why[number] = "disabled"
    elif reason:
        process.why[number] = reason
    elif (breakpoint.condition or "") != FILTERS[number].native:
        process.why[number] = "its condition was changed"
    else:
        resting = {one.stop for one in process.guards_of(number) if not one.is_awake}
        return [address for address, on in found if address and (on or address in resting)]
    return []


def settle(function: int) -> None:
    """One function: the guard for all breakpoints on it, or none."""
    process = PROCESSES()
    members, old = process.stops[function], process.guards.get(function)
    if old is not None and set(old.members) == set(members) and {old.stop} == set(members.values()):
        return
    if old is not None:
        remove(old)
    if not members:
        return
    try:
        install(function, members)
        why = ""
    except (Refused, UserError) as problem:
        why = str(problem)
        process.waiting.update(members if isinstance(problem, NotNow) else ())
    process.why.update(dict.fromkeys(members, why))


def install(function: int, members: dict[int, int]) -> None:
    """Only the trampoline is written: the guard begins lifted, and the function is changed when it first rests."""
    process, stops = PROCESSES(), set(members.values())
    if len(stops) > 1:
        raise Refused("its breakpoints are at different places")
    if process.is_full:
        raise Refused(process.is_full)
    if len(members) > 1 and any(FILTERS[number].is_counting for number in members):
        raise Refused("it counts calls, and another breakpoint is on the same function")
    stop = stops.pop()
    found = detour.plan(function, stop)
    refuse_other_breakpoints(found, members)
    threads = standing(found)
    tests = [FILTERS[number].test() for number in members]
    counter = process.calls.counter(function) if any(FILTERS[number].counts_calls for number in members) else None
    try:
        made = detour.place(found, tests, counter)
    except detour.NoRoom as problem:
        process.is_full = str(problem)
        raise
    guard = Guard(function, stop, tuple(members), found, made)
    if counter is not None:
        process.calls.begin(guard, counter)
    detour.prepare(found, made)
    for thread, positions in threads.items():
        for pc, sp in positions or ():
            guard.let_pass(thread, pc, sp)
    process.guards[function] = guard


def standing(found: Detour) -> dict[int, list[detour.Position] | None]:
    """Where the threads are; it has to be known, unless none can be in the function."""
    threads = detour.standing()
    if None in threads.values() and target.object_of(found.function) not in PROCESSES().fresh:
        raise NotNow("threads are running; there will be one after the next stop")
    if target.object_of(found.function) not in PROCESSES().fresh and detour.is_unreadable(threads):
        raise NotNow("a thread's stack cannot be read: a signal handler may return into the function")
    places_known = found.depths()
    if any(pc in found.changed and pc not in places_known for one in threads.values() for pc, _ in one or ()):
        raise NotNow("a thread is in the function's first instructions now")
    return threads


def refuse_other_breakpoints(found: Detour, members: dict[int, int]) -> None:
    for one in gdb.breakpoints():
        if one.number in members or not one.enabled or not one.is_valid() or one.number <= 0:
            continue
        if any(at in found.replaced and on for at, on in places(one)):
            raise NotNow(f"breakpoint {one.number} is on the function's first instructions")


def remove(guard: Guard) -> None:
    process = PROCESSES()
    del process.guards[guard.function]
    process.is_full = ""
    process.calls.end(guard)
    for number in guard.members:
        counting.take_back(number)
    guard.take_back()
    if process.is_stopped:
        clean()


def clean() -> None:
    with suppress(Refused):
        detour.clean()


# -- events


def on_modified(breakpoint: gdb.Breakpoint) -> None:
    """What does not hold any more ends now; what could be made waits for a better moment."""
    if switching:
        return
    if breakpoint.number not in FILTERS:
        on_created(breakpoint)
        return
    for process in PROCESSES.all():
        process.stale.add(breakpoint.number)
    for guard in PROCESSES().guards_of(breakpoint.number):
        if is_other(breakpoint):
            remove(guard)


def is_other(breakpoint: gdb.Breakpoint) -> bool:
    """Than its guard was made for. (Its locations are not asked for: gdb may be in the middle of them.)"""
    return not breakpoint.enabled or (breakpoint.condition or "") != FILTERS[breakpoint.number].native


def on_created(breakpoint: gdb.Breakpoint) -> None:
    """Somebody's breakpoint on bytes that we have replaced: it has the right of way."""
    if breakpoint.number <= 0 or breakpoint.number in FILTERS:
        return
    process = PROCESSES()
    for guard in list(process.guards.values()):
        if breakpoint.number not in guard.members and any(
            at in guard.detour.replaced and on for at, on in places(breakpoint)
        ):
            process.stale.update(guard.members)
            remove(guard)


def on_deleted(breakpoint: gdb.Breakpoint) -> None:
    if breakpoint.number <= 0:
        return
    FILTERS.pop(breakpoint.number, None)
    process = PROCESSES()
    for stops in process.stops.values():
        stops.pop(breakpoint.number, None)
    for guard in process.guards_of(breakpoint.number):
        process.stale.update(set(guard.members) - {breakpoint.number})
        remove(guard)
    if not FILTERS:
        watch_or_not()


def on_objfile(event: gdb.NewObjFileEvent) -> None:
    """gdb is about to set its breakpoints again."""
    detour.show_original_code(True)
    process = PROCESSES()
    process.fresh.add(target.strip_prefix(event.new_objfile.filename or ""))


def on_process(inferior: gdb.Inferior) -> None:
    """With a second process in this gdb there are no guards. If it is a fork of the first it has their patches."""
    others = {one.num: list(PROCESSES.of(one).guards.values()) for one in gdb.inferiors() if one.num != inferior.num}
    PROCESSES.of(inferior).inherited = [*_ended, *(guard for guards in others.values() for guard in guards)]
    for other in gdb.inferiors():
        if other.pid and others.get(other.num):
            with inferiors.selected(other):
                for guard in others[other.num]:
                    remove(guard)


def on_continue(event: object) -> None:
    detour.show_original_code(False)
    process = PROCESSES()
    if not process.is_stopped:
        return  # gdb tells of every thread that goes on, new ones too
    process.is_stopped = False
    sweep()
    refresh(process.waiting)
    process.fresh.clear()
    here = detour.positions_here()
    for guard in list(process.guards.values()):
        if here:
            guard.let_pass(gdb.selected_thread().num, *here[0])
        if not guard.detour.covers_stop and not guard.inside and guard.is_lifted:
            guard.lower()


def on_stop(event: object = None) -> None:
    """All threads stand still: what had to wait is done, and breakpoints and code look as the user left them."""
    if _stepping:
        return
    detour.show_original_code(False)
    process = PROCESSES()
    process.is_stopped = True
    for guard in list(process.guards.values()):
        guard.wake()
        guard.look_again()
    sweep()
    if FILTERS and target.is_alive() and not target.is_running():
        lift_shown(process)
        clean()
        refresh(process.waiting)


def lift_shown(process: Process) -> None:
    here = detour.positions_here()
    function = target.function_start(here[0][0]) if here else None
    for guard in process.guards.values():
        if len(process.guards) <= FEW or guard.function == function:
            guard.lift()


def on_prompt() -> None:
    sweep()


def on_call(event: object) -> None:
    """A function that the user has called in the program is over: this is a stop without an event."""
    if type(event).__name__ == "InferiorCallPostEvent" and target.is_alive():
        on_stop()


def take_all_back(event: object = None) -> None:
    """Before gdb lets the process go."""
    process = PROCESSES()
    process.is_leaving = True  # the stops on the way out would bring them back
    for guard in list(process.guards.values()):
        remove(guard)
    sweep()
    if target.is_alive() and not target.is_running():
        step_out(detour.is_left)
        clean()


def step_out(inside: Callable[[int], bool]) -> None:
    _stepping.append(True)
    try:
        detour.step_out(inside)
    finally:
        _stepping.pop()


def on_setting() -> None:
    """set cuda-guard"""
    refresh(list(FILTERS))
    watch_or_not()


def calls_seen(number: int) -> int | None:
    """With cuda-break --count: the calls of the function since then, those that did not match included."""
    if number not in FILTERS or not FILTERS[number].counts_calls or not target.is_alive():
        return None
    process = PROCESSES()
    return process.calls.seen(number, next(iter(process.guards_of(number)), None))


def already_decided(number: int) -> bool | None:
    """Has the trampoline counted the call that the selected thread has at the breakpoint, and what did it say?"""
    guards = PROCESSES().guards_of(number)
    return guards[0].verdict() if guards else None


def watch_detach() -> None:
    """gdb has no event in front of ``detach``, only the user's hook, which is left alone where there is one."""
    if "hook-detach" not in gdb.execute("show user", to_string=True):
        gdb.execute(f"define hook-detach\npython {THIS}.take_all_back()\nend", to_string=True)


settings.ON_CHANGE["cuda-guard"] = on_setting
counting.already_decided.append(already_decided)
watch_detach()
