"""What stands in the source line of a code address, where gdb finds the source."""

from __future__ import annotations

from collections.abc import Iterator

from gdbcuda.files import source_text
from gdbcuda.live import process
from gdbcuda.live.frames import frames


def text_of(place: frames.CodePlace) -> str:
    """ "cuMemAlloc(&kept, 1 << 20);"; "" where gdb does not find the source."""
    file, _, line = place.source.rpartition(":")
    paths = (one for one in files_at(place.address) if one.rpartition("/")[2] == file) if file else ()
    return next((text for one in paths if (text := source_text.line_text(one, int(line)))), "")


def files_at(address: int) -> Iterator[str]:
    """Of the line there, and of the functions that its code was put into."""
    space = process.program_space()
    for lookup in (address - 1, address):  # a return address, or a function
        found = space.find_pc_line(lookup)
        if found.symtab is not None:
            yield found.symtab.fullname()
    block = process.block_of_function(space.block_for_pc(address - 1))
    while block is not None:
        if block.function is not None and block.function.symtab is not None:
            yield block.function.symtab.fullname()
        block = process.block_of_function(block.superblock)
