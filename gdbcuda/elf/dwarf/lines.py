"""Which line of which source file an address was compiled from."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from gdbcuda.elf.dwarf.compile_units import Dwarf
from gdbcuda.elf.records import text
from gdbcuda.errors import UserError

LARGEST = 16 << 20  # bytes of line tables that are worth the wait: a second for 2 MB
NUMBERED_FROM_0 = 5  # the version of line tables


class Row(NamedTuple):
    address: int
    source: str  # "a.c:30"
    ends: bool


def lines(dwarf: Dwarf, addresses: Iterable[int]) -> dict[int, str]:
    """Of those addresses that the debug info knows; of a corrupt file what comes before that."""
    wanted, found = sorted(set(addresses)), {}  # type: list[int], dict[int, str]
    section = dwarf.sections.get(".debug_line")
    if section is None or section.size > LARGEST:
        return found
    from gdbcuda.elf.dwarf.sections import TooMuch

    with suppress(UserError, TooMuch):
        for rows in tables(dwarf):
            for at in between(rows, wanted):
                found[wanted[at[0]]] = at[1]
    return found


def between(rows: Iterable[Row], wanted: list[int]) -> Iterator[tuple[int, str]]:
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
            rows = list(table(program)) if program is not None else []
        yield rows


def table(program: Any) -> Iterator[Row]:
    files, entries = program["file_entry"], program.get_entries()
    first = 0 if program["version"] >= NUMBERED_FROM_0 else 1
    names = {at + first: os.path.basename(text(one.name)) for at, one in enumerate(files)}
    for state in (entry.state for entry in entries if entry.state is not None):
        yield Row(state.address, f"{names.get(state.file, '')}:{state.line}", state.end_sequence)
