"""What stands in the source line of a code address, for a log that is read where the sources are not."""

from __future__ import annotations

from functools import lru_cache

from gdbcuda.errors import UserError
from gdbcuda.files import reading
from gdbcuda.live import process
from gdbcuda.live.frames import frames

LONGEST = 160  # characters
LARGEST = 4 << 20  # bytes of a file


def text_of(place: frames.CodePlace) -> str:
    """ "cuMemAlloc(&kept, 1 << 20);"; "" where gdb does not find the source."""
    for address in (place.address - 1, place.address) if place.source else ():  # a return address, or a function
        found = process.program_space().find_pc_line(address)
        if found.symtab is not None and frames.source_of(found) == place.source:
            lines = lines_of(found.symtab.fullname())
            return lines[found.line - 1].strip()[:LONGEST] if 0 < found.line <= len(lines) else ""
    return ""


@lru_cache(64)
def lines_of(file: str) -> tuple[str, ...]:
    try:
        source = reading.open_source(file)
        text = source.read(0, min(source.size, LARGEST), "its text")
    except UserError:
        return ()
    return tuple(text.decode(errors="replace").splitlines())
