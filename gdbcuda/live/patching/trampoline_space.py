"""Places for trampolines: what of the process's memory is ours, and gets its own bytes back.

They live in our own library, where that is preloaded and near (`agent`); else in the zero bytes between the end of an
executable segment and the end of its page, so that no code of the program runs to make room; where those are used up,
in pages that the program is made to map (`mapping`), if gdb may call a function in it then. No other object that can be
unloaded takes them away. Nor does the function's own where one has a breakpoint: gdb does not see that those bytes are
gone with the object, and would write there.
(ELF gABI, "Program Loading"; gdb's solib.c: solib_contains_address_p.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Callable

import gdb

from gdbcuda.data_classes import dataclass
from gdbcuda.errors import Unreadable
from gdbcuda.files import places
from gdbcuda.live import process
from gdbcuda.live.patching import agent, detours, mapped_pages
from gdbcuda.live.patching.nearby_space import NEAR, OUR_MEMORY, Leftover, unused, zeros_near
from gdbcuda.live.threads import positions, raw_stacks
from gdbcuda.machine import call_through, trampoline
from gdbcuda.machine.detour import Detour, NoDetour
from gdbcuda.machine.free_ranges import aligned
from gdbcuda.machine.unexecuted import Island
from gdbcuda.machine.x86.x86_write import jump

_calling_allowed: list[bool] = []


class NoTrampolineSpace(NoDetour):
    """For this trampoline; a smaller one might fit."""


class NoLibrarySpace(NoDetour):
    def __init__(self) -> None:
        super().__init__(f"{places.AGENT} has no room for more")


@dataclass(frozen=True)
class RecordedEntry:
    """How a guarded function's calls are recorded; ``tell`` is called when its trampoline is there, ``miss`` for a call
    that does not go by it."""

    slots: trampoline.Slots
    tell: Callable[[trampoline.Trampoline], None]
    miss: Callable[[], None]


RECORDED: list[Callable[[int], RecordedEntry | None]] = []  # the recorder at work, asked for each function


@contextmanager
def may_call() -> Iterator[None]:
    """Meanwhile gdb is in no event, and the program may be made to map pages."""
    _calling_allowed.append(True)
    try:
        yield
    finally:
        _calling_allowed.pop()


def is_calling_allowed() -> bool:
    return bool(_calling_allowed)


def place(
    found: Detour, tests: list[trampoline.Test], counter: int | None = None, has_breakpoint: bool = True,
    failing: trampoline.FailingCalls | None = None, faults: trampoline.InFront | None = None,
) -> trampoline.Trampoline:  # fmt: skip
    """Writes the trampoline where there is room within reach; the function does not use it yet. In our own library
    calls go by the recorder, where one wants them. With ``failing`` there or nowhere."""
    recorded = recorded_entry(found.function)

    def built(address: int) -> trampoline.Trampoline:
        slots = recorded.slots if recorded is not None and is_unwound(found.function) else None
        return trampoline.build(found, tests, address, counter, slots, failing, faults)

    if is_unwound(found.function) and (again := kept_as(built)) is not None:
        if recorded is not None:
            recorded.tell(again)  # its slots may have stood for the function elsewhere meanwhile
        return again
    made = in_library(found.function, failing.address if failing is not None else found.function, built)
    if made is not None and recorded is not None:
        recorded.tell(made)
    if made is None and failing is not None:
        raise NoLibrarySpace
    if made is None:
        recorded = None
        size = len(built(aligned(found.function)).raw)
        made = built(room_for(found.function, size, has_breakpoint))
    detours.write(made.address, made.raw)
    OUR_MEMORY().taken[made.address] = len(made.raw)
    return made


def kept_as(built: Callable[[int], trampoline.Trampoline]) -> trampoline.Trampoline | None:
    """One that is there already, and is the same."""
    kept = OUR_MEMORY().kept
    found = next((one for at, one in kept.items() if built(at) == one), None)
    return kept.pop(found.address) if found is not None else None


def recorded_entry(function: int) -> RecordedEntry | None:
    """Where its calls are recorded in the process."""
    return RECORDED[-1](function) if RECORDED else None


def miss(function: int) -> None:
    """A call of it executes the function's own instructions."""
    recorded = recorded_entry(function)
    if recorded is not None:
        recorded.miss()


def in_library(
    function: int, near: int, built: Callable[[int], trampoline.Trampoline]
) -> trampoline.Trampoline | None:
    """In our own library: what belongs beside it is written."""
    address = unused(len(built(aligned(near)).raw)) if is_unwound(function) else None
    if address is None:
        return None
    made = built(address)
    try:
        tables = agent.tables(address, made.raw, [address, made.onward, made.hit, made.matching])
        agent.write(tables)
    except (NoDetour, Unreadable):
        return None
    OUR_MEMORY().tables[address] = tables
    return made


def keep_in_library(found: Detour, registers: Sequence[str], stack: int) -> call_through.CallThrough:
    """What calls the function for those who wait for its result. It stays as long as the process lives."""
    size = len(call_through.build(found, registers, stack, aligned(found.function)).raw)
    address = unused(size)
    if address is None:
        raise NoLibrarySpace
    made = call_through.build(found, registers, stack, address)
    agent.write(agent.tables(address, made.raw, [address]))
    detours.write(address, made.raw)
    OUR_MEMORY().taken[address] = size
    return made


def is_unwound(function: int) -> bool:
    """Can unwinders find the caller of a thread that is in its trampoline?"""
    area = agent.area()
    return area is not None and abs(area.address - function) < NEAR


def room_for(function: int, size: int, has_breakpoint: bool) -> int:
    address = zeros_near(function, size, has_breakpoint)
    if address is None and _calling_allowed:
        try:
            start, length = mapped_pages.map_near(function, NEAR)
        except (NoDetour, gdb.error) as reason:
            raise NoTrampolineSpace(f"no unused bytes are left within 2 GB, and {reason}") from None
        OUR_MEMORY().mapped[start] = length
        address = zeros_near(function, size, has_breakpoint)
    if address is None:
        raise NoTrampolineSpace("no unused bytes are left within 2 GB; cuda-guards, typed at a stop, makes room")
    return address


def take_back(island: Island | None, made: trampoline.Trampoline) -> None:
    """Nothing leads there any more. The bytes stay until no thread is in them: see `clean`."""
    if made.is_returned_to:
        OUR_MEMORY().kept[made.address] = made
    found = leftovers(island, made)
    OUR_MEMORY().left.update({at: one for at, one in found.items() if at not in OUR_MEMORY().kept})


def leftovers(island: Island | None, made: trampoline.Trampoline) -> dict[int, Leftover]:
    found = {made.address: Leftover(made.raw, bytes(len(made.raw)), is_recorded=made.is_recorded)}
    if island is not None:
        found[island[0]] = Leftover(jump(island[0], made.address), island[1], made.address)
    return found


def clean() -> None:
    """Puts back what nothing leads to any more and no thread is in, or in the island that leads there. Only where all
    threads are stopped. Where there is something else it was in an object that is unloaded."""
    room = OUR_MEMORY()
    if not room.left:
        return
    where = [pc for found in positions.standing().values() for pc, _ in found or [positions.UNKNOWN]]
    if positions.UNKNOWN[0] in where:
        return
    stays = needed(room.left, [*where, *returning_to(room.left)])
    if any(process.in_own_code(pc) and not agent.is_inside(pc) for pc in where):  # on its way from the recorder
        stays |= {at for at, one in room.left.items() if one.is_recorded}
    for address, one in list(room.left.items()):
        if address not in stays:
            del room.left[address]
            room.taken.pop(address, None)
            process.PATCHED().pop(address)
            with suppress(NoDetour, Unreadable):
                if process.InferiorMemory().read(address, len(one.ours)) == one.ours:
                    detours.write(address, one.own)
                    agent.take_back(room.tables.pop(address, {}))


def needed(left: Mapping[int, Leftover], where: Iterable[int]) -> set[int]:
    """Those in which threads are, and those to which they will come from there."""
    places = list(where)
    found = {at for at, one in left.items() if any(at <= pc < at + len(one.own) for pc in places)}
    found |= {to for to in left if any(left[at].leads_to == to for at in found)}
    if any(left[at].is_recorded for at in found):
        found |= {at for at, one in left.items() if one.is_recorded}
    return found


def returning_to(left: Mapping[int, Leftover]) -> Iterable[int]:
    """Places in them that threads may return to."""
    wanted = {pc for at, one in left.items() if one.calls_out for pc in range(at, at + len(one.own))}
    memory = process.writable_memory()
    found = raw_stacks.look(memory, wanted) if wanted and memory is not None else None
    return wanted if found is None else found.ahead


def is_left(pc: int) -> bool:
    """Is it in a trampoline that nothing leads to any more?"""
    room = OUR_MEMORY()
    return any(at <= pc < at + room.taken.get(at, 0) for at in (*room.left, *room.kept)) or any(
        at <= pc < at + len(one.own) for at, one in room.left.items()
    )


def give_back() -> str:
    """Pages in which there is nothing of ours any more; says which stay, and why."""
    room, stays = OUR_MEMORY(), ""
    for start, size in list(room.mapped.items()):
        if any(start <= address < start + size for address in room.taken):
            stays = "a thread may return into them"
            continue
        try:
            mapped_pages.unmap(start, size)
            del room.mapped[start]
        except NoDetour as reason:
            stays = str(reason)
    kept = ", ".join(f"{size >> 10} KiB at {start:#x}" for start, size in room.mapped.items())
    return f"guards had pages mapped that stay in the process: {kept} ({stays})" if kept else ""
