"""Guards: the filters of cuda-break compiled into the process, so that a call which does not match costs no stop.

Which breakpoints want one, and what gdb's events mean for them. `guard_making` makes them, `guard` is what one of them
does, `guard_filters` what it tests.
"""

from __future__ import annotations

from typing import Callable

import gdb

from gdbcuda import condition as conditions
from gdbcuda.live import breakpoints, process
from gdbcuda.live.breakpoints import ours
from gdbcuda.live.breakpoints.locations import Location, places
from gdbcuda.live.breakpoints.ours import GuardFilter, OurBreakpoint
from gdbcuda.live.guard.guard import Guard
from gdbcuda.live.guard.watch import sweep, switching
from gdbcuda.live.guarding import filters, gdb_threads
from gdbcuda.live.guarding.by_process import (
    PROCESSES,
    Guarded,
    calls_seen,
    ended,
    keep_counts,
    look_again,
    wanted,
    wanted_by,
)  # fmt: skip
from gdbcuda.live.guarding.filters import EVERY_CALL
from gdbcuda.live.guarding.loading import watch_or_not
from gdbcuda.live.guarding.making import (
    SWITCHED_OFF,
    clean,
    is_changed,
    refresh,
    release_unneeded,
    remove,
    renew,
    roomless,
    undo_inherited,
    waiting,
)  # fmt: skip
from gdbcuda.live.host import console, inferiors
from gdbcuda.live.patching import counter_words, detours, mapped_pages, trampoline_space
from gdbcuda.live.placing import inserted, link, own_process
from gdbcuda.live.prompt import settings, user_hooks
from gdbcuda.live.stopping import counting
from gdbcuda.live.stopping.functions import function
from gdbcuda.live.threads import positions
from gdbcuda.machine.detour import NoDetour

__all__ = ["PROCESSES", "calls_seen", "refresh", "wanted_by"]

FEW, FEW_FAR = 8, 2  # guards that are lifted at every stop; of more, only that of the function where the program stops
_stepping: list[bool] = []  # the stops are ours


# -- what cuda-break asks for


def want(
    made: gdb.Breakpoint, native: str, symbol: str, condition: conditions.Condition | None, wanted_callers: str,
    counts_calls: bool = False,
) -> None:  # fmt: skip
    """cuda-break has made a breakpoint on ``symbol`` with the condition ``native``, which says the same in gdb."""
    found = filters.of_function(made.number, native, symbol, condition, wanted_callers)
    add(made, found._replace(counts_calls=counts_calls))


def want_name(
    made: gdb.Breakpoint, native: str, argument: int, pattern: str | None, wanted_callers: str
) -> None:
    """The same for a resolver that is asked for a name."""
    add(made, filters.of_name(native, argument, pattern, wanted_callers))


def want_same(made: gdb.Breakpoint, number: int) -> None:
    """As breakpoint ``number`` has, at another place; not where calls are counted, which is done for one breakpoint."""
    found = ours.filter_of(number)
    if found is not None and not found.is_counting:
        add(made, found._replace(counts_calls=False))


def add(made: gdb.Breakpoint, found: GuardFilter) -> None:
    ours.of(made.number).filter = found
    watch_or_not()
    user_hooks.add_condition("hook-detach", "_cuda_take_back")  # gdb has no event in front of it
    user_hooks.add("info hookpost-breakpoints", "commands.guards", "write_note")  # gdb's table cannot be told
    look_again([made.number])


def state_of(number: int) -> str:
    """For people: "guarded", or why not; "" where nobody would expect it, or it is not known yet."""
    if ours.filter_of(number) is None or not process.is_alive():
        return ""
    why = PROCESSES().trouble_of(number)
    if PROCESSES().guards_of(number) and not why:
        return "guarded"
    why = why or wanted_by(number).why
    return f"not guarded: {why}" if why not in ("", EVERY_CALL, SWITCHED_OFF) else ""


def is_of_machine(state: str) -> bool:
    """It holds for every function here."""
    return detours.OTHER_MACHINE in state


# -- events


def on_modified(breakpoint: gdb.Breakpoint) -> None:
    """What does not hold any more ends now; what could be made waits for a better moment."""
    if switching:
        return
    one = ours.find(breakpoint.number)
    if one is None or one.filter is None:
        on_created(breakpoint)
        return
    for here in one.here.all():
        here.guards.is_stale = True
    for guard in PROCESSES().guards_of(breakpoint.number):
        if not breakpoint.enabled or is_changed(breakpoint):  # (gdb may be in the middle of its locations)
            remove(guard)


def on_created(breakpoint: gdb.Breakpoint) -> None:
    """Somebody's breakpoint on bytes that we have replaced: it has the right of way."""
    if breakpoint.number <= 0 or ours.filter_of(breakpoint.number) is not None:
        return
    state = PROCESSES()
    for guard in list(state.guards.values()):
        if breakpoint.number not in guard.members and any(
            at in guard.detour.claimed and on for at, on in places(breakpoint)
        ):
            give_way(guard)


def on_not_meant(breakpoint: gdb.Breakpoint, place: Location) -> None:
    """A place that has a guard by now: a hook library that answers for the function was seen later, or was loaded."""
    if place.inferior in (0, gdb.selected_inferior().num):
        for guard in PROCESSES().guards_of(breakpoint.number):
            if guard.stop == place.address:
                give_way(guard)


def give_way(guard: Guard) -> None:
    state = PROCESSES()
    look_again(guard.members)
    remove(guard)
    for one in [other for number in guard.members for other in state.guards_of(number)]:
        if one.is_counting:  # at all of its places, or at none
            remove(one)


def on_new_thread(event: gdb.ThreadEvent) -> None:
    """It has executed nothing yet."""
    inferior = inferiors.of_event(event)
    threads = inferiors.threads(inferior)
    if len(threads) < 2 or inferior.num != gdb.selected_inferior().num:
        return
    newest = max(threads, key=lambda one: int(one.num))
    try:
        gdb_threads.on_new(newest)
    except NoDetour:
        for guard in list(PROCESSES().guards.values()):
            if any(newest.num in one.threads for one in ours.filters(guard.members)):
                give_way(guard)


def on_entry_watched(address: int, on: bool) -> None:
    """Somebody of ours looks at every call of the function from now on, or does not any more."""
    state = PROCESSES()
    if on and address in state.guards:
        with link.as_it_is():
            give_way(state.guards[address])
    state.touched.add(address)


def on_gone(gone: OurBreakpoint) -> None:
    if gone.filter is None:
        return
    state = PROCESSES()
    state.touched.update(gone.here().guards.stops)  # it may have been what kept the others from having a guard
    for guard in state.guards_of(gone.number):
        look_again(set(guard.members) - {gone.number})
        remove(guard)
    if not ours.is_any_filtered():
        watch_or_not()
        state.look_no_more()


def on_objfile(event: gdb.NewObjFileEvent) -> None:
    """gdb is about to set its breakpoints again, where the prologues of the functions end."""
    state = PROCESSES()
    undo_inherited(state)
    for guard in state.guards.values():
        guard.unveil()
    state.fresh.add(process.strip_prefix(event.new_objfile.filename or ""))


def on_process(inferior: gdb.Inferior) -> None:
    """With a second process in this gdb there are no guards. If it is a fork of the first it has their patches."""
    others = {one.num: list(PROCESSES.of(one).guards.values()) for one in gdb.inferiors() if one.num != inferior.num}
    PROCESSES.of(inferior).inherited = [*ended, *(guard for guards in others.values() for guard in guards)]
    for other in gdb.inferiors():
        if other.pid and others.get(other.num):
            with inferiors.selected(other):
                for guard in others[other.num]:
                    remove(guard)


def on_continue(event: object) -> None:
    if mapped_pages.calling:
        return
    state = PROCESSES()
    if not state.is_stopped:
        return  # gdb tells of every thread that goes on, new ones too
    state.is_stopped = False
    sweep()
    with inserted.going_on():
        renew(waiting())
    state.fresh.clear()
    here = positions.position_here() if state.guards else None
    if here is not None:
        thread = gdb.selected_thread().num
        for guard in list(state.guards.values()):
            guard.go_on(thread, *here)


def on_stop(event: object = None) -> None:
    """All threads stand still: what had to wait is done, and breakpoints and code look as the user left them."""
    if _stepping:
        return
    state = PROCESSES()
    state.is_stopped = True
    here = positions.position_here() if state.guards else None
    for guard in list(state.guards.values()):
        guard.stand(here[0] if here is not None else 0)
    sweep()
    if ours.is_any_filtered() and process.is_alive() and not process.is_running():
        keep_counts()
        lift_shown(state)
        clean()
        renew(waiting())


def lift_shown(state: Guarded) -> None:
    if not state.guards:
        return
    here = positions.position_here()
    function = process.function_start(here[0]) if here is not None else None
    is_few = len(state.guards) <= (FEW_FAR if process.is_remote() else FEW)
    for guard in state.guards.values():
        if is_few or guard.function == function:
            guard.lift()


def on_prompt() -> None:
    sweep()
    if ours.is_any_filtered() and process.is_alive() and roomless() and not process.is_running():
        refresh()
    release_unneeded()


def on_call(event: object) -> None:
    """A function that the user has called in the program is over: this is a stop without an event."""
    if type(event).__name__ == "InferiorCallPostEvent" and process.is_alive() and not mapped_pages.calling:
        on_stop()


@function("_cuda_take_back")
def cuda_take_back() -> bool:
    """$_cuda_take_back(): takes all guards out of the process, so that detach may leave it alone; false."""
    take_all_back()
    return False


def on_exiting(event: object) -> None:
    """gdb ends. No thread is moved, for that is done by commands."""
    take_away_all()
    if process.is_alive() and not process.is_running():
        clean()


def take_all_back() -> None:
    """Before gdb lets the process go."""
    take_away_all()
    if process.is_alive() and not process.is_running():
        step_out(trampoline_space.is_left)
        clean()
        give_back()


def take_away_all() -> None:
    state = PROCESSES()
    state.is_leaving = True  # the stops on the way out would bring them back
    for guard in list(state.guards.values()):
        remove(guard)
    sweep()


def give_back() -> None:
    for text in filter(None, (counter_words.give_back(), trampoline_space.give_back())):
        console.write(f"gdbcuda: {text}\n")


def step_out(inside: Callable[[int], bool]) -> None:
    _stepping.append(True)
    try:
        positions.step_out(inside)
    finally:
        _stepping.pop()


def on_setting() -> None:
    """set cuda-guard"""
    with trampoline_space.may_call():
        renew(wanted())
    if not PROCESSES().guards and process.is_alive() and not process.is_running():
        trampoline_space.give_back()
    watch_or_not()


def already_decided(number: int) -> bool | None:
    """Has the trampoline counted the call that the selected thread has at the breakpoint, and what did it say?"""
    guards = PROCESSES().guards_of(number)
    if not guards:
        return None
    pc = process.register("pc")
    return next((one.verdict() for one in guards if one.stop == pc), None)


settings.ON_CHANGE["cuda-guard"] = on_setting
own_process.ON_ENTRY.append(on_entry_watched)
counting.already_decided.append(already_decided)
breakpoints.ON_NOT_MEANT.append(on_not_meant)
ours.ON_GONE.append(on_gone)
