"""What stands in a line of a source, for a log that is read where the sources are not."""

from __future__ import annotations

from functools import lru_cache

from gdbcuda.errors import UserError
from gdbcuda.files import reading

LONGEST = 160  # characters
LARGEST = 4 << 20  # bytes of a file


def line_text(path: str, number: int) -> str:
    """ "cuMemAlloc(&kept, 1 << 20);"; "" where there is no such file, or no such line."""
    lines = lines_of(path)
    return lines[number - 1].strip()[:LONGEST] if 0 < number <= len(lines) else ""


@lru_cache(64)
def lines_of(path: str) -> tuple[str, ...]:
    try:
        source = reading.open_source(path)
        text = source.read(0, min(source.size, LARGEST), "its text")
    except UserError:
        return ()
    return tuple(text.decode(errors="replace").splitlines())
