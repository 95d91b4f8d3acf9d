"""Which symbols a base name means: those of its function that the calls meant can reach, in the layer meant.

What the program is linked with is known. Who asks for functions by name, or loads libraries later, may call any of
them: cuMemAllocAsync_ptsz, nvmlDeviceGetMemoryInfo_v2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gdbcuda import api
from gdbcuda.api import vendor
from gdbcuda.errors import UserError
from gdbcuda.linkage import Linkage
from gdbcuda.live import layers, process
from gdbcuda.live.layers import library_files, names, own_calls, table_version, this_snapshot

ASKS = frozenset(("dlsym", "dlvsym"))
LOADS = frozenset(("dlopen", "dlmopen"))
VENDORS = ("runtime", "driver")


class WantedCalls(NamedTuple):
    """``places`` and ``callers`` as behind --in and --from; ``is_exact``: a symbol means itself alone."""

    places: tuple[str, ...] = ()
    callers: tuple[str, ...] = ()
    is_exact: bool = False


def resolve(pattern: str, wanted: WantedCalls) -> list[str]:
    """ELF symbols that are meant; the one that the program uses first."""
    found = names.resolve(pattern)
    symbols = [function.symbol for function in found]
    if names.is_glob(pattern):
        return symbols or names.matching_own(pattern)
    if not symbols:
        return names.in_module(pattern) or [pattern]
    if wanted.is_exact and pattern in symbols:
        return [pattern]
    return reachable(pattern, symbols, wanted)


def reachable(name: str, symbols: list[str], wanted: WantedCalls) -> list[str]:
    """What nvcc makes of <<<>>> calls __cudaLaunchKernel since CUDA 13, cudaLaunchKernel before."""
    table = table_version.table()
    candidates = [*symbols, *(f"__{symbol}" for symbol in symbols if table.function(f"__{symbol}"))]
    if len(candidates) == 1:
        return candidates
    linked = [symbol for symbol in candidates if is_linked(symbol)]
    first = linked or [symbols[0] if len(symbols) == 1 else table.source_symbol(name)]
    more = [one for one in symbols if one not in first and is_called(one, wanted) and is_there(one, wanted.places)]
    found = [*first, *more]
    return [one for one in found if is_there(one, wanted.places)] or first if wanted.places else found


def is_linked(symbol: str) -> bool:
    """The program itself refers to the symbol, or has it inside (a static cudart)."""
    if symbol in references():
        return True
    function = names.function_named(symbol)
    may_be_inside = function is None or function.api == "runtime"
    return may_be_inside and any(process.in_program(address) for address in process.decoded(symbol))


def is_called(symbol: str, wanted: WantedCalls) -> bool:
    """May one of the calls meant be of a symbol that the program is not linked with?"""
    if symbol in references_of_libraries():
        return True
    if table_version.table().is_ancient(symbol):
        return bool(ASKS & references()) and has_constant(symbol) and not this_snapshot.static_runtime()
    if symbol.endswith(api.STREAM_SUFFIXES):
        return is_open() or is_per_thread()
    return is_open() or not set(wanted.callers) <= {"app"}


@process.until_objects_change
def has_constant(text: str) -> bool:
    """Is the text a constant of the program's file? (A runtime inside has the names that it asks for.)"""
    try:
        return own_calls.has_constant(process.strip_prefix(process.program()), text)
    except UserError:
        return False


def is_open() -> bool:
    """The program may call what it is not linked with, or have libraries that nobody knows yet."""
    return bool((ASKS | LOADS | resolvers()) & references()) or (not process.images() and needs_others())


@process.until_objects_change
def resolvers() -> frozenset[str]:
    from gdbcuda.routes.snapshot import API_RESOLVERS

    return frozenset(f.symbol for base in API_RESOLVERS for f in table_version.table().find(base))


def is_per_thread() -> bool:
    return any(name.endswith(api.STREAM_SUFFIXES) for name in references() | references_of_libraries())


@process.until_objects_change
def references() -> frozenset[str]:
    """The functions that the program is linked with: from its memory, before the start from its file."""
    images = process.images()
    if images:
        return references_of(this_snapshot.linkage_of(images[0]))
    try:
        from gdbcuda import elf

        return frozenset(elf.open(process.strip_prefix(process.program())).undefined)
    except UserError:
        return frozenset()  # not a file of this machine


def references_of(linkage: Linkage) -> frozenset[str]:
    table = table_version.table()
    return frozenset(linkage.symbols.undefined({*table.functions, *table.extras, *ASKS, *LOADS}).values())


@process.until_objects_change
def references_of_libraries() -> frozenset[str]:
    """Of the program's own libraries; those of a program that asks by name need not be read."""
    if is_open() or not process.images():
        return frozenset()
    own = [one for one in this_snapshot.objects().all[1:] if this_snapshot.layer_of(one) == "app"]
    return frozenset[str]().union(*map(references_of, own))


@process.until_objects_change
def needs_others() -> bool:
    """Is the program's file linked with libraries of its own? What these refer to is known when they are loaded."""
    from gdbcuda import elf

    try:
        return not all(map(vendor.layer_of, elf.open(process.strip_prefix(process.program())).needed))
    except UserError:
        return False


def is_there(symbol: str, places: Sequence[str]) -> bool:
    """Has the layer meant the symbol? Of what is not loaded yet the file is asked, or, of the vendor's, the table."""
    hooks = [path for path in layers.named_hooks() if is_meant("hook", path, places)]
    if hooks and not any(map(library_files.hides_all, hooks)):
        return any(symbol in library_files.defined(path) for path in hooks)
    if hooks or not process.images():
        return True
    there = [one for one in this_snapshot.objects().all
             if is_meant(this_snapshot.layer_of(one), this_snapshot.file_of(one), places)]  # fmt: skip
    return not there or any(one.symbols.find(symbol) for one in there)


def is_meant(layer: str, file: str, places: Sequence[str]) -> bool:
    """Without --in the hook's; else the outermost, which is the vendor's."""
    if not places:
        return layer == "hook" or (layer in VENDORS and not layers.hooks())
    return any(layers.matches(word, layer, file) for word in places)
