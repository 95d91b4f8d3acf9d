"""Code addresses as a person reads them, for a recorder that sees the same few of them again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gdb

from gdbcuda.live import layers, process
from gdbcuda.live.frames import frames, source_lines
from gdbcuda.live.layers import this_snapshot


@process.until_objects_change
def caller(back: int) -> frames.CodePlace:
    """Who called, by the return address: the last byte of the call is in front of it. (Nothing is in front of 0, where
    gdb ends a stack in the loader that it cannot read.)"""
    return at(back, max(back - 1, 0))


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
    found = [(name_of(frame), frames.place_of(frame, is_caller=True)) for frame in outer]
    known = [{"function": name, "source": place.source, "text": source_lines.text_of(place)} for name, place in found]
    return {"inlined_into": known} if known else {}


def known_of(address: int) -> dict[str, Any]:
    """The same where there is no frame: the lines on which they call are not known."""
    outer = process.inlined_at(address)[1:]
    return {"inlined_into": [{"function": name, "source": ""} for name in outer]} if outer else {}


def beyond_headers(place: frames.CodePlace) -> tuple[frames.CodePlace, list[gdb.Frame]]:
    """Of a caller at the entry of a call: who asked, where that is code of CUDA's headers; with the frame of the
    function that the compiler has put such code into, if it has."""
    frame = frames.asking_frame(gdb.newest_frame()) if frames.is_in_headers(place) else None
    if frame is None:
        return place, []
    if frame.pc() == place.address:
        return place, [frame]
    return frames.place_of(frame, is_caller=True)._replace(function=name_of(frame)), []


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
