"""Guards: the filters of cuda-break compiled into the process, so that a call which does not match costs no stop.

The breakpoint stays what it is: gdb's own, in the function, behind its prologue, with its native condition. While the
program runs its location is switched off, and the function's entry leads to a trampoline with the test. A call that
matches comes by an internal breakpoint there (`Hit`), which never stops: it switches the location on, and the same
thread runs into it a few instructions later. A second one at the location itself (`Arrival`) switches it off again as
soon as no call is on its way. So everything that gdb does at that address, stepping included, works as ever, and a
guard that lets too much through costs time, never a wrong stop. At every stop the location is on, as the user left it.

    test, false:  trampoline, function (nothing stops)
    test, true:   Hit switches on  ->  function  ->  Arrival and the user's breakpoint  ->  a stop
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Callable

import gdb

from gdbcuda import abi, trampoline
from gdbcuda import condition as conditions
from gdbcuda.condition import to_x86, typed
from gdbcuda.detour import Detour, Refused
from gdbcuda.errors import UserError
from gdbcuda.live import breakpoints, callers, detour, frames, names, returns, settings, target
from gdbcuda.x86 import Code


@dataclass
class Filter:
    """What one breakpoint lets through; ``native`` is its condition as cuda-break wrote it."""

    native: str
    terms: Sequence[Callable[[], trampoline.Test]]  # all have to hold; `Refused` where the machine cannot test one
    why: str = ""  # there is no guard

    def test(self) -> trampoline.Test:
        if not self.terms:
            raise Refused(EVERY_CALL)
        return trampoline.all_of([term() for term in self.terms])


EVERY_CALL, SWITCHED_OFF = "every call is wanted", "set cuda-guard off"


def tree_term(tree: typed.Typed, locations: Sequence[abi.Location]) -> Callable[[], trampoline.Test]:
    def write(code: Code, true: str, false: str, pushed: int) -> None:
        try:
            to_x86.branch(code, tree, locations, true, false, pushed)
        except to_x86.Refused as reason:
            raise Refused(str(reason)) from None

    return lambda: write


def caller_terms(wanted: str) -> list[Callable[[], trampoline.Test]]:
    return [] if wanted == "any" else [lambda: callers.test(wanted)]


def refusal(why: str) -> Callable[[], trampoline.Test]:
    def refuse() -> trampoline.Test:
        raise Refused(why)

    return refuse


@dataclass
class Guard:
    """One patched function; ``members`` are the numbers of the breakpoints that share the patch."""

    function: int
    stop: int
    members: tuple[int, ...]
    detour: Detour
    trampoline: trampoline.Trampoline
    hit: Hit = field(init=False)
    arrival: Arrival = field(init=False)
    resting: bool = False  # the breakpoints' locations are switched off
    armed: set[tuple[int, int, int]] = field(default_factory=set)  # calls between Hit and Arrival

    def switch(self, on: bool) -> None:
        """The locations of all members, and the breakpoint that notices arrivals."""
        if self.resting is not on:
            return
        self.resting = not on
        _switching.append(self.function)
        try:
            for number in self.members:
                switch_location(number, self.stop, on)
            self.arrival.enabled = on
        finally:
            _switching.pop()


FILTERS: dict[int, Filter] = {}
GUARDS: dict[int, Guard] = {}  # by address of the function
_switching: list[int] = []  # what we switch is modified too
_trash: list[gdb.Breakpoint] = []  # gdb may be walking its list: deleted at the next stop or prompt
_stepping: list[bool] = []  # the stops are ours
_leaving: list[bool] = []  # the process is about to be let go
_fresh: set[str] = set()  # objects loaded since the process last ran: no thread is in their functions


class Hit(gdb.Breakpoint):
    """In the trampoline: a call that passed the test goes by."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(f"*{guard.trampoline.hit:#x}", internal=True)
        self.guard = guard

    def stop(self) -> bool:
        sp = returns.current_stack_pointer() + self.guard.detour.pushed
        forget_deeper(self.guard, sp)
        self.guard.armed.add((*returns.thread_key(), sp))
        self.guard.switch(True)
        return False


class Arrival(gdb.Breakpoint):
    """At the user's breakpoint, while that is on."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(f"*{guard.stop:#x}", internal=True)
        self.guard = guard

    def stop(self) -> bool:
        self.guard.armed.discard((*returns.thread_key(), frames.entry_sp(gdb.newest_frame()) or 0))
        forget_deeper(self.guard, returns.current_stack_pointer())
        if not self.guard.armed:
            self.guard.switch(False)
        return False


def forget_deeper(guard: Guard, sp: int) -> None:
    """Calls of this thread that were deeper on the stack than it is now are over (longjmp, an exception)."""
    thread = returns.thread_key()
    guard.armed = {key for key in guard.armed if key[:2] != thread or key[2] >= sp}


def want(
    made: gdb.Breakpoint, native: str, symbol: str, condition: conditions.Condition | None, wanted_callers: str
) -> None:
    """cuda-break has made a breakpoint on ``symbol`` with the condition ``native``, which says the same in gdb."""
    function = names.function_named(symbol)
    terms = caller_terms(wanted_callers)
    if condition is not None and function is not None:
        terms.insert(0, tree_term(condition.trees[symbol], abi.locate(function, "x86-64")))
    elif native and not native.startswith("$_cuda_"):
        terms = [refusal("its condition is gdb's own, for the function is not in the API table")]
    add(made, native, terms)


def want_name(made: gdb.Breakpoint, native: str, argument: int, pattern: str | None, wanted_callers: str) -> None:
    """The same for a resolver that is asked for a name: what begins as the pattern does is looked at in gdb."""
    terms = caller_terms(wanted_callers)
    head = re.split(r"[*?\[]", pattern or "", maxsplit=1)[0]
    if head:
        registers = abi.convention("x86-64").integers
        places = [abi.Location((abi.Piece(register, None, abi.WORD),)) for register in registers]
        terms.insert(0, tree_term(typed.Matches("name", argument, head.encode(), True), places))
    add(made, native, terms)


def add(made: gdb.Breakpoint, native: str, terms: list[Callable[[], trampoline.Test]]) -> None:
    FILTERS[made.number] = Filter(native, terms)
    refresh([made.number])


def state_of(number: int) -> str:
    """For people: "guarded", or why not; "" where nobody would expect it, or it is not known yet."""
    found = FILTERS.get(number)
    if found is None or not target.is_alive() or found.why in (EVERY_CALL, SWITCHED_OFF):
        return ""
    if any(number in guard.members for guard in GUARDS.values()):
        return "guarded"
    return f"not guarded: {found.why}" if found.why else ""


def switch_location(number: int, address: int, on: bool) -> None:
    breakpoint = by_number(number)
    if breakpoint is None:
        return
    for index, (found, enabled) in enumerate(places(breakpoint), 1):
        if found == address and enabled != on:
            breakpoints.switch(breakpoint, breakpoints.Location(index, found, enabled, ""), on)


def by_number(number: int) -> gdb.Breakpoint | None:
    return next((one for one in gdb.breakpoints() if one.number == number), None)


def places(breakpoint: gdb.Breakpoint) -> list[tuple[int, bool]]:
    """(address, enabled) of each location."""
    if hasattr(breakpoint, "locations"):  # gdb 13
        return [(one.address or 0, one.enabled) for one in breakpoint.locations]
    if breakpoint.type != gdb.BP_BREAKPOINT:
        return []
    return [(one.address, one.enabled) for one in breakpoints.parse_locations(breakpoint.number)]


def refresh(numbers: Sequence[int]) -> None:
    """Makes the guards of these breakpoints what they should be now."""
    reason = "detaching" if _leaving else SWITCHED_OFF if settings.value("cuda-guard") == "off" else ""
    if reason == SWITCHED_OFF and not GUARDS:
        for number in set(numbers) & set(FILTERS):
            FILTERS[number].why = reason
        return
    reason = reason or detour.is_possible()
    functions = {g.function for g in GUARDS.values() if set(g.members) & set(numbers)}
    for number in numbers:
        if number in FILTERS:
            for stop in stops_of(number, reason):
                function = target.function_start(stop) or stop
                functions.add(function)
    for function in functions:
        settle(function, reason)


def stops_of(number: int, reason: str) -> list[int]:
    """Addresses of the breakpoint's locations that are on, or would be without their guard; says why there are none."""
    found, breakpoint = FILTERS[number], by_number(number)
    if breakpoint is None or not breakpoint.enabled:
        found.why = "disabled"
    elif reason:
        found.why = reason
    elif (breakpoint.condition or "") != found.native:
        found.why = "its condition was changed"
    else:
        resting = {g.stop for g in GUARDS.values() if number in g.members and g.resting}
        return [address for address, on in places(breakpoint) if on or address in resting]
    return []


def settle(function: int, reason: str) -> None:
    """One function: the guard for all breakpoints on it, or none."""
    members = {n: s for n in FILTERS for s in stops_of(n, reason) if target.function_start(s) == function}
    old = GUARDS.get(function)
    if old is not None and members and set(old.members) == set(members) and {old.stop} == set(members.values()):
        return
    if old is not None:
        remove(old)
    if not members:
        return
    try:
        install(function, members)
        why = ""
    except Refused as problem:
        why = str(problem)
    except UserError as problem:
        why = str(problem)
    for number in members:
        FILTERS[number].why = why


def install(function: int, members: dict[int, int]) -> None:
    stops = set(members.values())
    if len(stops) > 1:
        raise Refused("its breakpoints are at different places")
    stop = stops.pop()
    refuse_middle_of_loading()
    found = detour.plan(function, stop)
    refuse_other_breakpoints(found, members)
    refuse_threads(found)
    tests = [FILTERS[number].test() for number in members]
    guard = Guard(function, stop, tuple(members), found, detour.place(found, tests))
    guard.hit, guard.arrival = Hit(guard), Arrival(guard)
    detour.apply(found, guard.trampoline)
    GUARDS[function] = guard


def is_stopped() -> bool:
    """For the user, that is: not in the middle of something that gdb handles by itself."""
    thread = gdb.selected_thread()
    return thread is not None and thread.is_stopped()


def step_out(inside: Callable[[int], bool], spared: gdb.InferiorThread | None = None) -> None:
    _stepping.append(True)
    try:
        detour.step_out(inside, spared)
    finally:
        _stepping.pop()


def refuse_middle_of_loading() -> None:
    """gdb 14 keeps its breakpoints in another kind of list, and aborts when one is made while it sets them again.
    (What tells such a gdb: it has the event executable_changed.)"""
    if hasattr(gdb.events, "executable_changed") and not is_stopped():
        raise Refused("this gdb makes no breakpoint while a library is loaded; there will be one after the next stop")


def refuse_other_breakpoints(found: Detour, members: dict[int, int]) -> None:
    for one in gdb.breakpoints():
        if one.enabled and any(found.patch <= at < found.resume for at, _ in places(one)):
            raise Refused(f"breakpoint {one.number} is on the function's first instructions")


def refuse_threads(found: Detour) -> None:
    """A thread in the middle of what is replaced would go on in the middle of the jump."""
    where = detour.thread_addresses()
    if any(pc in found.changed for pc in where) and None not in where and is_stopped():
        step_out(lambda pc: pc in found.changed, gdb.selected_thread())  # not the one that the user looks at
        where = detour.thread_addresses()
    if any(pc in found.changed for pc in where):
        raise Refused("a thread is in the function's first instructions now")
    if None in where and target.object_of(found.function) not in _fresh:
        raise Refused("threads are running; there will be one after the next stop")


def remove(guard: Guard) -> None:
    """The function as it was. What is left of the trampoline goes when no thread is in it."""
    del GUARDS[guard.function]
    guard.switch(True)
    guard.hit.enabled = guard.arrival.enabled = False
    _trash.extend((guard.hit, guard.arrival))
    if target.is_alive():
        detour.take_back(guard.detour, guard.trampoline)


# -- events


def on_modified(breakpoint: gdb.Breakpoint) -> None:
    if _switching:
        return
    if breakpoint.number in FILTERS:
        refresh([breakpoint.number])
    elif breakpoint.number > 0:
        on_created(breakpoint)


def on_created(breakpoint: gdb.Breakpoint) -> None:
    """Somebody's breakpoint on bytes that we have replaced: it has the right of way."""
    if not GUARDS or breakpoint.number <= 0:
        return
    for guard in list(GUARDS.values()):
        if any(guard.detour.patch <= at < guard.detour.resume for at, _ in places(breakpoint)):
            settle_again(guard)


def settle_again(guard: Guard) -> None:
    remove(guard)
    refresh(guard.members)


def on_deleted(breakpoint: gdb.Breakpoint) -> None:
    if breakpoint.number <= 0:
        return
    FILTERS.pop(breakpoint.number, None)
    for guard in [g for g in GUARDS.values() if breakpoint.number in g.members]:
        guard.members = tuple(n for n in guard.members if n != breakpoint.number)
        settle_again(guard)


def on_objfile(event: gdb.NewObjFileEvent) -> None:
    """gdb is about to set its breakpoints again."""
    detour.show_original_code(True)
    _fresh.add(target.strip_prefix(event.new_objfile.filename or ""))


def on_continue(event: object) -> None:
    _fresh.clear()
    detour.show_original_code(False)


def on_stop(event: object = None) -> None:
    """All threads stand still: what had to wait is done, and breakpoints look as the user left them."""
    if _stepping:
        return
    detour.show_original_code(False)
    for guard in GUARDS.values():
        guard.switch(True)
    sweep()
    if FILTERS and target.is_alive():
        refresh([n for n, one in FILTERS.items() if one.why not in ("", EVERY_CALL, SWITCHED_OFF)])
        detour.clean()


def sweep(event: object = None) -> None:
    detour.show_original_code(False)
    while _trash:
        one = _trash.pop()
        if one.is_valid():
            one.delete()


def take_all_back(event: object = None) -> None:
    """Before gdb lets the process go."""
    _leaving.append(True)  # the stops on the way out would bring them back
    for guard in list(GUARDS.values()):
        remove(guard)
    sweep()
    if target.is_alive() and not target.is_running():
        if event is None:
            step_out(detour.is_left)
        detour.clean()


def forget_process() -> None:
    """The process is gone, and with it what was patched."""
    for guard in list(GUARDS.values()):
        del GUARDS[guard.function]
        guard.switch(True)
        _trash.extend((guard.hit, guard.arrival))
    detour.forget_process()
    _leaving.clear()
    sweep()


def on_setting() -> None:
    """set cuda-guard"""
    refresh(list(FILTERS))


def watch_detach() -> None:
    """gdb has no event in front of ``detach``, only the user's hook, which is left alone where there is one."""
    if "hook-detach" not in gdb.execute("show user", to_string=True):
        action = "import gdbcuda.live.guards as guards; guards.take_all_back()"
        gdb.execute(f"define hook-detach\npython {action}\nend", to_string=True)


settings.ON_CHANGE["cuda-guard"] = on_setting
watch_detach()
