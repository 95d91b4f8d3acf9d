"""From what a user types (a symbol, a base name, a glob) to the function symbols to break on."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable
from typing import NoReturn

from gdbcuda import api
from gdbcuda.api.notes import ApiNotes
from gdbcuda.errors import UserError
from gdbcuda.files import places
from gdbcuda.live import layers, process
from gdbcuda.live.host import gdb_cli, inferiors
from gdbcuda.live.layers import table_version

EXTRA = {  # what hook libraries define beside the API: dlsym(3), dlopen(3), as the table's prototypes are written
    "dlsym": "void *;handle void *;symbol const char *",
    "dlvsym": "void *;handle void *;symbol const char *;version const char *",
    "dlopen": "void *;filename const char *;flags int",
}


def resolve(pattern: str) -> list[str]:
    """ELF symbols meant by the pattern; UserError with the nearest names if there is none."""
    table = table_version.table()
    if not pattern:
        raise UserError("an empty name; a function is wanted, for example cuMemAlloc")
    found = table.find(pattern)
    if is_glob(pattern):
        return [f.symbol for f in found] or unknown(pattern, table)
    if not found:
        return [pattern] if is_somewhere(pattern) else unknown(pattern, table)
    return used_variants(pattern, [f.symbol for f in found], table)


def is_glob(pattern: str) -> bool:
    return any(c in pattern for c in "*?[")


def used_variants(name: str, symbols: list[str], table: api.Table) -> list[str]:
    """Of cuMemAlloc and cuMemAlloc_v2 the ones that the program links against; else the header's current one.

    What nvcc makes of <<<>>> calls __cudaLaunchKernel since CUDA 13, cudaLaunchKernel before."""
    candidates = [*symbols, *(f"__{symbol}" for symbol in symbols if table.function(f"__{symbol}"))]
    if len(candidates) == 1:
        return candidates
    linked = [symbol for symbol in candidates if is_linked(symbol)]
    return linked or [symbols[0] if len(symbols) == 1 else table.source_symbol(name)]


def is_linked(symbol: str) -> bool:
    """The program itself refers to the symbol, or has it inside (a static cudart)."""
    if symbol in imports():
        return True
    function = function_named(symbol)
    may_be_inside = function is None or function.api == "runtime"
    return may_be_inside and any(process.in_program(address) for address in process.decoded(symbol))


@process.until_objects_change
def imports() -> frozenset[str]:
    """The API functions that the program is linked against: from its memory, before the start from its file."""
    from gdbcuda import elf
    from gdbcuda.live.layers import this_snapshot

    images = process.images()
    if images:
        table = table_version.table()
        names = {*table.functions, *table.extras}
        return frozenset(this_snapshot.linkage_of(images[0]).symbols.undefined(names).values())
    try:
        return frozenset(elf.open(process.strip_prefix(process.program())).undefined)
    except UserError:
        return frozenset()  # not a file of this machine


def is_somewhere(name: str) -> bool:
    """Not in the table, but defined in a loaded object or in the hook library's file."""
    is_loaded = "@" not in name and bool(process.decoded(name))
    return is_loaded or name in EXTRA or any(name in defined(h) for h in layers.named_hooks())


def exported(path: str) -> frozenset[str]:
    """What the hook library's file exports; empty if it cannot be read here."""
    return read_exported(path, version_of(path))


def defined(path: str) -> frozenset[str]:
    """The exported names and the hidden functions of the hook library's file."""
    return read_defined(path, version_of(path))


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
        return frozenset(elf.open(path).hidden_functions)
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


def unknown(pattern: str, table: api.Table) -> NoReturn:
    near = [] if is_glob(pattern) else table.nearest(pattern)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    where = f"the API of CUDA {table.cuda} and NVML {table.nvml}"
    raise UserError(f"no function {pattern!r} in {where}, the program or the hook library{hint}")


def complete_functions(token: str) -> Iterable[str]:
    return (
        [f.symbol for f in table_version.table().find(token, prefix=True)] + list(EXTRA)
        if token
        else ("cu", "cuda", "nvml")
    )


def complete_places(token: str) -> Iterable[str]:
    """Layers and the loaded libraries."""
    names = [n.rsplit("/", 1)[-1] for n in process.shared_objects()] if process.is_alive() else []
    return [*layers.LAYERS, *(name for name in names if name != places.AGENT)]


def complete_threads(token: str) -> Iterable[str]:
    return [str(thread.num) for thread in inferiors.threads()]


def complete_variables(token: str) -> Iterable[str]:
    """Environment variables of the next run, ready for a value."""
    shown = gdb_cli.execute("show environment")
    return [f"{name}=" for name in re.findall(r"^(\w+)=", shown, re.MULTILINE)]


def complete_callers(token: str) -> Iterable[str]:
    return ["any", *complete_places(token)]


def function_named(symbol: str) -> api.Function | None:
    return table_version.table().function(symbol)


def prototype(symbol: str) -> api.Function | None:
    """Of an API function, and of the loader's, for conditions on their parameters."""
    return function_named(symbol) or (loader_function(symbol) if symbol in EXTRA else None)


@functools.cache
def loader_function(symbol: str) -> api.Function:
    return api.Function(symbol, "driver", EXTRA[symbol], api.load().types, ApiNotes())


def breakpoint_numbers(numbers: list[int]) -> str:
    """ "Breakpoint 3" or "Breakpoints 3-17"."""
    if len(numbers) == 1:
        return f"Breakpoint {numbers[0]}"
    return f"Breakpoints {numbers[0]}-{numbers[-1]}"


def split_places(text: str | None) -> tuple[str, ...]:
    """Layers, "any" and libraries. A library may come later, so every name will do, but a layer's with a typo."""
    words = tuple(word for word in re.split(r"[,\s]+", text or "") if word)
    for word in words:
        near = nearest_layer(word)
        if near and not any(layers.matches(word, "", name) for name in objects()):
            raise UserError(f"no layer {word!r}; did you mean {near}? (a library: {word}.so)")
    return words


def nearest_layer(word: str) -> str:
    """The layer that a word may be meant for that is none."""
    from difflib import get_close_matches  # slow to import

    near = get_close_matches(word.lower(), layers.LAYERS, 1, 0.75)
    return near[0] if near and word not in layers.LAYERS else ""


def objects() -> list[str]:
    """File names of the program and the loaded libraries."""
    return [process.strip_prefix(process.program()), *process.shared_objects()]
