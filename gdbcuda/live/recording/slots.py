"""Which slot of libgdbcuda.so stands for which function of a process, as long as that lives.

A thread may be in a call that an earlier recorder has seen begin, and the rings have its records: a slot never stands
for another function, and a function that is recorded again has the same one. (`calls.ring_layout`.)
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from gdbcuda.calls import ring_layout
from gdbcuda.calls.ring_functions import RecordedFunction
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.patching import agent, detours
from gdbcuda.live.recording import onward_code
from gdbcuda.live.recording.onward_code import Onward, PlannedEntry
from gdbcuda.live.recording.planting import PlantingSpot
from gdbcuda.machine.detour import Detour, NoDetour
from gdbcuda.machine.trampoline import Test

FULL = f"the recorder has room for {ring_layout.MOST_FUNCTIONS} functions"


@dataclass
class Slots:
    """``numbers``: by address and symbol; ``onward``: by address, the code of functions without tests."""

    numbers: dict[tuple[int, str], int] = field(default_factory=dict)
    onward: dict[int, tuple[Detour, Onward]] = field(default_factory=dict)


SLOTS: PerInferior[Slots] = PerInferior(Slots)


def number_of(spot: PlantingSpot) -> int:
    """Of the function's slot; `NoDetour` where there is none left."""
    numbers = SLOTS().numbers
    key = spot.address, spot.symbol
    if key not in numbers and len(numbers) >= ring_layout.MOST_FUNCTIONS:
        raise NoDetour(FULL)
    return numbers.setdefault(key, len(numbers))


def planned(spot: PlantingSpot, found: Detour, tests: Sequence[Test]) -> PlannedEntry:
    slot = require(ring_layout.SLOTS_SYMBOL) + number_of(spot) * ring_layout.SLOT_SIZE
    return PlannedEntry(spot, found, slot, tests)


def place(entries: Sequence[PlannedEntry]) -> list[Onward | str]:
    """The code that each goes on with, or why it has none."""
    known = SLOTS().onward
    old = [known[one.spot.address] if one.spot.address in known and not one.tests else None for one in entries]
    reused = [pair[1] if pair and pair[0] == one.detour else None for one, pair in zip(entries, old)]
    new = iter(onward_code.place([one for one, there in zip(entries, reused) if there is None]))
    made = [next(new) if there is None else there for there in reused]
    for one, code in zip(entries, made):
        if isinstance(code, Onward) and not one.tests:
            known[one.spot.address] = one.detour, code
    return made


def tell(number: int, known: RecordedFunction, code: Onward) -> None:
    """The process learns what the slot stands for."""
    words = struct.pack(f"<{ring_layout.FUNCTION['SIZE']}Q", *known.words(code.code.onward))
    detours.write(require(ring_layout.FUNCTIONS_SYMBOL) + number * len(words), words, prove=False)


def require(name: str) -> int:
    found = agent.symbol(name)
    if found is None:
        raise NoDetour("libgdbcuda.so is another one than ours")
    return found.address
