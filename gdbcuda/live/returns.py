"""Where calls return: what was seen at entry, kept until the return, by thread and stack pointer.

The return is caught by an ordinary breakpoint at the caller's address, one a call site, made when first needed:
what stops must be an ordinary breakpoint (an internal one shows as bkptno="-1" in an IDE), and FinishBreakpoint gets
slower with every call. A breakpoint at a bare address would make the next ``run`` fail, so they go with their process.
"""

from __future__ import annotations

from dataclasses import dataclass

import gdb

from gdbcuda.live import breakpoints, calling, frames, target

Key = tuple[int, int, int]  # inferior number, thread number, stack pointer after the return


@dataclass
class Pending:
    """A call that has been entered; ``number`` is the breakpoint of the user that asks for its return."""

    call: frames.Call
    number: int
    only_errors: bool


@dataclass
class Site:
    """One call site's return address; ``owners`` are the user's breakpoints that have calls returning there."""

    breakpoint: gdb.Breakpoint
    owners: set[int]


_pending: dict[Key, list[Pending]] = {}
_sites: dict[int, Site] = {}
_returned: dict[tuple[int, int], Pending] = {}
_seen: dict[Key, frames.Call] = {}  # shown at a stop, not over yet
_over: dict[tuple[int, int], frames.Call] = {}  # over, and the thread has not gone on since
_shown: set[tuple[int, int]] = set()  # threads whose stop the user has seen
_endings: dict[int, gdb.Breakpoint] = {}


def thread_key() -> tuple[int, int]:
    return gdb.selected_inferior().num, gdb.selected_thread().num


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
    key = (*thread_key(), stack_pointer(older))
    open_still = [one for one in _pending.get(key, []) if not is_over(one, call, number)]
    _pending[key] = [*open_still, Pending(call, number, only_errors)]
    watch(older.pc(), number)
    return True


def is_over(waiting: Pending, new: frames.Call, number: int) -> bool:
    """Another call has come to the stack pointer of a waiting one: that one was left by longjmp or an exception.

    Not so where the hook jumps on to the driver's function (both wait for one return), or two breakpoints wait."""
    is_same_function = waiting.call.function is new.function and waiting.call.place.file == new.place.file
    return waiting.number == number or (is_same_function and waiting.call.raws != new.raws)


def watch(address: int, number: int) -> None:
    """One breakpoint a call site, however many calls return there."""
    site = _sites.get(address)
    if site is None or not site.breakpoint.is_valid():
        made = breakpoints.execute_break(f"break *{address:#x} if $_cuda_returned({address:#x})")
        site = _sites[address] = Site(made, set())
    site.owners.add(number)


def take_sites() -> dict[int, set[int]]:
    """Deletes the breakpoints at call sites; `watch` makes them again, from address and owners."""
    taken = {address: site.owners for address, site in _sites.items()}
    for site in _sites.values():
        if site.breakpoint.is_valid():
            site.breakpoint.delete()
    _sites.clear()
    return taken


def arrived(address: int) -> bool:
    """At a return address: is one of the calls that return here now waited for?"""
    hits = take(address)
    for hit in hits:
        hit.call.result = result_register()
    stopping = [hit for hit in hits if not hit.only_errors or is_error(hit.call)]
    if stopping:
        _returned[thread_key()] = stopping[0]
    return bool(stopping)


def result_register() -> int:
    return target.register(calling.here().result)


def take(address: int) -> list[Pending]:
    """The calls that have just returned here; what a longjmp or an exception left deeper on this stack is dropped."""
    inferior, thread = thread_key()
    now = current_stack_pointer()
    for key in [k for k in _pending if k[:2] == (inferior, thread) and k[2] < now]:
        del _pending[key]
    return [one for one in _pending.pop((inferior, thread, now), []) if returns_to(one.call, address)]


def returns_to(call: frames.Call, address: int) -> bool:
    return call.caller is not None and call.caller.address == address


class Ending(gdb.Breakpoint):
    """Notices, without stopping, that a call which a stop has shown is over. Internal, for it never stops."""

    def __init__(self, address: int) -> None:
        super().__init__(f"*{address:#x}", internal=True)
        self.address = address

    def stop(self) -> bool:
        now, key = current_stack_pointer(), thread_key()
        for seen in [k for k in _seen if k[:2] == key and (k[2] < now or (k[2] == now and ends_at(k, self.address)))]:
            _over[key] = _seen.pop(seen)
            _over[key].result = result_register()
        if not any(ends_at(k, self.address) for k in _seen):
            self.enabled = False  # never delete inside stop(): sweep() does
        return False


def ends_at(key: Key, address: int) -> bool:
    return returns_to(_seen[key], address)


def remember(call: frames.Call, frame: gdb.Frame) -> None:
    """Keeps what a stop at the entry showed, until the call is over: ``up``, ``step`` and ``finish`` still know it."""
    older = frame.older()
    if older is None:
        return
    _seen[(*thread_key(), stack_pointer(older))] = call
    ending = _endings.get(older.pc())
    if ending is None:
        _endings[older.pc()] = Ending(older.pc())
    else:
        ending.enabled = True


def remembered(frame: gdb.Frame) -> frames.Call | None:
    older = frame.older()
    return _seen.get((*thread_key(), stack_pointer(older))) if older is not None else None


def just_returned(frame: gdb.Frame) -> tuple[frames.Call, int] | None:
    """The call that returned to this very place and the breakpoint that asked (0: finish or step), if any did."""
    waited = _returned.get(thread_key())
    if waited is not None and waited.call.caller is not None and waited.call.caller.address == frame.pc():
        return waited.call, waited.number
    over = _over.get(thread_key())
    if over is not None and over.caller is not None and over.caller.address == frame.pc():
        return over, 0
    return None


def on_stop(event: object) -> None:
    """gdb resumes threads between a true condition and its stop (a clone, say): only what was shown grows old."""
    if gdb.selected_thread() is not None:  # the breakpoint's own commands may have gone on to the process's end
        _shown.add(thread_key())


def on_continue(event: object) -> None:
    for key in _shown:
        _returned.pop(key, None)
        _over.pop(key, None)
    _shown.clear()


def forget_process() -> None:
    """A new process, or none: addresses and stacks mean nothing any more."""
    for breakpoint in [*(site.breakpoint for site in _sites.values()), *_endings.values()]:
        if breakpoint.is_valid():
            breakpoint.delete()
    for state in (_sites, _pending, _returned, _seen, _over, _shown, _endings):
        state.clear()


def on_breakpoint_deleted(breakpoint: gdb.Breakpoint) -> None:
    """Its call sites wait for nobody now; sweep() takes them away, for gdb is in the middle of its own list."""
    for site in _sites.values():
        site.owners.discard(breakpoint.number)


def sweep(event: object = None) -> None:
    """Deletes what is no longer wanted, between commands. (A gdb.post_event left over at exit crashes gdb 13.)"""
    for address, site in [(a, s) for a, s in _sites.items() if not s.owners]:
        del _sites[address]
        if site.breakpoint.is_valid():
            site.breakpoint.delete()
    for address, ending in [(a, e) for a, e in _endings.items() if not e.is_valid() or not e.enabled]:
        del _endings[address]
        if ending.is_valid():
            ending.delete()
