"""The code that recorded functions go on with, written into libgdbcuda.so all at once, and what unwinders know of it.

(`agent`, `machine.entry_detour`, shim/agent/guards.S.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gdbcuda.linkage.image import LoadedSymbol
from gdbcuda.live import process
from gdbcuda.live.patching import agent, detours, nearby_space
from gdbcuda.live.recording.base.planting import PlantingSpot
from gdbcuda.machine import entry_detour, unwinding
from gdbcuda.machine.detour import Detour, NoDetour
from gdbcuda.machine.free_ranges import aligned
from gdbcuda.machine.trampoline import Test, Trampoline

TOO_FAR = "it is more than 2 GB away from libgdbcuda.so"
NO_ROOM = "libgdbcuda.so has no room for more"


class PlannedEntry(NamedTuple):
    """``slot``: the address of the code in libgdbcuda.so that stands for the function."""

    spot: PlantingSpot
    detour: Detour
    slot: int
    tests: Sequence[Test] = ()


class Onward(NamedTuple):
    """``target``: what the entry jumps to; ``tables``: what belongs beside the code."""

    target: int
    code: Trampoline
    tables: list[bytes]


def place(planned: Sequence[PlannedEntry]) -> list[Onward | str]:
    """For each its code, or why it has none. `NoDetour` where there is something else."""
    area = agent.area()
    assert area is not None
    at = start = first_free(area)
    made: list[Onward | str] = []
    for one in planned:
        try:
            found = build(one, at, area)
            at = aligned(at + len(found.code.raw))
            made.append(found)
        except NoDetour as reason:
            made.append(str(reason))
    if at > start:
        nearby_space.OUR_MEMORY().taken[start] = at - start  # also where a Ctrl-C leaves it half written
        write(area, start, at, [one for one in made if isinstance(one, Onward)])
    return made


def first_free(area: LoadedSymbol) -> int:
    """Behind all that is there."""
    taken = nearby_space.OUR_MEMORY().taken.items()
    return aligned(max([area.address, *(at + size for at, size in taken if agent.is_inside(at))]))


def build(one: PlannedEntry, at: int, area: LoadedSymbol) -> Onward:
    if abs(area.address - one.spot.address) >= nearby_space.NEAR:
        raise NoDetour(TOO_FAR)
    code = entry_detour.onward(one.detour, one.tests, one.slot, at)
    if at + len(code.raw) > area.address + area.size:
        raise NoDetour(NO_ROOM)
    try:
        made = unwinding.tables(code.raw) if one.tests else tables(moved_code(one.detour), code.raw)
    except unwinding.UnknownFrame:
        raise NoDetour("what its first instructions do to the stack is not understood") from None
    return Onward(code.address if one.tests else one.slot, code, made)


def moved_code(found: Detour) -> tuple[bytes, ...]:
    return tuple(one.raw for _, one in found.moved)


KNOWN: dict[tuple[tuple[bytes, ...], int], list[bytes]] = {}  # most functions begin as others do


def tables(instructions: tuple[bytes, ...], code: bytes) -> list[bytes]:
    """Of code that is these instructions, wherever it is, and the jump behind them."""
    key = instructions, len(code)
    if key not in KNOWN:
        KNOWN[key] = unwinding.tables(code)
    return KNOWN[key]


def write(area: LoadedSymbol, start: int, end: int, made: Sequence[Onward]) -> None:
    for index in range(1 + unwinding.TABLES):
        block = bytearray(end - start)
        for one in made:
            raw, at = (one.tables[index - 1] if index else one.code.raw), one.code.address - start
            block[at : at + len(raw)] = raw
        address = start + area.size * index
        if any(process.InferiorMemory().read(address, end - start)):
            raise NoDetour("there is something else in libgdbcuda.so")
        detours.write(address, bytes(block))
