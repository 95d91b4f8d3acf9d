"""Where calls return: what was seen at entry, kept until the return, by thread and stack pointer.

The return is caught by an ordinary breakpoint at the caller's address, one a call site, made when first needed:
what stops must be an ordinary breakpoint (an internal one shows as bkptno="-1" in an IDE), and FinishBreakpoint gets
slower with every call. A breakpoint at a bare address would make the next ``run`` fail, so they go with their process.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import gdb

from gdbcuda.live import breakpoints, frames, target

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
_seen: dict[Key, frames.Call] = {}


def thread_key() -> tuple[int, int]:
    return gdb.selected_inferior().num, gdb.selected_thread().num


def stack_pointer(frame: gdb.Frame) -> int:
    return int(frame.read_register("rsp" if target.machine() == "x86-64" else "sp")) & (1 << 64) - 1


def is_error(call: frames.Call) -> bool:
    """Every CUDA and NVML status is 0 for success; a function that returns something else cannot fail this way."""
    return call.function.result.kind == "enum" and call.result is not None and call.result & 0xFFFFFFFF != 0


def expect(number: int, only_errors: bool) -> bool:
    """At the entry of a call: notes that its return is wanted. False if there is no caller to return to."""
    frame = gdb.selected_frame()
    older = frame.older()
    if older is None:
        return False
    call = frames.read_call(frame)
    key = (*thread_key(), stack_pointer(older))
    _pending.setdefault(key, []).append(Pending(call, number, only_errors))
    watch(older.pc(), number)
    return True


def watch(address: int, number: int) -> None:
    """One breakpoint a call site, however many calls return there."""
    site = _sites.get(address)
    if site is None or not site.breakpoint.is_valid():
        made = breakpoints.execute_break(f"break *{address:#x} if $_cuda_returned({address:#x})")
        site = _sites[address] = Site(made, set())
    site.owners.add(number)


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
    return target.register("rax" if target.machine() == "x86-64" else "x0")


def take(address: int) -> list[Pending]:
    """The calls that have just returned here; what a longjmp or an exception left deeper on this stack is dropped."""
    inferior, thread = thread_key()
    now = target.register("rsp" if target.machine() == "x86-64" else "sp")
    for key in [k for k in _pending if k[:2] == (inferior, thread) and k[2] < now]:
        del _pending[key]
    return _pending.pop((inferior, thread, now), [])


def remember(call: frames.Call, frame: gdb.Frame) -> None:
    """Keeps what a stop at the entry showed, so that ``up``, ``step`` and ``finish`` still know it."""
    older = frame.older()
    if older is not None:
        _seen[(*thread_key(), stack_pointer(older))] = call


def remembered(frame: gdb.Frame) -> Optional[frames.Call]:
    older = frame.older()
    return _seen.get((*thread_key(), stack_pointer(older))) if older is not None else None


def just_returned(frame: gdb.Frame) -> Optional[tuple[frames.Call, int]]:
    """The call that returned to this very place and the breakpoint that asked (0: finish or step), if any did."""
    waited = _returned.get(thread_key())
    if waited is not None and waited.call.caller is not None and waited.call.caller.address == frame.pc():
        return waited.call, waited.number
    call = _seen.get((*thread_key(), stack_pointer(frame)))
    if call is None or call.caller is None or call.caller.address != frame.pc():
        return None
    if call.result is None:
        call.result = result_register()
    return call, 0


def on_continue(event: object) -> None:
    _returned.clear()


def forget_process() -> None:
    """A new process, or none: addresses and stacks mean nothing any more."""
    for site in list(_sites.values()):
        if site.breakpoint.is_valid():
            site.breakpoint.delete()
    for state in (_sites, _pending, _returned, _seen):
        state.clear()


def on_breakpoint_deleted(breakpoint: gdb.Breakpoint) -> None:
    """The call sites of a deleted breakpoint go with it (later: never delete inside a stop)."""
    number = breakpoint.number
    if any(number in site.owners for site in _sites.values()):
        gdb.post_event(lambda: drop_owner(number))


def drop_owner(number: int) -> None:
    for address, site in list(_sites.items()):
        site.owners.discard(number)
        if not site.owners:
            del _sites[address]
            if site.breakpoint.is_valid():
                site.breakpoint.delete()
