"""Guards: the filters of cuda-break compiled into the process, so that a call which does not match costs no stop.

Which breakpoints want one, and what it means for them that the program stops, goes on and loads files
(`breakpoint_events`: that breakpoints change; `without_gdb`: that gdb leaves). `renewing` says which guards there
should be, `making` makes them, `guard/guard.py` is what one of them does, `filters/` what it tests.
"""

from __future__ import annotations

import functools

import gdb

from gdbcuda import condition as conditions
from gdbcuda.live import process
from gdbcuda.live.breakpoints import ours
from gdbcuda.live.breakpoints.ours import AwaitedFailures, GuardFilter, InjectedFault
from gdbcuda.live.frames import condition_words
from gdbcuda.live.guard.inside import here, is_stepped
from gdbcuda.live.guard.watch import sweep
from gdbcuda.live.guarding import without_gdb
from gdbcuda.live.guarding.breakpoint_events import give_way
from gdbcuda.live.guarding.by_process import (
    PROCESSES,
    Guarded,
    calls_seen,
    ended,
    keep_counts,
    look_again,
    roomless,
    waiting,
    wanted,
    wanted_by,
)  # fmt: skip
from gdbcuda.live.guarding.filters import breakpoint_filters, gdb_threads
from gdbcuda.live.guarding.filters.breakpoint_filters import EVERY_CALL
from gdbcuda.live.guarding.load_events import watch_or_not
from gdbcuda.live.guarding.making import clean, remove
from gdbcuda.live.guarding.renewing import SWITCHED_OFF, refresh, release_unneeded, renew, undo_inherited
from gdbcuda.live.host import inferiors
from gdbcuda.live.layers import own_prototypes
from gdbcuda.live.patching import detours, left_behind, mapped_pages, trampoline_space
from gdbcuda.live.placing import inserted, letting_go
from gdbcuda.live.prompt import settings, user_hooks
from gdbcuda.live.stopping import counting
from gdbcuda.live.threads import positions
from gdbcuda.machine.detour import NoDetour

__all__ = ["PROCESSES", "calls_seen", "refresh", "wanted_by"]

FEW, FEW_FAR = 8, 2  # guards that are lifted at every stop; of more, only that of the function where the program stops


# -- what cuda-break asks for


def want(
    made: gdb.Breakpoint, native: str, symbol: str, condition: conditions.Condition | None, wanted_callers: str,
    counts_calls: bool = False, only_errors: bool = False,
) -> None:  # fmt: skip
    """cuda-break has made a breakpoint on ``symbol`` with the condition ``native``, which says the same in gdb."""
    found = breakpoint_filters.of_function(made.number, native, symbol, condition, wanted_callers)
    function = own_prototypes.prototype(symbol)
    failing = None
    if only_errors and function is not None:
        rest = None if found.is_counting else condition  # it has counted in the process
        is_meant = functools.partial(condition_words.is_meant, wanted_callers, rest, lambda: 0)
        failing = AwaitedFailures(made.number, function, is_meant)
    add(made, found._replace(counts_calls=counts_calls, failing=failing))


def want_name(made: gdb.Breakpoint, native: str, argument: int, pattern: str | None, wanted_callers: str) -> None:
    """The same for a resolver that is asked for a name."""
    add(made, breakpoint_filters.of_name(native, argument, pattern, wanted_callers))


def want_fault(
    made: gdb.Breakpoint, native: str, fault: InjectedFault, condition: conditions.Condition | None,
    wanted_callers: str,
) -> None:  # fmt: skip
    """It does not stop: it does something to the calls."""
    add(made, breakpoint_filters.of_fault(fault, native, condition, wanted_callers))


def want_same(made: gdb.Breakpoint, number: int) -> None:
    """As breakpoint ``number`` has, at another place; not where calls are counted, which is done for one breakpoint."""
    found = ours.filter_of(number)
    if found is not None and not found.is_counting:
        add(made, found._replace(counts_calls=False))


def add(made: gdb.Breakpoint, found: GuardFilter) -> None:
    ours.of(made.number).filter = found
    watch_or_not()
    without_gdb.watch()
    left_behind.watch()
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


def on_new_thread(event: gdb.ThreadEvent) -> None:
    """It has executed nothing yet."""
    newest = inferiors.new_thread(event)
    if newest.num == 1 or inferiors.of_event(event).num != gdb.selected_inferior().num:
        return
    try:
        gdb_threads.on_new(newest)
    except NoDetour:
        for guard in list(PROCESSES().guards.values()):
            if any(newest.num in one.threads for one in ours.filters(guard.members)):
                give_way(guard)


def on_continue(event: object) -> None:
    if mapped_pages.calling:
        return
    state = PROCESSES()
    if not state.is_stopped:
        return  # gdb tells of every thread that goes on, new ones too
    state.is_stopped = False
    left_behind.on_continue()
    without_gdb.stay()
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
    if without_gdb.is_stepping_out():
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
        if letting_go.is_told_late():
            leave_functions_own(state)


def leave_functions_own(state: Guarded) -> None:
    """Who lets the process go now need not be asked."""
    for guard in state.guards.values():
        guard.unveil()
    left_behind.on_stop((one.detour, one.trampoline) for one in state.guards.values())


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


def is_left_to(number: int) -> bool:
    """Has the trampoline decided about the call that is at the breakpoint, or will it? (Who comes to a raised entry is
    sent through, but for whom the user steps.)"""
    pc = process.register("pc")
    for guard in PROCESSES().guards_of(number):
        if guard.stop == pc and not guard.trouble:
            thread, sp = here()
            has_passed = (guard.is_lowered and not guard.has_come_out()) or sp <= guard.tested.get(thread, -1)
            return has_passed or (pc == guard.function and not is_stepped())
    return False


settings.ON_CHANGE["cuda-guard"] = on_setting
counting.already_decided.append(already_decided)
