"""What a log cannot tell of a process, for its recorder was told to leave it out or began later.

A function is followed where every call of it is in the log. A block is known to be live where its releases are
followed, and a release is known to be wrong where the allocators that it belongs to are.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

from gdbcuda import api
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import BEFORE, GAP, References
from gdbcuda.ledger.blocks import Block
from gdbcuda.ledger.effects.roles import MAP_CALL, UNMAP_CALL
from gdbcuda.ledger.mappings import KIND
from gdbcuda.ledger.trouble import DOUBLE, UNKNOWN, Found, Trouble

NONE: frozenset[str] = frozenset()
MOST = 10_000  # releases that are told
Place = tuple[str, int]  # kind of the block, its address or handle


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
    allocators = {function.base: function.released_by for function in table.of_role("alloc")}
    found = set()
    for allocator, releases in allocators.items():
        if allocator in bases or bases.intersection(releases):
            found |= {allocator, *releases}
    return frozenset(found if is_some else found - bases)


def releases_of_block(block: Block, table: api.Table) -> list[str]:
    return [UNMAP_CALL] if block.kind == KIND else [*table.functions[block.call.name].released_by]


class Unseen:
    """What a log's ``notes`` say that it does not tell."""

    def __init__(self, table: api.Table, notes: References) -> None:
        self.table, self.notes = table, notes

    def names(self, call: Call) -> Collection[str]:
        return self.notes.unseen.get(call.process, NONE)

    def gap_until(self, call: Call) -> float:
        return self.notes.gap_until.get(call.process, 0.0)

    def is_before_gap(self, block: Block) -> bool:
        """What was last seen of it: its memory may be another block's since."""
        last_seen = block.release or block.call
        return last_seen.start < self.gap_until(last_seen)

    def may_be_mapped(self, call: Call) -> bool:
        """What no call of the log has mapped."""
        return bool(self.gap_until(call)) or not {BEFORE, MAP_CALL}.isdisjoint(self.names(call))

    def releases(self, block: Block) -> list[str]:
        """Those of the block that the log may lack: with any of them it may be gone."""
        names = releases_of_block(block, self.table)
        return names if self.is_before_gap(block) else [name for name in names if name in self.names(block.call)]

    def why_unknown(self, call: Call, release: api.Function, found: Found) -> list[str]:
        """Why the block that the call releases may be none of the log's: calls are missing, it began later, or there
        are allocators that are not followed. [] where it is a mistake."""
        kind, _, block = found
        if self.gap_until(call) and (block is None or self.is_before_gap(block)):
            return [GAP]
        why = [name for name in (BEFORE, *release.releases) if name in self.names(call)]
        may_be_new = kind == UNKNOWN or (kind == DOUBLE and why != [BEFORE])
        return why if may_be_new else []


class Release(NamedTuple):
    """``why`` the block may be none of the log's."""

    call: Call
    why: str


class ReleasesElsewhere:
    """Of blocks that the log cannot know: handed out before it began, or by calls that it leaves out. ``ended``: those
    that are over, in order."""

    def __init__(self) -> None:
        self.ended: list[Release] = []
        self._open: dict[int, tuple[Place, Found, str]] = {}  # by number; what is wrong if the driver refuses it
        self._freed: dict[Place, Call] = {}

    def begin(self, call: Call, place: Place, found: Found, why: str) -> None:
        """A block that was freed once in this log is known to be gone, whoever handed it out."""
        before = self._freed.get(place)
        if before is not None and found[2] is None:
            found = DOUBLE, f"what was at {place[1]:#x} was freed by #{before.number} {before.name}", None
        self._open[call.number] = place, found, why

    def end(self, call: Call) -> Trouble:
        """What the driver refuses was no new block: freed twice, as far as the log knows the address."""
        if call.number not in self._open:
            return None
        place, found, why = self._open.pop(call.number)
        if call.failed and found[0] == DOUBLE:
            return found
        if len(self.ended) < MOST:
            self.ended.append(Release(call, why))
            if not call.failed and not call.ended:
                self._freed[place] = call
        return None
