"""Which line of which source file an address was compiled from."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from gdbcuda.elf.dwarf.compile_units import Dwarf, text_of
from gdbcuda.elf.records import text
from gdbcuda.errors import UserError

LARGEST = 16 << 20  # bytes of line tables that are worth the wait: a second for 2 MB
NUMBERED_FROM_0 = 5  # the version of line tables


class SourceLine(NamedTuple):
    """``path`` as the compiler had it."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{os.path.basename(self.path)}:{self.line}"


class Row(NamedTuple):
    address: int
    source: SourceLine
    ends: bool


def source_lines(dwarf: Dwarf, addresses: Iterable[int]) -> dict[int, SourceLine]:
    """Of those addresses that the debug info knows; of a corrupt file what comes before that."""
    wanted, found = sorted(set(addresses)), {}  # type: list[int], dict[int, SourceLine]
    section = dwarf.sections.get(".debug_line")
    if section is None or section.size > LARGEST:
        return found
    from gdbcuda.elf.dwarf.sections import TooMuch

    with suppress(UserError, TooMuch):
        for rows in tables(dwarf):
            for at in between(rows, wanted):
                found[wanted[at[0]]] = at[1]
    return found


def between(rows: Iterable[Row], wanted: list[int]) -> Iterator[tuple[int, SourceLine]]:
    """(place among the wanted, source): a row holds up to the next one of its sequence."""
    last = None
    for row in rows:
        if last is not None and not last.ends:
            for at in range(bisect_left(wanted, last.address), bisect_left(wanted, row.address)):
                yield at, last.source
        last = row


def tables(dwarf: Dwarf) -> Iterator[list[Row]]:
    """One for each compilation unit that has one."""
    for entry in dwarf.first_entries():
        with dwarf.info.told():
            program = dwarf.info.line_program_for_CU(entry.cu)
            rows = list(table(program, text_of(entry, "comp_dir"))) if program is not None else []
        yield rows


def table(program: Any, directory: str) -> Iterator[Row]:
    first = 0 if program["version"] >= NUMBERED_FROM_0 else 1
    folders = [directory] * first + [text(one) for one in program["include_directory"]]
    names = {}
    for at, one in enumerate(program["file_entry"], first):
        place = getattr(one, "dir_index", 0)
        folder = folders[place] if place < len(folders) else ""
        names[at] = os.path.normpath(os.path.join(directory, folder, text(one.name)))
    for state in (entry.state for entry in program.get_entries() if entry.state is not None):
        yield Row(state.address, SourceLine(names.get(state.file, ""), state.line), state.end_sequence)
