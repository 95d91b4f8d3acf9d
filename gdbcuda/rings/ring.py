"""Reads what the recorder in the process has written into its rings, a part at a time.

Threads write while it is read: a record counts only if its position is the one that belongs there, before and after.
Nothing in them is trusted to be a length.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import NamedTuple

from gdbcuda.calls.references import CLOCK, CONFINED, NO_RING, OVERWRITTEN
from gdbcuda.data_classes import dataclass, field
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.files import places
from gdbcuda.memory import Memory
from gdbcuda.rings.ring_layout import (
    FLOATS,
    FRONT,
    MOST_FUNCTIONS,
    MOST_RECORDS,
    MOST_RINGS,
    NO_TICKS,
    RECORD,
    RING,
    RING_HEADER,
    STACK_WORDS,
    STATE,
    VERSION,
    WORD,
)
from gdbcuda.rings.ring_words import PIECE, Words, joined, more_words, place_of, spans

FRONT_SIZE = FRONT["SIZE"] * WORD
HEAD = struct.Struct(f"<{RING['SIZE']}Q")
NO_STACK, NO_FLOATS = (0,) * STACK_WORDS, (0,) * FLOATS


def another_version() -> UserError:
    """As in a clone that was pulled and not built."""
    shim = places.clone_or_cache() / "shim"
    return UserError(f"the recorder in the process is of another version of gdbcuda; for the next run, make -C {shim}")


class Record(NamedTuple):
    """One call. ``position`` is its number in the thread, from 1; ``words`` are the argument registers and what is on
    the stack behind the return address, ``floats`` the low halves of the first vector registers. ``left``: the tick of
    the return, None where there was none yet. ``outs``, ``ins``: what was behind pointers; `pointees` reads it.
    ``callers``: return addresses, that of the caller's caller first.
    """

    position: int
    function: int
    entered: int
    back: int
    top: int
    words: Words
    floats: Words
    left: int | None = None
    result: int = 0
    outs: Words = ()
    ins: Words = ()
    callers: Words = ()


@dataclass
class Ring:
    """What has been read of a thread. ``clock``: ticks and nanoseconds, twice; ``waiting``: positions of calls that had
    not returned; ``lost``: records that were overwritten before they were read; ``gaps``: the positions behind those
    that are missing, in order; ``records``: how many there is room for, 0 where nobody knows; ``own``: return addresses
    in the recorder."""

    address: int
    lwp: int = 0
    pid: int = 0
    clock: Words = (0, 0, 0, 0)
    next: int = 1
    lost: int = 0
    waiting: set[int] = field(default_factory=set)
    unwritten: set[int] = field(default_factory=set)
    gaps: list[int] = field(default_factory=list)
    records: int = 0
    own: set[int] = field(default_factory=set)

    def has_gap_between(self, earlier: int, later: int) -> bool:
        at = bisect_right(self.gaps, earlier)
        return at < len(self.gaps) and self.gaps[at] <= later

    def was_overwritten(self, position: int, later: int) -> bool:
        """Before the record ``later`` began."""
        return bool(self.records) and later > position + self.records


class RingReader:
    """``state``: the address of the recorder's state, as `ring_layout.STATE` says it is. ``missed``: calls that found
    no ring; ``confined``: whether the program has confined itself, and how."""

    def __init__(self, memory: Memory, state: int) -> None:
        self.memory, self.state = memory, state
        self.rings: dict[int, Ring] = {}
        self.missed = self.missed_before = self.confined = self.so_far = 0
        self.is_cut = False  # the last look has left rings

    def words(self, address: int, count: int) -> Words:
        return struct.unpack(f"<{count}Q", self.memory.read(address, count * WORD))

    def read(self, is_enough: Callable[[], bool] = lambda: False) -> list[tuple[Ring, list[Record]]]:
        """Of each ring what is new, and again each call that had not returned; `UserError` for another layout. Rings
        that are left once it ``is_enough`` are read the next time, as far as they are still there."""
        state = self.words(self.state, STATE["SIZE"])
        if state[STATE["VERSION"]] != VERSION:
            raise another_version()
        self.missed, self.confined = state[STATE["MISSED"]] - self.missed_before, state[STATE["CONFINED"]]
        count = min(state[STATE["COUNT"]], MOST_RINGS)
        found = []
        for address in filter(None, state[STATE["RINGS"] : STATE["RINGS"] + count]):
            self.is_cut = is_enough()
            if self.is_cut:
                break
            ring = self.rings.setdefault(address, Ring(address))
            found.append((ring, self.read_ring(ring)))
            self.so_far += len(found[-1][1])
        return found

    def skip(self) -> None:
        """Nothing of what is there now is told."""
        for found, _ in self.read():
            found.waiting.clear()
            found.lost = 0
        self.missed_before, self.missed = self.missed_before + self.missed, 0

    def lost(self) -> dict[str, int]:
        """How many calls nobody will read, by reason, as far as the last look tells."""
        why = CLOCK if self.confined == NO_TICKS else CONFINED if self.confined else NO_RING
        found = {OVERWRITTEN: sum(one.lost for one in self.rings.values()), why: self.missed}
        return {why: calls for why, calls in found.items() if calls}

    def read_ring(self, ring: Ring) -> list[Record]:
        head = self.words(ring.address, RING["SIZE"])
        records, begun = head[RING["RECORDS"]], head[RING["HEAD"]]
        if not 0 < records <= MOST_RECORDS or records & records - 1 or begun + 1 < ring.next:
            return []
        ring.lwp, ring.pid = head[RING["LWP"]], head[RING["PID"]]
        ring.clock = head[RING["FIRST_TICKS"] : RING["LATER_NS"] + 1]
        new = [*sorted(ring.unwritten), *range(max(ring.next, begun - records + 1), begun + 1)]
        again = sorted(one for one in ring.waiting if one > begun - records)
        found = dict(self.records(ring, sorted([*again, *new]), records))
        oldest = self.words(ring.address, RING["SIZE"])[RING["HEAD"]] - records + 1
        sound = [one for position, one in found.items() if one is not None and position >= oldest]
        told = {one.position for one in sound}
        expected = len(ring.unwritten) + begun + 1 - ring.next
        oldest = max(oldest, head[RING["BEFORE"]] + 1)  # of a thread that has ended: it is in its file, if anywhere
        ring.unwritten = {position for position, one in found.items() if one is None and position >= oldest}
        ring.lost += expected - len(told.difference(again)) - len(ring.unwritten)
        there = sorted(one for one in ring.unwritten | told if one >= ring.next)
        ring.gaps += behind_gaps(there, ring.next - 1)
        ring.records = records
        ring.waiting = {one.position for one in sound if one.left is None}
        ring.next = begun + 1
        return sound

    def records(self, ring: Ring, positions: list[int], records: int) -> Iterable[tuple[int, Record | None]]:
        """Of these positions, as far as they are there; None for one that is about to be written."""
        at = ring.address + RING_HEADER * WORD
        fronts = self.fronts(at, positions, records)
        mores = self.mores(at + records * FRONT_SIZE, {front[RECORD["FUNCTION"]] for front in fronts.values()}, records)
        for position, front in fronts.items():
            there = joined(front, mores.get(front[RECORD["FUNCTION"]], ()))
            one = record(*there) if there is not None and front[RECORD["POSITION"]] == position else None
            if one is not None or front[RECORD["POSITION"]] in (0, position - records):
                yield position, one

    def fronts(self, address: int, positions: list[int], records: int) -> dict[int, Words]:
        """Of each position, as far as they can be read."""
        found: dict[int, Words] = {}
        for start, count in runs(positions, records):
            raw = self.there(address + (start - 1) % records * FRONT_SIZE, count * FRONT_SIZE)
            found.update(enumerate(struct.iter_unpack(f"<{FRONT['SIZE']}Q", raw), start))
        return found

    def mores(self, address: int, functions: Iterable[int], records: int) -> dict[int, Words]:
        """What there is beside the fronts that have these FUNCTIONs, as far as it can be read."""
        found: dict[int, Words] = {}
        for start, end, them in spans(functions, records):
            raw = self.there(address + start * WORD, (end - start) * WORD)
            if raw:
                found.update((one, more_words(raw, (place_of(one) - start) * WORD, one)) for one in them)
        return found

    def there(self, address: int, size: int) -> bytes:
        try:
            return self.memory.read(address, size)
        except Unreadable:
            return b""


def behind_gaps(positions: list[int], before: int) -> list[int]:
    """Those in front of which one is missing; ``before`` was the last one known."""
    return [one for one, last in zip(positions, [before, *positions]) if one > last + 1]


def runs(positions: list[int], records: int) -> Iterable[tuple[int, int]]:
    """(first, how many) of positions that follow each other in the ring, none longer than a piece."""
    start = count = 0
    for one in positions:
        if count and one == start + count and (one - 1) % records and count < PIECE:
            count += 1
            continue
        if count:
            yield start, count
        start, count = one, 1
    if count:
        yield start, count


def record(words: Words, sizes: tuple[int, ...]) -> Record | None:
    """Of a record that has only so many words of each part; None where it is none."""
    position, number = words[0], words[RECORD["FUNCTION"]]
    if not position or number >= MOST_FUNCTIONS:
        return None
    stack, floats, outs, ins, count = sizes
    at = RECORD["STACK"] + stack
    behind = at + floats + outs
    is_over = words[RECORD["DONE"]] == position
    return Record(
        position, number, words[RECORD["ENTERED"]], words[RECORD["BACK"]], words[RECORD["TOP"]],
        words[RECORD["REGISTERS"] : at] + NO_STACK[stack:], words[at : at + floats] + NO_FLOATS[floats:],
        words[RECORD["LEFT"]] if is_over else None, words[RECORD["RESULT"]] if is_over else 0,
        words[at + floats : behind] if is_over else (), words[behind : behind + ins],
        callers(words[behind + ins :]) if count else (),
    )  # fmt: skip


def callers(words: Words) -> Words:
    return words[: words.index(0)] if 0 in words else words


def pointees(words: Words, sizes: Iterable[int]) -> tuple[bytes | None, ...]:
    """Each of the sizes that the recorder was told, a text as far as it is there; None where nothing could be read, and
    no bytes where the recorder did not look."""
    found: list[bytes | None] = []
    at = 0
    for size in sizes:
        count = -(-size // WORD)
        if at + 1 + count > len(words):
            break
        raw = b"".join(word.to_bytes(WORD, "little") for word in words[at + 1 : at + 1 + count])
        found.append(raw[: words[at]] if words[at] <= size else None)
        at += 1 + count
    return tuple(found)
