"""Where a thread stands, as a person looks for it: in the hook library, else in the program. And in which system call.

(gdb manual: "Threads In Python", "Frames In Python".)
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import gdb

from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.frames import frames
from gdbcuda.live.stopping import stops
from gdbcuda.locks import waits
from gdbcuda.locks.lock_report import StandingPlace
from gdbcuda.locks.waits import WaitingCall

MOST_FRAMES = 40
OF_NOBODY = ("system", "")
CALL, CALL_THROUGH = b"\xe8", b"\xff\x15"


class Standing(NamedTuple):
    """``functions``: of the system's libraries that the thread is in, innermost first, up to whoever called them."""

    call: WaitingCall | None
    functions: tuple[str, ...]
    spot: StandingPlace


def here() -> Standing:
    """Of the selected thread, which stands still."""
    functions: list[str] = []
    found: list[tuple[int, frames.CodePlace]] = []
    for number, frame in enumerate(frames.innermost(MOST_FRAMES)):
        place = frames.place_of(frame, is_caller=number > 0)
        if place.layer in OF_NOBODY and not found:
            functions.append(frame.name() or "")
        elif place.layer not in OF_NOBODY:
            functions += called_from(frame) if functions and not found else ()
            found.append((number, place))
            if place.layer == "hook":
                break
    return Standing(call_here(), tuple(functions), spot_of(found))


def called_from(frame: gdb.Frame) -> Iterator[str]:
    """The function that the instruction before the frame's address calls: it may have jumped on to one without a name.
    (Intel SDM, CALL: E8 rel32, FF /2 with a displacement from rip.)"""
    memory, back = process.InferiorMemory(), frame.pc()
    with suppress(Unreadable):
        code = memory.read(back - 6, 6)
        (away,) = struct.unpack("<i", code[2:])
        if code[1:2] == CALL:
            yield process.symbol_of(back + away & (1 << 64) - 1)[0]
        elif code[:2] == CALL_THROUGH:
            yield process.symbol_of(int.from_bytes(memory.read(back + away, 8), "little"))[0]


def spot_of(found: list[tuple[int, frames.CodePlace]]) -> StandingPlace:
    """The hook library's innermost frame, else the innermost that is nobody's of the system."""
    if not found:
        return StandingPlace()
    number, place = found[-1] if found[-1][1].layer == "hook" else found[0]
    return StandingPlace(stops.place_text(place), number)


def call_here() -> WaitingCall | None:
    try:
        frame = gdb.newest_frame()
        registers = {name: int(frame.read_register(name)) & (1 << 64) - 1 for name in waits.REGISTERS}
        before = process.InferiorMemory().read(frame.pc() - 2, 2)
    except (gdb.error, ValueError, Unreadable):  # a machine without these registers
        return None
    return waits.waiting_call(registers, before)
