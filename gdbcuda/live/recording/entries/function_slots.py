"""Which slot of libgdbcuda.so stands for which function of a process, as long as that lives.

A thread may be in a call that an earlier recorder has seen begin, and the rings have its records: a slot never stands
for another function, and a function that is recorded again has the same one. So has one whose library is loaded again:
programs do that thousands of times. (`rings.ring_layout`.)
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence, Set

from gdbcuda.data_classes import dataclass, field
from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.patching import agent, detours, nearby_space
from gdbcuda.live.recording.base.planting import PlantingSpot
from gdbcuda.live.recording.entries import far_code, onward_code
from gdbcuda.live.recording.entries.onward_code import Onward, PlannedEntry
from gdbcuda.machine import entry_detour
from gdbcuda.machine.detour import Detour, NoDetour
from gdbcuda.machine.entry_detour import FarSlot
from gdbcuda.machine.trampoline import Test
from gdbcuda.rings import ring_layout
from gdbcuda.rings.ring import RingReader
from gdbcuda.rings.ring_functions import RecordedFunction

FULL = f"the recorder has room for {ring_layout.MOST_FUNCTIONS} functions"


Which = tuple[str, str, str]


@dataclass
class Slots:
    """``numbers``: by address, and by file, symbol and what calls a guard sends there; ``gone``: the same of functions
    whose object is not there; ``onward``: by address, the code of functions without tests; ``count``: of slots that
    have ever stood for one; ``earlier``: those that another gdb has used."""

    numbers: dict[tuple[int, Which], int] = field(default_factory=dict)
    gone: dict[Which, list[int]] = field(default_factory=dict)
    onward: dict[int, tuple[Detour, Onward]] = field(default_factory=dict)
    count: int = 0
    earlier: dict[int, tuple[int, int]] = field(default_factory=dict)


SLOTS: PerInferior[Slots] = PerInferior(Slots)


def number_of(spot: PlantingSpot, which: str = "") -> int:
    """Of the function's slot; `NoDetour` where there is none left."""
    found, what = SLOTS(), (spot.file, spot.symbol, which)
    key = spot.address, what
    if key not in found.numbers and spot.address in found.earlier and not which:
        found.numbers[key] = found.earlier[spot.address][0]
    elif key not in found.numbers and found.gone.get(what):
        found.numbers[key] = found.gone[what].pop()
    elif key not in found.numbers:
        if found.count >= ring_layout.MOST_FUNCTIONS:
            raise NoDetour(FULL)
        found.numbers[key] = found.count
        found.count += 1
    return found.numbers[key]


def heed_earlier(reader: RingReader) -> None:
    """What another gdb has left in this process stays: threads may be in it. Its slots stand for the same functions."""
    found, place, area = SLOTS(), agent.symbol(ring_layout.TRACE_SYMBOL), agent.area()
    if place is None or area is None or found.count:
        return
    count = reader.words(place.address + ring_layout.TRACE["SLOTS"] * ring_layout.WORD, 1)[0]
    found.count = min(count, ring_layout.MOST_FUNCTIONS)
    if not found.count:
        return
    found.earlier = earlier(reader, found.count)
    taken = nearby_space.OUR_MEMORY().taken
    if area.address not in taken:
        used = reader.memory.read(area.address, area.size).rstrip(b"\0")
        taken[area.address] = min(len(used) + ring_layout.WORD, area.size)


def earlier(reader: RingReader, count: int) -> dict[int, tuple[int, int]]:
    """By address of the function: the number of its slot, and the code that it goes on with."""
    size = ring_layout.FUNCTION["SIZE"]
    words = reader.words(require(ring_layout.FUNCTIONS_SYMBOL), count * size)
    rows = (words[at : at + size] for at in range(0, len(words), size))
    return {row[ring_layout.FUNCTION["ADDRESS"]]: (number, row[ring_layout.FUNCTION["ORIGINAL"]])
            for number, row in enumerate(rows) if row[ring_layout.FUNCTION["ADDRESS"]]}  # fmt: skip


def there_already(one: PlannedEntry) -> Onward | None:
    """What an earlier gdb has written for it, if that is what we would write."""
    number, onward = SLOTS().earlier.get(one.spot.address, (-1, 0))
    if number != number_of(one.spot):
        return None
    pages = far_code.pages_at(onward)
    slot = one.slot if pages is None else FarSlot(one.slot)
    trial = entry_detour.onward(one.detour, one.tests, slot, onward)
    code = entry_detour.onward(one.detour, one.tests, slot, 2 * onward - trial.onward)
    try:
        is_same = process.InferiorMemory().read(code.address, len(code.raw)) == code.raw
    except Unreadable:
        return None
    target = code.address if one.tests else one.slot if pages is None else code.hit
    return Onward(target, code, []) if is_same else None


def planned(spot: PlantingSpot, found: Detour, tests: Sequence[Test]) -> PlannedEntry:
    return PlannedEntry(spot, found, address_of(number_of(spot)), tests)


def address_of(number: int) -> int:
    return require(ring_layout.SLOTS_SYMBOL) + number * ring_layout.SLOT_SIZE


def place(entries: Sequence[PlannedEntry]) -> list[Onward | str]:
    """The code that each goes on with, or why it has none."""
    known = SLOTS().onward
    old = [known[one.spot.address] if one.spot.address in known and not one.tests else None for one in entries]
    reused = [pair[1] if pair and pair[0] == one.detour else there_already(one) for one, pair in zip(entries, old)]
    new = iter(onward_code.place([one for one, there in zip(entries, reused) if there is None]))
    made = [next(new) if there is None else there for there in reused]
    far = [index for index, code in enumerate(made) if code == onward_code.TOO_FAR]
    for index, code in zip(far, far_code.place([entries[at] for at in far])):
        made[index] = code
    for one, code in zip(entries, made):
        if isinstance(code, Onward) and not one.tests:
            known[one.spot.address] = one.detour, code
    return made


def tell(told: Mapping[int, bytes]) -> None:
    """The process learns what slots stand for, and what to call in their place: by their numbers `described`. New ones
    follow each other, and are written at once."""
    start, run = 0, b""
    for number, words in sorted(told.items()):
        if run and number != start + len(run) // len(words):
            write_functions(start, run)
            run = b""
        start, run = (start, run + words) if run else (number, words)
    write_functions(start, run)


def write_functions(number: int, words: bytes) -> None:
    if words:
        at = number * ring_layout.FUNCTION["SIZE"] * ring_layout.WORD
        detours.write(require(ring_layout.FUNCTIONS_SYMBOL) + at, words, prove=False)


def described(known: RecordedFunction, original: int, address: int = 0, has_python: bool = False) -> bytes:
    found = known.words(original, address)
    found[ring_layout.FUNCTION["PYTHON"]] = int(has_python)
    return struct.pack(f"<{ring_layout.FUNCTION['SIZE']}Q", *found)


def tell_count() -> None:
    """Another gdb may ask the process for it. (`heed_earlier`.)"""
    at = require(ring_layout.TRACE_SYMBOL) + ring_layout.TRACE["SLOTS"] * ring_layout.WORD
    detours.write(at, SLOTS().count.to_bytes(ring_layout.WORD, "little"), prove=False)


def require(name: str) -> int:
    found = agent.symbol(name)
    if found is None:
        raise NoDetour("libgdbcuda.so is another one than ours")
    return found.address


def forget(addresses: Set[int]) -> None:
    """What was there has gone with its object; another function there gets another slot. The code that they went on
    with stays: the same function may come to the same place again."""
    found = SLOTS()
    for address in addresses:
        found.earlier.pop(address, None)
    for address, what in [key for key in found.numbers if key[0] in addresses]:
        found.gone.setdefault(what, []).append(found.numbers.pop((address, what)))
