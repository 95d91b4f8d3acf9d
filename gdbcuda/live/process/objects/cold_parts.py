"""Which functions the compiler has split: gcc calls what is rarely executed NAME.cold.

Only the names in the file's string table are asked for, which it may share with other symbols: gdb then says where the
part is, if it is. To ask gdb for each function takes a millisecond: two seconds of a log by rings through a gdbserver.
"""

from __future__ import annotations

import gdb

from gdbcuda.errors import UserError
from gdbcuda.live.process.caching import until_objects_change
from gdbcuda.live.process.objects.code import symbol_of
from gdbcuda.live.process.objects.loaded_objects import object_of, objfile_of
from gdbcuda.live.process.state import strip_prefix

COLD = b".cold"


@until_objects_change
def names_in(file: str) -> frozenset[str] | None:
    """Of the object with that name; None where its file cannot be read here."""
    objfile = objfile_of(file)
    if objfile is None:
        return None
    found: set[str] = set()
    for one in gdb.objfiles():
        if one is objfile or one.owner is objfile:  # what was stripped from it
            strings = strings_of(one)
            if strings is None:
                return None
            names = (name for name in strings.split(b"\0") if name.endswith(COLD))
            found.update(name[: -len(COLD)].decode(errors="replace") for name in names)
    return frozenset(found)


def has_cold_parts(file: str) -> bool:
    """True where nobody knows."""
    names = names_in(file)
    return names is None or bool(names)


def strings_of(objfile: gdb.Objfile) -> bytes | None:
    """None where it cannot be read here. For one that gdb reads at the far end of a link stands the file of that name
    of this machine, if it was built with it and no names were taken from it."""
    from gdbcuda import elf  # loaded when first used

    name = objfile.filename or ""
    path = strip_prefix(name)
    try:
        file = elf.open(path)
        if path != name and not (file.build_id == objfile.build_id is not None and file.symtab.has_local_functions):
            return None
        strings = file.contents(".strtab")
        return strings.read(0, strings.readable) if strings is not None else b""
    except UserError:
        return None


def cold_name(address: int) -> str:
    """What the part of the function that begins there may be called; "" where it is not split."""
    file = object_of(address)
    if not has_cold_parts(file):  # gdb is not asked for the function's own name either
        return ""
    name, names = symbol_of(address)[0], names_in(file)
    return f"{name}.cold" if name and (names is None or name in names) else ""
