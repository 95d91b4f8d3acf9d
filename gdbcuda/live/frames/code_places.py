"""Code addresses as a person reads them, for a recorder that sees the same few of them again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gdb

from gdbcuda.live import layers, process
from gdbcuda.live.frames import frames
from gdbcuda.live.layers import this_snapshot


@process.until_objects_change
def caller(back: int) -> frames.CodePlace:
    """Who called, by the return address: the last byte of the call is in front of it."""
    return at(back, back - 1)


@process.until_objects_change
def code(address: int) -> frames.CodePlace:
    """The function that begins (or is) at the address."""
    return at(address, address)


def at(address: int, lookup: int) -> frames.CodePlace:
    space = process.program_space()
    block = process.block_of_function(space.block_for_pc(lookup))
    function = block.function if block is not None else None
    name = function.name if function is not None else process.symbol_of(lookup)[0]
    source = frames.source_of(space.find_pc_line(lookup))
    return frames.CodePlace(address, name, process.object_of(lookup), layers.layer_of(lookup, name), source)


def inlined_into(outer: Sequence[gdb.Frame]) -> dict[str, Any]:
    """The functions that a place's code was put into, outwards, for a log."""
    return {"inlined_into": [{"function": name_of(frame), "source": frames.source_of(frame.find_sal())}
                             for frame in outer]} if outer else {}  # fmt: skip


def name_of(frame: gdb.Frame) -> str:
    """With its arguments, as `at` has it: gdb's name of a frame is without them."""
    function = frame.function()
    return (function.name if function is not None else frame.name()) or ""


def details(place: frames.CodePlace) -> dict[str, Any]:
    """What a log keeps of it."""
    known = {"address": place.address, "function": place.function, "object": place.file, "layer": place.layer,
             "source": place.source}  # fmt: skip
    base = this_snapshot.base_of(place.address) if place.file and not place.function else 0
    return known | ({"offset": place.address - base} if base else {})
