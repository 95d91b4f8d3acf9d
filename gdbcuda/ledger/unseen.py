"""What a log cannot tell of a process, for its recorder was told to leave it out or began later.

A function is followed where every call of it is in the log. A block is known to be live where its releases are
followed, and a release is known to be wrong where the allocators that it belongs to are.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from gdbcuda import api
from gdbcuda.calls.references import BEFORE
from gdbcuda.ledger.blocks import Block
from gdbcuda.ledger.effects.roles import UNMAP_CALL
from gdbcuda.ledger.mappings import KIND

NONE: frozenset[str] = frozenset()


def releases_of(symbols: Collection[str], table: api.Table) -> set[str]:
    """The symbols that take back what these hand out."""
    wanted = {name for symbol in symbols for name in released_by(symbol, table)}
    return {function.symbol for function in table.functions.values() if function.base in wanted}


def released_by(symbol: str, table: api.Table) -> tuple[str, ...]:
    function = table.function(symbol)
    return function.released_by if function is not None and function.role == "alloc" else ()


def left_out(symbols: Collection[str], table: api.Table, is_some: bool) -> frozenset[str]:
    """Base names of the families that are recorded, as far as their calls are not: all of them where the recorder
    takes only some calls (``is_some``)."""
    return of_families(frozenset(symbols), table, is_some)


@lru_cache(maxsize=4)  # asked for at each load
def of_families(symbols: frozenset[str], table: api.Table, is_some: bool) -> frozenset[str]:
    bases = {api.base_name(symbol) for symbol in symbols}
    allocators = {f.base: f.released_by for f in table.functions.values() if f.role == "alloc"}
    found = set()
    for allocator, releases in allocators.items():
        if allocator in bases or bases.intersection(releases):
            found |= {allocator, *releases}
    return frozenset(found if is_some else found - bases)


def of_block(block: Block, table: api.Table, unseen: Collection[str]) -> list[str]:
    """The releases of a block that are not followed: with any of them it may be gone."""
    names = (UNMAP_CALL,) if block.kind == KIND else table.functions[block.call.name].released_by
    return [name for name in names if name in unseen]


def of_release(release: api.Function, unseen: Collection[str]) -> list[str]:
    """Why a block may be none of the log's: BEFORE, or allocators that are not followed."""
    return [name for name in (BEFORE, *release.releases) if name in unseen]
