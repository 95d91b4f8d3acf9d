"""Calls that a stop at their entry has shown, until they are over: ``up``, ``step`` and ``finish`` still know them."""

from __future__ import annotations

import gdb

from gdbcuda.live.frames import frames
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.placing import leaving, own_process, silence, unloading
from gdbcuda.live.threads import call_registers

Key = tuple[int, int]  # thread number, stack pointer after the return


class Shown:
    """Of one process: the calls that go on; by thread the one that is over, until the thread goes on; by return address
    the breakpoints that notice it."""

    def __init__(self) -> None:
        self.open: dict[Key, frames.FrameCall] = {}
        self.over: dict[int, frames.FrameCall] = {}
        self.endings: dict[int, Ending] = {}

    def end(self) -> None:
        for ending in self.endings.values():
            if ending.is_valid():
                ending.delete()


CALLS: PerInferior[Shown] = PerInferior(Shown, Shown.end)


def returns_to(call: frames.FrameCall, address: int) -> bool:
    return call.caller is not None and call.caller.address == address


class Ending(own_process.Internal):
    """Where a shown call returns to; internal, for it never stops. ``in_vain``: how often it has since it is silent."""

    in_vain = 0

    def stop(self) -> bool:
        calls, thread, now = CALLS(), call_registers.thread_number(), call_registers.current_stack_pointer()
        for key, call in list(calls.open.items()):
            if key[0] == thread and (key[1] < now or (key[1] == now and returns_to(call, self.address))):
                calls.over[thread] = calls.open.pop(key)
        if not self.is_awaited(calls):
            self.fall_silent()
        return False

    def is_awaited(self, calls: Shown) -> bool:
        return any(returns_to(call, self.address) for call in calls.open.values())

    def fall_silent(self) -> None:
        """Or each later return to the same place would stop. (Deleted by `sweep`, for nothing may be deleted here.)"""
        self.in_vain = silence.let_pass(self.address, self.in_vain, self.switch_off)

    def switch_off(self) -> None:
        self.enabled = False


def remember(call: frames.FrameCall, frame: gdb.Frame) -> None:
    older, calls = frames.caller_frame(frame), CALLS()
    if older is None:
        return
    calls.open[(call_registers.thread_number(), call_registers.stack_pointer(older))] = call
    ending = calls.endings.get(older.pc())
    if ending is None:
        calls.endings[older.pc()] = Ending(older.pc())
    else:
        ending.enabled = True
        silence.wake(older.pc())


def forget_unloaded(addresses: set[int]) -> None:
    calls = CALLS()
    for address in addresses & calls.endings.keys():
        del calls.endings[address]
        calls.open = {key: call for key, call in calls.open.items() if not returns_to(call, address)}


unloading.ON_UNLOADED.append(forget_unloaded)


def remembered(frame: gdb.Frame) -> frames.FrameCall | None:
    """The shown call that the frame is of."""
    older = frames.caller_frame(frame)
    if older is None:
        return None
    return CALLS().open.get((call_registers.thread_number(), call_registers.stack_pointer(older)))


frames.REMEMBERED.append(remembered)


def sweep(event: object = None) -> None:
    """At a stop, and between commands: deletes what waits for no call."""
    silence.wake_all()
    for calls in CALLS.all():
        leaving.delete(calls.endings, [at for at, one in calls.endings.items() if not one.is_awaited(calls)])
