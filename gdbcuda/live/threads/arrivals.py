"""A call that gdb meets twice at one instruction, and asks a breakpoint's condition about twice.

Where a signal comes while gdb steps a thread off a breakpoint, gdb plants a *high-priority step resume* breakpoint at
the same address, lets the handler run, and stops there once more. Where another thread stops meanwhile, gdb deletes
that one, and the thread comes to the user's alone. (gdb's infrun.c: handle_signal_stop,
delete_just_stopped_threads_infrun_breakpoints.)
"""

from __future__ import annotations

import re
import struct

from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.host import breakpoint_table, inferiors
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.threads import call_registers, lent_registers, positions, standstill

NEAR = range(-(1 << 16), 1 << 12)  # of the stack pointer at a call: its handlers on the same stack, its callers
PAGE, DEEPEST = 1 << 12, 1 << 16  # bytes; of another stack that a handler is on
SIGNAL_FRAMES = (1 << 14, 1 << 12)  # bytes: with AVX-512 and AMX registers; where the stack has no more

ASKED: PerInferior[dict[int, positions.Position]] = PerInferior(dict)  # by thread: the call
IN_HANDLERS: PerInferior[dict[int, positions.Position]] = PerInferior(dict)  # of these, at the last stop


def is_met_again(asked_last: dict[int, tuple[int, ...]]) -> bool:
    """Has the condition been asked about the selected thread's call before? ``asked_last``: by thread, gdb's stop and
    the registers of the call that it was asked about last. (Those of two calls may be the same. gdb's table, which
    costs more, tells them apart: where only its rows can be counted, one row more will be this thread's.)"""
    thread, stop = call_registers.thread_number(), breakpoint_table.stops()
    lent_registers.arrived(process.register("pc"))
    pc, stack, *rest = registers()
    asked_before, *before = asked_last.get(thread, (stop,))
    asked_last[thread] = stop, pc, stack, *rest
    ASKED()[thread] = pc, stack
    if before != [pc, stack, *rest]:
        breakpoint_table.count_what_lasts()
        return False
    return is_resumed_here(pc) or (asked_before != stop and was_interrupted(pc, stack))


def registers() -> tuple[int, ...]:
    return (process.register("pc"), call_registers.current_stack_pointer(), *call_registers.here().moment())


def is_resumed_here(pc: int) -> bool:
    """The selected thread. (Another one may be resumed at the same function.)"""
    table, thread = breakpoint_table.text(), inferiors.thread_label(call_registers.thread_number())
    if table is None:
        return breakpoint_table.has_momentary()
    return bool(re.search(resumed_at(pc) + rf".*\n(?:\t.*\n)*?\tstop only in thread {thread}$", table, re.MULTILINE))


def is_resumed_at(pc: int, unknown: bool = True) -> bool:
    """Any thread. ``unknown``: the answer where gdb cannot say."""
    table = breakpoint_table.text()
    return unknown if table is None else bool(re.search(resumed_at(pc), table))


def resumed_at(pc: int) -> str:
    return rf"step resume .* 0x0*{pc:x}\b"


def on_stop(event: object) -> None:
    """Where gdb deletes the step resume of every thread: whose handler is on another stack (sigaltstack)?"""
    asked, before = ASKED(), dict(IN_HANDLERS())
    IN_HANDLERS().clear()
    if not (asked and standstill.stands_still()):
        return
    found = positions.newest(asked)
    for ended in asked.keys() - found.keys():
        del asked[ended]
    for thread, here in found.items():
        call = asked[thread]
        has_come_back = here == call and before.get(thread) is call  # and nobody has asked about it since
        if has_come_back or (here is not None and is_on_other_stack(here[1], call)):
            IN_HANDLERS()[thread] = call


def is_on_other_stack(top: int, call: positions.Position) -> bool:
    return top - call[1] not in NEAR and is_kept_above(top, *call)


def was_interrupted(pc: int, stack: int) -> bool:
    """Does the selected thread come from a signal's handler, on another stack or on its own?"""
    if IN_HANDLERS().get(call_registers.thread_number()) == (pc, stack):
        return True
    answers = (is_kept(stack - size, size, pc, stack) for size in SIGNAL_FRAMES)
    return next((one for one in answers if one is not None), False)


def is_kept_above(top: int, pc: int, stack: int) -> bool:
    """By pages: what is behind the stack may not be readable."""
    start, first = top, (top | PAGE - 1) + 1
    for end in range(first, first + DEEPEST, PAGE):
        found = is_kept(start, end - start, pc, stack)
        if found is None or found:
            return bool(found)
        start = end - 8  # it may begin on one page and end on the next
    return False


def is_kept(address: int, size: int, pc: int, stack: int) -> bool | None:
    """Has the kernel kept a thread here for a signal's handler? None where nothing can be read. (Linux's struct
    sigcontext has the stack pointer and the program counter side by side, on x86-64 and on aarch64.)"""
    try:
        return struct.pack("<QQ", stack, pc) in process.InferiorMemory().read(address, size)
    except Unreadable:
        return None
