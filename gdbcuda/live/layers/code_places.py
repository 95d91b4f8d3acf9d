"""Code addresses as a person reads them, for a recorder that sees the same few of them again and again."""

from __future__ import annotations

from typing import Any

from gdbcuda.live import layers, process
from gdbcuda.live.layers import frames


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
    line = space.find_pc_line(lookup)
    source = f"{line.symtab.filename.rsplit('/', 1)[-1]}:{line.line}" if line.symtab and line.line else ""
    return frames.CodePlace(address, name, process.object_of(lookup), layers.layer_of(lookup, name), source)


def details(place: frames.CodePlace) -> dict[str, Any]:
    """What a log keeps of it."""
    return {"address": place.address, "function": place.function, "object": place.file, "layer": place.layer,
            "source": place.source}  # fmt: skip
