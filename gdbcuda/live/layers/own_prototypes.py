"""Prototypes of a hook library's own functions, which are none of the API, from its debug info.

So conditions on their parameters are read as those of the API's functions are, before the library is loaded too.
"""

from __future__ import annotations

import functools

from gdbcuda import api
from gdbcuda.api.notes import ApiNotes
from gdbcuda.errors import UserError
from gdbcuda.live import layers, process
from gdbcuda.live.layers import library_files, names, this_snapshot
from gdbcuda.text import cplusplus


def prototype(symbol: str) -> api.Function | None:
    """Of an API function, of the loader's, or of one of the hook library; None where that is not known."""
    return names.prototype(symbol) or own(symbol)


def own(symbol: str) -> api.Function | None:
    """Of the only hook library that has the function."""
    known = layers.named_hooks() or map(process.strip_prefix, this_snapshot.hook_files())
    paths = [path for path in known if names.defines(path, symbol)]
    return read(paths[0], library_files.version_of(paths[0]), symbol) if len(paths) == 1 else None


@functools.lru_cache(maxsize=256)
def read(path: str, version: tuple[int, ...], symbol: str) -> api.Function | None:
    """Each time the same object, by which a call is known again."""
    from gdbcuda import elf
    from gdbcuda.elf.dwarf.prototypes import Prototype, prototypes

    types = api.load().types
    if copied(path, symbol):
        return None
    try:
        file = elf.open(path)
        found: set[Prototype | None] = set()
        for one in (file, *elf.debug_files(file)):
            found |= prototypes(one.dwarf, lambda name: is_called(name, symbol), lambda spelling: spelling in types)
    except UserError:
        return None
    only = found.pop() if len(found) == 1 else None
    if only is None:
        return None
    text = ";".join([only.result, *(f"{name} {spelling}" for name, spelling in only.parameters)])
    return api.Function(symbol, "driver", text, types, ApiNotes())


def copied(path: str, symbol: str) -> str:
    """The name of a copy of it whose arguments are elsewhere, "" without one."""
    copies = (one for one in library_files.defined(path) if library_files.COPY.search(one))
    return next((one for one in copies if is_called(one.partition(".")[0], symbol)), "")


def is_called(name: str, symbol: str) -> bool:
    """Does a name of the symbol table mean what was typed?"""
    return name == symbol or (name.startswith("_Z") and cplusplus.is_called(process.demangled(name), symbol))
