"""Where calls return: what was seen at the entry, kept until the return, by thread and stack pointer."""

from __future__ import annotations

from typing import NamedTuple

import gdb

from gdbcuda.live import breakpoints, process
from gdbcuda.live.breakpoints import ours
from gdbcuda.live.breakpoints.ours import OurBreakpoint
from gdbcuda.live.frames import frames
from gdbcuda.live.host import gdb_cli, inferiors
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.layers import own_prototypes
from gdbcuda.live.placing import unloading
from gdbcuda.live.stopping.returning import call_sites, next_places, shown_calls
from gdbcuda.live.stopping.returning.shown_calls import Key, returns_to
from gdbcuda.live.threads import arrivals
from gdbcuda.live.threads.call_registers import current_stack_pointer, result_register, stack_pointer, thread_number


class Pending(NamedTuple):
    """A call that has been entered; ``number`` is the breakpoint of the user that waits for its return."""

    call: frames.FrameCall
    number: int
    only_errors: bool


class AwaitedCalls:
    """Of one process: the calls that are waited for; by thread the one whose return has stopped it, and where, until it
    goes on; those that stop an instruction later; and the threads whose stop the user has seen."""

    def __init__(self) -> None:
        self.pending: dict[Key, list[Pending]] = {}
        self.returned: dict[int, tuple[list[Pending], int]] = {}
        self.late: dict[int, list[Pending]] = {}
        self.seen_threads: set[int] = set()


CALLS: PerInferior[AwaitedCalls] = PerInferior(AwaitedCalls)


def is_error(call: frames.FrameCall) -> bool:
    """Every CUDA and NVML status is 0 for success; a function that returns something else cannot fail this way."""
    return call.function.result.kind == "enum" and call.result is not None and call.result & 0xFFFFFFFF != 0


def expect(number: int, only_errors: bool) -> bool:
    """At the entry of a call: notes that its return is wanted. False if there is no caller to return to."""
    return expect_frame(gdb.selected_frame(), number, only_errors)


def expect_frame(frame: gdb.Frame, number: int, only_errors: bool) -> bool:
    older = frames.caller_frame(frame)
    if older is None:
        return False
    call = frames.read_call(frame, own_prototypes.prototype)
    expect_call(Pending(call, number, only_errors), older.pc(), stack_pointer(older))
    return True


def expect_call(wanted: Pending, back: int, stack: int) -> None:
    """It will return to that address, with that stack pointer."""
    key, pending = (thread_number(), stack), CALLS().pending
    open_still = [one for one in pending.get(key, []) if not is_over(one, wanted.call, wanted.number)]
    pending[key] = [*open_still, wanted]
    call_sites.watch(back, wanted.number)


def is_over(waiting: Pending, new: frames.FrameCall, number: int) -> bool:
    """Another call has come to the stack pointer of a waiting one: that one was left by longjmp or an exception.

    Not so where the hook jumps on to the driver's function (both wait for one return), or two breakpoints wait."""
    is_same_function = waiting.call.function is new.function and waiting.call.place.file == new.place.file
    return waiting.number == number or (is_same_function and waiting.call.raws != new.raws)


def arrived(address: int) -> bool:
    """At a return address, or behind it: is one of the calls that return here now waited for?"""
    late = CALLS().late.pop(thread_number(), None)
    if late is not None:
        return stop(late, address)
    hits = take(address)
    if not hits and not any(returns_to(one.call, address) for calls in CALLS().pending.values() for one in calls):
        call_sites.returned_in_vain(address)
    for hit in hits:
        hit.call.result = result_register()
    meant = [hit for hit in hits if not hit.only_errors or is_error(hit.call)]
    ignored = {number for number in {hit.number for hit in meant} if is_ignored(number)}
    stopping = [hit for hit in meant if hit.number not in ignored]
    return bool(stopping) and stop(stopping, address)


def stop(hits: list[Pending], address: int) -> bool:
    """Where a signal came as gdb stepped the thread off a place that fell silent, gdb takes this for the end of the
    signal's handler, and goes on: then the thread stops again as soon as it has gone on. (gdb's infrun.c:
    process_event_stop_test, BPSTAT_WHAT_HP_STEP_RESUME.)"""
    calls, thread = CALLS(), thread_number()
    calls.returned[thread] = hits, address
    if process.machine() == "x86-64" and arrivals.is_resumed_here(address):  # on no other does one fall silent
        calls.late[thread] = hits
        for place in next_places.behind(address):
            call_sites.watch(place, hits[0].number)
    return True


def is_ignored(number: int) -> bool:
    """``ignore`` of the user's breakpoint: gdb counts down where that one stops, and it never does."""
    owner = breakpoints.by_number(number)
    if owner is None or not owner.ignore_count:
        return False
    gdb_cli.execute(f"ignore {number} {owner.ignore_count - 1}")  # cuda-gdb 11.8 lets no number be assigned
    return True


def take(address: int) -> list[Pending]:
    """The calls that have just returned here; what a longjmp or an exception left deeper on this stack is dropped."""
    thread, now, pending = thread_number(), current_stack_pointer(), CALLS().pending
    for key in [k for k in pending if k[0] == thread and k[1] < now]:
        del pending[key]
    return [one for one in pending.pop((thread, now), []) if returns_to(one.call, address)]


def forget_unloaded(addresses: set[int]) -> None:
    """The callers are gone: nobody returns there."""
    pending = CALLS().pending
    for key, calls in list(pending.items()):
        pending[key] = [one for one in calls if not any(returns_to(one.call, at) for at in addresses)]


unloading.ON_UNLOADED.append(forget_unloaded)


def forget_breakpoint(gone: OurBreakpoint) -> None:
    """The calls that are open do not stop for it where they return."""
    for calls in CALLS.all():
        for key, waiting in list(calls.pending.items()):
            calls.pending[key] = [one for one in waiting if one.number != gone.number]


ours.ON_GONE.append(forget_breakpoint)


def just_returned(pc: int) -> tuple[frames.FrameCall, list[int]] | None:
    """The call that returned to this very place, where the selected thread is, and the breakpoints that asked (none:
    finish or step), if any did."""
    waited, at = CALLS().returned.get(thread_number(), ([], pc))
    if waited and at == pc:
        call = waited[0].call
        same = [one for one in waited if one.call.function is call.function and one.call.place.file == call.place.file]
        return call, [one.number for one in same]
    over = shown_calls.CALLS().over.get(thread_number())
    if over is not None and returns_to(over, pc):
        over.result = result_register()  # all registers, a packet that only this stop has to cost
        return over, []
    return None


def on_stop(event: object) -> None:
    """What has returned is over for a thread only when it goes on from a stop that the user has seen: between a true
    condition and its stop gdb may resume threads (when one is created, say)."""
    if inferiors.selected_thread() is not None:  # the breakpoint's own commands may have gone on to the process's end
        CALLS().seen_threads.add(thread_number())
        if isinstance(event, gdb.BreakpointEvent):
            CALLS().late.pop(thread_number(), None)


def on_continue(event: gdb.ContinueEvent) -> None:
    """In non-stop mode the event names the thread that goes on; else all threads do, with schedule-multiple those of
    every process."""
    one = event.inferior_thread
    if one is not None:
        go_on(one.inferior, one.num)
        return
    for inferior in gdb.inferiors() if gdb.parameter("schedule-multiple") else [gdb.selected_inferior()]:
        for thread in list(CALLS.of(inferior).seen_threads):
            go_on(inferior, thread)


def go_on(inferior: gdb.Inferior, thread: int) -> None:
    calls = CALLS.of(inferior)
    calls.returned.pop(thread, None)
    calls.seen_threads.discard(thread)
    shown_calls.CALLS.of(inferior).over.pop(thread, None)
