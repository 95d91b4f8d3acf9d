"""Faults by gdb, where there is no guard: the condition of the breakpoint does it, and then says no.

A call that is not to be made is taken back to its caller as gdb's ``return`` does: registers that a function has to
keep are what the caller had in them. (gdb manual: "Frames In Python"; psABI 3.2.1, AAPCS64 6.1.)
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import NamedTuple

import gdb

from gdbcuda.elf.code.x86_read import UnknownInstruction, instructions
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.faults.effects import Delay, Fail, Replace
from gdbcuda.faults.fault_code import SECOND
from gdbcuda.live import process
from gdbcuda.live.breakpoints import ours
from gdbcuda.live.breakpoints.ours import InjectedFault
from gdbcuda.live.frames import frames
from gdbcuda.live.guard.watch import Watch
from gdbcuda.live.guarding import guards
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.patching import detours
from gdbcuda.live.placing import unloading
from gdbcuda.live.stopping import injections
from gdbcuda.live.threads.call_registers import current_stack_pointer, result_register, thread_number
from gdbcuda.machine import abi

KEPT = {
    "x86-64": ("rbx", "rbp", *(f"r{number}" for number in range(12, 16))),
    "aarch64": tuple(f"x{number}" for number in range(19, 30)),
}
RESULTS = {"x86-64": "rax", "aarch64": "x0"}
WORD, RETURN = (1 << 64) - 1, b"\xc3"


class OpenCall(NamedTuple):
    """A call whose result or out-values are replaced where it returns, with its arguments at the entry. ``number``: the
    fault's."""

    number: int
    effect: Replace
    places: tuple[abi.ValuePlace, ...]
    raws: list[bytes | None]


class OpenCalls:
    """Of one process: by thread and stack pointer behind the return; and the breakpoints where they return."""

    def __init__(self) -> None:
        self.calls: dict[tuple[int, int], list[OpenCall]] = {}
        self.sites: dict[int, Watch] = {}

    def end(self) -> None:
        for one in self.sites.values():
            if one.is_valid():
                one.delete()


CALLS: PerInferior[OpenCalls] = PerInferior(OpenCalls, OpenCalls.end)


def inject(number: int) -> None:
    """Does to the call at its entry what the fault with that number is for."""
    found = ours.filter_of(number)
    if found is None or found.fault is None or guards.is_left_to(number):
        return
    if injections.admit(found.fault.number, found.fault.plan.most):
        do(found.fault)
        ours.of(found.fault.number).ended().by_gdb = guards.state_of(number).partition("not guarded: ")[2]


def do(fault: InjectedFault) -> None:
    effect, frame = fault.plan.effect, frames.call_frame(gdb.selected_frame())
    if isinstance(effect, Delay):
        time.sleep(effect.nanoseconds / SECOND)
    elif isinstance(effect, Fail):
        take_back(frame, effect.status)
    else:
        wait(frame, fault, effect)


def take_back(frame: gdb.Frame, status: int) -> None:
    """To the caller, with that result: by way of a return instruction, for gdb does not see the breakpoint that it may
    have where it lets a thread go on."""
    machine, older = process.machine(), caller_of(frame)
    wanted = {name: value_of(older, name) for name in (*KEPT[machine], "sp", "pc")}
    back = a_return(frame.pc()) if machine == "x86-64" else None
    if back is not None:
        wanted.update(sp=wanted["sp"] - abi.WORD, pc=back)
    try:
        for name, value in wanted.items():
            if process.register(name) != value:
                write(name, value)
        set_result(status)
    except gdb.error as problem:
        raise UserError(f"the call goes on, for this gdb cannot write registers here ({problem})") from None


def a_return(pc: int) -> int | None:
    """Of the function's own, where a debugger knows what the stack is."""
    start = process.function_start(pc)
    size = detours.function_size(start) if start is not None else 0
    if start is None or not 0 < size <= detours.LARGEST_FUNCTION:
        return None
    with suppress(Unreadable, UnknownInstruction):
        for at, one in instructions(process.original_code(start, size)):
            if one.raw == RETURN:
                return start + at
    return None


def caller_of(frame: gdb.Frame) -> gdb.Frame:
    older = frame.older()
    if older is None:
        raise UserError("nobody knows where the call returns to")
    return older


def value_of(frame: gdb.Frame, name: str) -> int:
    return int(frame.read_register(name)) & WORD


def write(name: str, value: int) -> None:
    process.set_register(name, value)


def set_result(status: int) -> None:
    write(RESULTS[process.machine()], status & 0xFFFFFFFF)


# -- behind the call


def wait(frame: gdb.Frame, fault: InjectedFault, effect: Replace) -> None:
    older = caller_of(frame)
    places = abi.locate(fault.function, process.machine())
    call = OpenCall(fault.number, effect, places, frames.read_arguments(frame, fault.function))
    back, stack = older.pc(), value_of(older, "sp")
    CALLS().calls.setdefault((thread_number(), stack), []).append(call)
    known = CALLS().sites.get(back)
    if known is None or not known.is_valid():
        CALLS().sites[back] = Watch(back, on_return)


def on_return() -> None:
    thread, now, calls = thread_number(), current_stack_pointer(), CALLS().calls
    for key in [key for key in calls if key[0] == thread and key[1] < now]:
        del calls[key]  # left by longjmp or an exception
    returned = calls.pop((thread, now), [])
    is_success = result_register() & 0xFFFFFFFF == 0
    for call in returned:
        if is_success:
            replace_values(call)
        elif call.effect.written:
            injections.withdraw(call.number)
    for call in returned:
        if call.effect.status is not None:
            set_result(call.effect.status)


def replace_values(call: OpenCall) -> None:
    for one in call.effect.written:
        index = next(index for index, place in enumerate(call.places) if one.pointer in place.pieces)
        pointer = int.from_bytes(call.raws[index] or b"", "little")
        if pointer:
            try:
                gdb.selected_inferior().write_memory(pointer + one.offset, one.raw)
            except gdb.error:
                raise Unreadable(pointer, len(one.raw)) from None


def forget_unloaded(addresses: set[int]) -> None:
    unloading.drop(addresses, CALLS().sites)


unloading.ON_UNLOADED.append(forget_unloaded)
