"""Which functions the compiler has split: gcc calls what is rarely executed NAME.cold.

Only the names in the file's string table are asked for, which it may share with other symbols: gdb then says where the
part is, if it is. To ask gdb for each function takes a millisecond.
"""

from __future__ import annotations

import re

import gdb

from gdbcuda.errors import UserError
from gdbcuda.live.process.caching import until_objects_change
from gdbcuda.live.process.objects.loaded_objects import object_of, objfile_of

COLD = re.compile(rb"([^\0]+)\.cold\0")


@until_objects_change
def names_in(file: str) -> frozenset[str] | None:
    """Of the object with that name; None where its file cannot be read here."""
    from gdbcuda import elf  # loaded when first used

    objfile = objfile_of(file)
    if objfile is None:
        return None
    found: set[str] = set()
    for one in gdb.objfiles():
        if one is objfile or one.owner is objfile:  # what was stripped from it
            try:
                strings = elf.open(one.filename or "").contents(".strtab")
            except UserError:
                return None
            raw = strings.read(0, strings.readable) if strings is not None else b""
            found.update(name.decode(errors="replace") for name in COLD.findall(raw))
    return frozenset(found)


def may_have_cold_part(address: int, name: str) -> bool:
    """The function that begins there."""
    names = names_in(object_of(address))
    return names is None or name in names
