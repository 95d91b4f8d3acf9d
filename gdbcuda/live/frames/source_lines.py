"""What stands in the source line of a code address, where gdb finds the source."""

from __future__ import annotations

from gdbcuda.files import source_text
from gdbcuda.live import process
from gdbcuda.live.frames import frames


def text_of(place: frames.CodePlace) -> str:
    """ "cuMemAlloc(&kept, 1 << 20);"; "" where gdb does not find the source."""
    for address in (place.address - 1, place.address) if place.source else ():  # a return address, or a function
        found = process.program_space().find_pc_line(address)
        if found.symtab is not None and frames.source_of(found) == place.source:
            return source_text.line_text(found.symtab.fullname(), found.line)
    return ""
