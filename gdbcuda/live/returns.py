"""Where calls return: what was seen at entry, kept until the return, by thread and stack pointer.

The return is caught by an ordinary breakpoint at the caller's address, one a call site, made when first needed:
what stops must be an ordinary breakpoint (an internal one shows as bkptno="-1" in an IDE), and FinishBreakpoint gets
slower with every call. A breakpoint at a bare address would make the next ``run`` fail, so they go with their process.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import gdb

from gdbcuda.live import breakpoints, calling, confined, frames, target
from gdbcuda.live.inferiors import PerInferior

Key = tuple[int, int]  # thread number, stack pointer after the return


@dataclass
class Pending:
    """A call that has been entered; ``number`` is the breakpoint of the user that asks for its return."""

    call: frames.Call
    number: int
    only_errors: bool


@dataclass
class Site:
    """One call site's return address; ``owners`` are the user's breakpoints that have calls returning there, and
    ``commands`` what it has of theirs."""

    breakpoint: gdb.Breakpoint
    owners: set[int]
    commands: str = ""


@dataclass
class Calls:
    """What is known of the calls of one process. Threads are meant by their numbers, breakpoints by their addresses."""

    pending: dict[Key, list[Pending]] = field(default_factory=dict)
    sites: dict[int, Site] = field(default_factory=dict)
    returned: dict[int, Pending] = field(default_factory=dict)
    seen: dict[Key, frames.Call] = field(default_factory=dict)  # shown at a stop, not over yet
    over: dict[int, frames.Call] = field(default_factory=dict)  # over, and the thread has not gone on since
    shown: set[int] = field(default_factory=set)  # threads whose stop the user has seen
    endings: dict[int, gdb.Breakpoint] = field(default_factory=dict)

    def end(self) -> None:
        """A new process, or none: addresses and stacks mean nothing any more."""
        for breakpoint in [*(site.breakpoint for site in self.sites.values()), *self.endings.values()]:
            if breakpoint.is_valid():
                breakpoint.delete()

    def thread_goes_on(self, thread: int) -> None:
        self.returned.pop(thread, None)
        self.over.pop(thread, None)
        self.shown.discard(thread)


CALLS: PerInferior[Calls] = PerInferior(Calls, Calls.end)


def thread_key() -> tuple[int, int]:
    return gdb.selected_inferior().num, gdb.selected_thread().num


def thread_number() -> int:
    return int(gdb.selected_thread().num)


def current_stack_pointer() -> int:
    return target.register(calling.here().stack_pointer)


def stack_pointer(frame: gdb.Frame) -> int:
    return int(frame.read_register(calling.here().stack_pointer)) & (1 << 64) - 1


def is_error(call: frames.Call) -> bool:
    """Every CUDA and NVML status is 0 for success; a function that returns something else cannot fail this way."""
    return call.function.result.kind == "enum" and call.result is not None and call.result & 0xFFFFFFFF != 0


def expect(number: int, only_errors: bool) -> bool:
    """At the entry of a call: notes that its return is wanted. False if there is no caller to return to."""
    return expect_frame(gdb.selected_frame(), number, only_errors)


def expect_frame(frame: gdb.Frame, number: int, only_errors: bool) -> bool:
    older = frame.older()
    if older is None:
        return False
    call = frames.read_call(frame)
    key, pending = (thread_number(), stack_pointer(older)), CALLS().pending
    open_still = [one for one in pending.get(key, []) if not is_over(one, call, number)]
    pending[key] = [*open_still, Pending(call, number, only_errors)]
    watch(older.pc(), number)
    return True


def is_over(waiting: Pending, new: frames.Call, number: int) -> bool:
    """Another call has come to the stack pointer of a waiting one: that one was left by longjmp or an exception.

    Not so where the hook jumps on to the driver's function (both wait for one return), or two breakpoints wait."""
    is_same_function = waiting.call.function is new.function and waiting.call.place.file == new.place.file
    return waiting.number == number or (is_same_function and waiting.call.raws != new.raws)


def watch(address: int, number: int) -> None:
    """One breakpoint a call site, however many calls return there."""
    sites = CALLS().sites
    site = sites.get(address)
    if site is None or not site.breakpoint.is_valid():
        made = breakpoints.execute_break(f"break *{address:#x} if $_cuda_returned({address:#x})")
        confined.confine(made)
        site = sites[address] = Site(made, set())
    if number not in site.owners:
        site.owners.add(number)
        inherit_commands(site)


def inherit_commands(site: Site) -> None:
    """The ``commands`` of the user's breakpoint are meant for where it stops; what the site itself was given stays."""
    owners = [one for one in gdb.breakpoints() if one.number in site.owners]
    text = "".join(dict.fromkeys(filter(None, (one.commands for one in owners))))
    if text != site.commands and (site.breakpoint.commands or "") == site.commands:
        site.breakpoint.commands = text
        site.commands = site.breakpoint.commands or ""


def take_sites(inferior: gdb.Inferior) -> dict[int, set[int]]:
    """Deletes the breakpoints at call sites; `watch` makes them again, from address and owners."""
    sites = CALLS.of(inferior).sites
    taken = {address: site.owners for address, site in sites.items()}
    for site in sites.values():
        if site.breakpoint.is_valid():
            site.breakpoint.delete()
    sites.clear()
    return taken


def arrived(address: int) -> bool:
    """At a return address: is one of the calls that return here now waited for?"""
    hits = take(address)
    for hit in hits:
        hit.call.result = result_register()
    meant = [hit for hit in hits if not hit.only_errors or is_error(hit.call)]
    ignored = {number for number in {hit.number for hit in meant} if is_ignored(number)}
    stopping = [hit for hit in meant if hit.number not in ignored]
    if stopping:
        CALLS().returned[thread_number()] = stopping[0]
    return bool(stopping)


def is_ignored(number: int) -> bool:
    """``ignore`` of the user's breakpoint: gdb counts down where that one stops, and it never does."""
    owner = next((one for one in gdb.breakpoints() if one.number == number), None)
    if owner is None or not owner.ignore_count:
        return False
    owner.ignore_count -= 1
    return True


def result_register() -> int:
    return target.register(calling.here().result)


def take(address: int) -> list[Pending]:
    """The calls that have just returned here; what a longjmp or an exception left deeper on this stack is dropped."""
    thread, now, pending = thread_number(), current_stack_pointer(), CALLS().pending
    for key in [k for k in pending if k[0] == thread and k[1] < now]:
        del pending[key]
    return [one for one in pending.pop((thread, now), []) if returns_to(one.call, address)]


def returns_to(call: frames.Call, address: int) -> bool:
    return call.caller is not None and call.caller.address == address


class Ending(gdb.Breakpoint):
    """Notices, without stopping, that a call which a stop has shown is over. Internal, for it never stops."""

    def __init__(self, address: int) -> None:
        super().__init__(f"*{address:#x}", internal=True)
        confined.confine(self)
        self.address = address

    def stop(self) -> bool:
        now, thread, calls = current_stack_pointer(), thread_number(), CALLS()
        for key, call in list(calls.seen.items()):
            if key[0] == thread and (key[1] < now or (key[1] == now and returns_to(call, self.address))):
                calls.over[thread] = calls.seen.pop(key)
        if not any(returns_to(call, self.address) for call in calls.seen.values()):
            self.enabled = False  # never delete inside stop(): sweep() does
        return False


def remember(call: frames.Call, frame: gdb.Frame) -> None:
    """Keeps what a stop at the entry showed, until the call is over: ``up``, ``step`` and ``finish`` still know it."""
    older, calls = frame.older(), CALLS()
    if older is None:
        return
    calls.seen[(thread_number(), stack_pointer(older))] = call
    ending = calls.endings.get(older.pc())
    if ending is None:
        calls.endings[older.pc()] = Ending(older.pc())
    else:
        ending.enabled = True


def remembered(frame: gdb.Frame) -> frames.Call | None:
    older = frame.older()
    return CALLS().seen.get((thread_number(), stack_pointer(older))) if older is not None else None


def just_returned(frame: gdb.Frame) -> tuple[frames.Call, int] | None:
    """The call that returned to this very place and the breakpoint that asked (0: finish or step), if any did."""
    waited = CALLS().returned.get(thread_number())
    if waited is not None and returns_to(waited.call, frame.pc()):
        return waited.call, waited.number
    over = CALLS().over.get(thread_number())
    if over is not None and returns_to(over, frame.pc()):
        over.result = result_register()  # all registers, a packet that only this stop has to cost
        return over, 0
    return None


def on_stop(event: object) -> None:
    """gdb resumes threads between a true condition and its stop (a clone, say): only what was shown grows old."""
    if gdb.selected_thread() is not None:  # the breakpoint's own commands may have gone on to the process's end
        CALLS().shown.add(thread_number())


def on_continue(event: gdb.ContinueEvent) -> None:
    """In non-stop the event names the thread that goes on; else all threads do, with schedule-multiple everybody's."""
    one = event.inferior_thread
    if one is not None:
        CALLS.of(one.inferior).thread_goes_on(one.num)
        return
    for calls in CALLS.all() if gdb.parameter("schedule-multiple") else [CALLS()]:
        for thread in list(calls.shown):
            calls.thread_goes_on(thread)


def on_breakpoint_modified(breakpoint: gdb.Breakpoint) -> None:
    for calls in CALLS.all():
        for site in calls.sites.values():
            if breakpoint.number in site.owners and site.breakpoint.is_valid():
                inherit_commands(site)


def on_breakpoint_deleted(breakpoint: gdb.Breakpoint) -> None:
    """Its call sites wait for nobody now; sweep() takes them away, for gdb is in the middle of its own list."""
    for calls in CALLS.all():
        for site in calls.sites.values():
            site.owners.discard(breakpoint.number)


def sweep(event: object = None) -> None:
    """Deletes what is no longer wanted, between commands. (A gdb.post_event left over at exit crashes gdb 13.)"""
    for calls in CALLS.all():
        for address, site in [(a, s) for a, s in calls.sites.items() if not s.owners]:
            del calls.sites[address]
            if site.breakpoint.is_valid():
                site.breakpoint.delete()
        for address, ending in [(a, e) for a, e in calls.endings.items() if not e.is_valid() or not e.enabled]:
            del calls.endings[address]
            if ending.is_valid():
                ending.delete()
