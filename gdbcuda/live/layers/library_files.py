"""What the hook library's file defines, before it is loaded too."""

from __future__ import annotations

import functools
import os

from gdbcuda import api
from gdbcuda.errors import UserError
from gdbcuda.live.layers import table_version
from gdbcuda.text.patterns import pattern

COPY = pattern(r"\.(isra|constprop|part|lto_priv)\b")  # gcc's names of copies whose arguments are elsewhere


def exported(path: str) -> frozenset[str]:
    """What the hook library's file exports; empty if it cannot be read here."""
    return read_exported(path, version_of(path))


def defined(path: str) -> frozenset[str]:
    """The exported names and the hidden functions of the hook library's file."""
    return read_defined(path, version_of(path))


def inlines(path: str, name: str) -> bool:
    """Has the compiler put the function into its callers? Of very large debug info that is not known."""
    return name in read_inlined(path, version_of(path))


@functools.lru_cache(maxsize=16)
def read_inlined(path: str, version: tuple[int, ...]) -> frozenset[str]:
    from gdbcuda import elf
    from gdbcuda.elf.dwarf.function_names import TooMuch, inlined_functions

    try:
        file = elf.open(path)
        return frozenset(name for one in (file, *elf.debug_files(file)) for name in inlined_functions(one.dwarf))
    except (UserError, TooMuch):
        return frozenset()


def hides_all(path: str) -> bool:
    """A release build: it answers dlsym, and nothing of the API that it defines has a name, not even a hidden one."""
    return look_for_names(path, version_of(path), table_version.table())


def version_of(path: str) -> tuple[int, ...]:
    """Another one as soon as the library is built again, which is what its author does between two runs."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino


@functools.lru_cache(maxsize=16)
def read_exported(path: str, version: tuple[int, ...]) -> frozenset[str]:
    from gdbcuda import elf  # 20 ms, and only a session with a hook library's file needs it

    try:
        return frozenset(elf.open(path).exported)
    except UserError:
        return frozenset()


@functools.lru_cache(maxsize=16)
def read_hidden(path: str, version: tuple[int, ...]) -> frozenset[str]:
    from gdbcuda import elf

    try:
        file = elf.open(path)
        files = [file, *elf.debug_files(file)]
        found = {name for one in files for name in one.hidden_functions}
        if any(one.section(".debug_info") for one in files):  # then gdb finds a copy by the name that was written
            found |= {name.partition(".")[0] for name in found if COPY.search(name)}
        return frozenset(found)
    except UserError:
        return frozenset()


@functools.lru_cache(maxsize=16)
def read_defined(path: str, version: tuple[int, ...]) -> frozenset[str]:
    return read_exported(path, version) | read_hidden(path, version)


@functools.lru_cache(maxsize=16)
def look_for_names(path: str, version: tuple[int, ...], table: api.Table) -> bool:
    from gdbcuda.routes.snapshot import API_RESOLVERS

    names = read_defined(path, version)
    functions = (name for name in names if name not in API_RESOLVERS and table.function(name) is not None)
    return "dlsym" in read_exported(path, version) and next(functions, None) is None
