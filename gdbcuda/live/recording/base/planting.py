"""Where a recorder's breakpoints go: the first instruction of every implementation of the functions wanted.

By address, not by name: gdb would put a breakpoint on a name behind the prologue and into PLTs and C++ overloads,
and only at the first instruction are return address and stack pointer known without unwinding.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

from gdbcuda import api
from gdbcuda.errors import UserError
from gdbcuda.linkage import Linkage
from gdbcuda.live import layers, process
from gdbcuda.live.layers import library_files, this_snapshot
from gdbcuda.live.layers.code import answering_code


class PlantingSpot(NamedTuple):
    address: int
    symbol: str
    layer: str
    file: str


def spots(linkage: Linkage, wanted: Set[str], places: tuple[str, ...]) -> Iterator[PlantingSpot]:
    """The object's own implementations; one an address, under the newest of its names (_v2 before the bare one). Every
    version of a symbol is one. An indirect one is none: what it stands for is told by `layers.code.answering_code`."""
    file = this_snapshot.file_of(linkage)
    rows = sorted(linkage.symbols.defined(wanted).items())
    found = {one.address: name for name, versions in rows for one in versions if not one.is_indirect}
    indirect = {name for name, versions in rows if any(one.is_indirect for one in versions)}
    found.update(hidden(linkage, file, wanted - indirect - set(found.values())))
    found.update(answers(linkage, wanted))
    for address, name in found.items():
        is_within = linkage.image.holds(address)
        layer = layers.layer_within(file, address, name) if is_within else layers.layer_of(address, name)
        if layer != "system" and (not places or any(layers.matches(place, layer, file) for place in places)):
            yield PlantingSpot(address, name, layer, file)


def answers(linkage: Linkage, wanted: Set[str]) -> dict[int, str]:
    """Code of other names that answers for one of them."""
    here = [address for address in answering_code.FUNCTIONS() if linkage.image.holds(address)]
    return {address: name for address in here if (name := answering_code.function_at(address)) in wanted}


def hidden(linkage: Linkage, file: str, wanted: Set[str]) -> dict[int, str]:
    """What only the file's symbol table knows: a runtime linked into the program, a hook that hides its functions."""
    is_program = not linkage.image.name
    named = [h for h in layers.named_hooks() if layers.is_same_file(file, h)]
    path = process.strip_prefix(process.program()) if is_program else named[0] if named else ""
    if not path:
        return {}
    rows = [(a, name) for name in wanted & library_files.defined(path) for a in process.decoded(name)]
    starts = [(process.function_start(a), name) for a, name in rows if process.object_of(a) == file]
    return {start: name for start, name in starts if start is not None and process.symbol_of(start)[0] == name}


def only_elsewhere(wanted: Set[str], places: tuple[str, ...]) -> set[str]:
    """Base names of functions that are in other objects than those that are recorded, and in none of these: their calls
    are not in the log."""
    here, there = set[str](), set[str]()
    with suppress(UserError):  # the loader has not begun
        layered = [(one, this_snapshot.layer_of(one)) for one in this_snapshot.objects().all]
        for one, layer in layered:
            if layer != "system":
                answering_here = frozenset(answers(one, wanted).items())
                recorded, others = divided(one, layer, frozenset(wanted), places, answering_here)
                here |= recorded
                there |= others
    return there - here


@lru_cache(maxsize=512)  # asked for at each load
def divided(
    linkage: Linkage, layer: str, wanted: frozenset[str], places: tuple[str, ...], answering_here: frozenset[object]
) -> tuple[frozenset[str], frozenset[str]]:
    """Base names of the object's functions: those that are recorded, and the others. What of it can change as long as
    the object is there is among the arguments: its layer, and its code of other names that answers."""
    here, there = set[str](), set[str]()
    for spot in spots(linkage, wanted, ()):
        is_recorded = any(layers.matches(place, spot.layer, spot.file) for place in places)
        (here if is_recorded else there).add(api.base_name(spot.symbol))
    return frozenset(here), frozenset(there)
