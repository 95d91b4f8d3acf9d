"""A hook library's table of real functions, read through its debug info: which of them it has not looked up yet.

Such tables are arrays of a struct with a name and a pointer: {fn_ptr, name} in most hook libraries. The pointers that
are there already are found without debug info (`gdbcuda.routes.collect.pointers`); NULL has to be told by its name.
(gdb manual: "Objfiles In Python", "Types In Python".)
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Set
from typing import NamedTuple

import gdb

from gdbcuda.errors import Unreadable
from gdbcuda.linkage import Linkage
from gdbcuda.live import process
from gdbcuda.live.layers import this_snapshot
from gdbcuda.memory import string_at
from gdbcuda.routes.collect import Route
from gdbcuda.routes.snapshot import ProcessSnapshot
from gdbcuda.routes.verdicts import Verdict

LARGEST = 1 << 20  # bytes of one array


class RealFunctions(NamedTuple):
    """Offsets are within an entry of ``stride`` bytes."""

    variable: str
    address: int
    entries: int
    stride: int
    name_at: int
    pointer_at: int
    field: str


@process.until_objects_change
def tables(file: str) -> tuple[RealFunctions, ...]:
    """Of the object with that file name, as the loader names it."""
    objfile = process.objfile_of(file)
    if objfile is None or not objfile.filename:
        return ()
    return tuple(found for name in variables(objfile.filename) for found in of_variable(objfile, name))


def variables(file: str) -> list[str]:
    return re.findall(r"^\[ *\d+\] [DBdb] 0x[0-9a-f]+ (\w+)", this_snapshot.minimal_symbols(file), re.MULTILINE)


def of_variable(objfile: gdb.Objfile, name: str) -> Iterator[RealFunctions]:
    symbol = objfile.lookup_static_symbol(name) or objfile.lookup_global_symbol(name)
    if symbol is None or symbol.type is None:
        return
    array = symbol.type.strip_typedefs()
    if array.code != gdb.TYPE_CODE_ARRAY or not 0 < array.sizeof <= LARGEST:
        return
    entry = array.target().strip_typedefs()
    if entry.code != gdb.TYPE_CODE_STRUCT or not entry.sizeof:
        return
    texts = pointers(entry, (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR), 1)
    codes = pointers(entry, (gdb.TYPE_CODE_FUNC, gdb.TYPE_CODE_VOID))
    address = symbol.value().address if texts and codes else None  # None: it is optimised out
    if address is not None:
        yield RealFunctions(name, int(address), array.sizeof // entry.sizeof, entry.sizeof, texts[0][0], *codes[0])


def pointers(entry: gdb.Type, codes: tuple[int, ...], size: int = 0) -> list[tuple[int, str]]:
    """(offset, name) of the members that point to that. C++'s static ones have no bitpos: they are not in the entry."""
    found: list[tuple[gdb.Field, int | None]] = [(one, getattr(one, "bitpos", None)) for one in entry.fields()]
    return [(at // 8, one.name or "") for one, at in found if at is not None and is_pointer_to(one, codes, size)]


def is_pointer_to(field: gdb.Field, codes: tuple[int, ...], size: int) -> bool:
    kind = field.type.strip_typedefs() if field.type is not None else None
    if kind is None or kind.code != gdb.TYPE_CODE_PTR:
        return False
    pointed = kind.target().strip_typedefs()
    return pointed.code in codes and (not size or pointed.sizeof == size)


def not_looked_up(snapshot: ProcessSnapshot, hook: Linkage, names: Set[str]) -> list[Route]:
    """Entries of the hook's tables for the names whose pointer is still NULL."""
    file = this_snapshot.file_of(hook)
    found = []
    for table in tables(file):
        for index, name in unset(snapshot, table):
            if name in names:
                found.append(Route(name, "pointer", file, "hook", f"in {table.variable}[{index}].{table.field}", None,
                                   Verdict("real", "not looked up yet"),
                                   table.address + index * table.stride + table.pointer_at))  # fmt: skip
    return found


def unset(snapshot: ProcessSnapshot, table: RealFunctions) -> Iterator[tuple[int, str]]:
    """(index, name) of the entries with a NULL pointer."""
    try:
        data = snapshot.memory.read(table.address, table.entries * table.stride)
        for index in range(table.entries):
            text, code = (struct.unpack_from("<Q", data, index * table.stride + at)[0]
                          for at in (table.name_at, table.pointer_at))  # fmt: skip
            if text and not code:
                yield index, string_at(snapshot.memory, text)
    except Unreadable:
        return
