"""Breakpoints with ``--on error``: the process looks at the result as well, and only calls that fail stop.

The trampoline sends the calls that the condition lets through on to code of ours that calls the function
(`machine.call_through`). That code stays while the process lives, for calls are in it; so does the breakpoint in it, as
long as the user's is there, whatever becomes of the guard. There the call is what `returns` waits for: the user's stop
is where it returns.
"""

from __future__ import annotations

from collections.abc import Iterable

import gdb

from gdbcuda.data_classes import dataclass
from gdbcuda.errors import Unreadable
from gdbcuda.files import places
from gdbcuda.live import breakpoints, process
from gdbcuda.live.breakpoints import ours
from gdbcuda.live.breakpoints.ours import AwaitedFailures
from gdbcuda.live.frames import code_places
from gdbcuda.live.frames.frames import FrameCall
from gdbcuda.live.guard.watch import Watch, trash
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.patching import agent, trampoline_space
from gdbcuda.live.stopping.returning import returns
from gdbcuda.live.stopping.returning.returns import Pending
from gdbcuda.live.threads import call_registers
from gdbcuda.machine import abi
from gdbcuda.machine.call_through import CallThrough
from gdbcuda.machine.detour import Detour, NoDetour


class NotHere(NoDetour):
    """gdb has to look at the results; the text says why."""


@dataclass
class Caught:
    """A function whose failing calls come to a breakpoint of ours: ``owner`` is the user's that it is there for."""

    detour: Detour
    stack: int
    code: CallThrough
    owner: int
    awaited: AwaitedFailures
    watch: Watch | None = None

    def wait(self, owner: int, awaited: AwaitedFailures) -> None:
        self.owner, self.awaited = owner, awaited
        if self.watch is None:
            self.watch = Watch(self.code.failed, self.on_failed)

    def wait_no_more(self) -> None:
        if self.watch is not None:
            self.watch.switch(False)
            trash.append(self.watch)
            self.watch = None

    def on_failed(self) -> None:
        user = breakpoints.by_number(self.owner)
        if user is None or not user.enabled:
            return
        frame = process.register("rbp")
        back = call_registers.word(process.InferiorMemory(), frame + abi.WORD)
        function = self.awaited.function
        call = FrameCall(function, code_places.code(self.detour.function), code_places.caller(back),
                         call_registers.thread_number(), self.arguments(frame))  # fmt: skip
        if self.awaited.is_meant(call):
            returns.expect_call(Pending(call, self.awaited.number, True), back, frame + 2 * abi.WORD)

    def arguments(self, frame: int) -> list[bytes | None]:
        """As they were at the entry."""
        memory = process.InferiorMemory()

        def register(name: str) -> int:
            return call_registers.word(memory, self.code.place_of(name, frame))

        def read(place: abi.ValuePlace) -> bytes | None:
            try:
                return place.read(register, frame + abi.WORD, memory)
            except Unreadable:
                return None

        return [read(place) for place in abi.locate(self.awaited.function)]


def end(caught: dict[int, Caught]) -> None:
    for one in caught.values():
        one.wait_no_more()


CAUGHT: PerInferior[dict[int, Caught]] = PerInferior(dict, end)  # by function


def awaited(numbers: Iterable[int]) -> dict[int, AwaitedFailures]:
    found = {number: ours.filter_of(number) for number in numbers}
    return {number: one.failing for number, one in found.items() if one is not None and one.failing is not None}


def placed(found: Detour, members: Iterable[int]) -> tuple[int, int]:
    """The breakpoint that waits for failing calls of the function, and the address of what is to call it then."""
    waiting = awaited(members)
    if not waiting:
        raise NotHere("none waits for them")
    if len(waiting) > 1:
        raise NotHere(f"{len(waiting)} breakpoints on the function wait for errors")
    refuse(found, *waiting.values())
    ((owner, wanted),) = waiting.items()
    ours.of(owner).here().guards.results = ""
    try:
        caught = code_for(found, wanted)
    except (NoDetour, Unreadable, gdb.error) as reason:
        raise NotHere(str(reason)) from None
    caught.wait(owner, wanted)
    return owner, caught.code.address


def refuse(found: Detour, wanted: AwaitedFailures) -> None:
    if wanted.function.result.kind != "enum":
        raise NotHere("it returns no status")
    if agent.area() is None:
        raise NotHere(f"{places.AGENT} is not in the process ({agent.why_not()})")
    if not trampoline_space.is_unwound(found.function):
        raise NotHere(f"it is more than 2 GB away from {places.AGENT}")
    if trampoline_space.recorded_entry(found.function) is not None:
        raise NotHere("its calls are being recorded")


def code_for(found: Detour, wanted: AwaitedFailures) -> Caught:
    """What is there already, if it says the same."""
    pieces = [piece for place in abi.locate(wanted.function) for piece in place.pieces]
    registers = tuple(piece.register for piece in pieces if piece.register is not None)
    stack, known = abi.stack_words(wanted.function), CAUGHT().get(found.function)
    if known is not None:
        if (known.detour, known.code.registers, known.stack) == (found, registers, stack):
            return known
        known.wait_no_more()
    made = trampoline_space.keep_in_library(found, registers, stack)
    CAUGHT()[found.function] = Caught(found, stack, made, 0, wanted)
    return CAUGHT()[found.function]


def on_gone(gone: ours.OurBreakpoint) -> None:
    for caught in CAUGHT.all():
        for one in caught.values():
            if one.owner == gone.number:
                one.wait_no_more()


ours.ON_GONE.append(on_gone)
