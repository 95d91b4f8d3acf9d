"""What `gdbcuda trace` hands out in the place of functions: a door of its recorder stands for the one that it calls."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING

from gdbcuda.errors import Unreadable
from gdbcuda.files import places
from gdbcuda.rings.ring_layout import (
    DOOR_SIZE,
    DOORS_SYMBOL,
    FUNCTION,
    FUNCTIONS_SYMBOL,
    MOST_FUNCTIONS,
    TRACE,
    TRACE_SYMBOL,
    WORD,
)

if TYPE_CHECKING:
    from gdbcuda.linkage import Linkage, Linkages
    from gdbcuda.memory import Memory


def stands_for(objects: Linkages, memory: Memory) -> dict[int, int]:
    """Address of a door, or of the code that asks before it -> address of the function; {} where nothing is traced."""
    found = (one for one in objects.startup if os.path.basename(one.image.name) == places.TRACER)
    recorder = next(found, None)
    if recorder is None:
        return {}
    try:
        return dict(originals(recorder, memory))
    except (Unreadable, IndexError):  # of another version of gdbcuda
        return {}


def originals(recorder: Linkage, memory: Memory) -> list[tuple[int, int]]:
    doors, functions, trace = (address(recorder, name) for name in (DOORS_SYMBOL, FUNCTIONS_SYMBOL, TRACE_SYMBOL))
    count = min(words(memory, trace + TRACE["SLOTS"] * WORD, 1)[0], MOST_FUNCTIONS)
    if not count:
        return []
    called = words(memory, functions, count * FUNCTION["SIZE"])[FUNCTION["ORIGINAL"] :: FUNCTION["SIZE"]]
    asking = words(memory, trace + TRACE["FILTERED"] * WORD, count)
    rows = [(doors + number * DOOR_SIZE, original) for number, original in enumerate(called)]
    return [pair for pair in [*rows, *zip(asking, called)] if all(pair)]


def address(recorder: Linkage, name: str) -> int:
    return recorder.symbols.find(name)[0].address


def words(memory: Memory, start: int, count: int) -> tuple[int, ...]:
    return struct.unpack(f"<{count}Q", memory.read(start, count * WORD))
