"""Pages near functions that are too far from libgdbcuda.so for a jump: a thread maps them on its way.

It is one that gdb has at a breakpoint of ours, on the loader or (in a process that gdb has attached to) at the entry of
a function. It is sent through libgdbcuda.so and comes back: no function of the program is called.
(shim/recorder/map.c; mmap(2), MAP_FIXED_NOREPLACE; proc(5): /proc/PID/maps, /proc/PID/limits.)
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Callable

import gdb

from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.guard.watch import Watch
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.patching import agent, detours, nearby_space
from gdbcuda.live.placing import loader_watch
from gdbcuda.live.recording.base.planting import PlantingSpot
from gdbcuda.live.recording.entries import far_code, function_slots
from gdbcuda.live.recording.in_process.ring_process import RingProcess
from gdbcuda.machine import free_ranges
from gdbcuda.machine.detour import NoDetour
from gdbcuda.memory import PAGE
from gdbcuda.rings import ring_layout

LARGEST, LARGEST_TESTS = 96, 416  # bytes that one function takes, and what is asked before
MAPPED = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) .*?(\S*)$", re.MULTILINE)
STACK_LIMIT = re.compile(r"^Max stack size +(\d+)", re.MULTILINE)
NOP = b"\x90"
FAILED = (1 << 64) - 4095
Pages = tuple[int, int]  # where, and how many bytes
WATCHES: PerInferior[list[Watch]] = PerInferior(list)


def send_for(state: RingProcess, written: Callable[[], None]) -> None:
    """In the ``stop`` of a breakpoint on the loader: the thread comes back to it."""
    wanted = near([one.spot for one in state.far], any(one.tests for one in state.far))
    go = agent.symbol(ring_layout.GO_MAP_SYMBOL)
    if not wanted or go is None:
        return
    pc = process.register("pc")
    is_nop = process.InferiorMemory().read(pc, 1) == NOP  # as a probe is: it has been executed
    if not WATCHES():
        WATCHES().append(Watch(function_slots.require(ring_layout.MAPPED_SYMBOL), lambda: None))
    WATCHES()[0].look = lambda: arrived(state, len(wanted), written)
    with suppress(NoDetour, gdb.error):
        ask(wanted, pc + is_nop)
        process.set_register("pc", go.address)
        if not is_nop:
            loader_watch.come_again()


def ask(wanted: Sequence[Pages], back: int) -> None:
    words = (back, len(wanted), *(word for one in wanted for word in one))
    detours.write(function_slots.require(ring_layout.MAP_SYMBOL), struct.pack(f"<{len(words)}Q", *words))


def arrived(state: RingProcess, count: int, written: Callable[[], None]) -> None:
    """The thread has mapped them. What cannot be written stays as it is."""
    with suppress(Unreadable, NoDetour):
        if take(count):
            entries, state.far = state.far, []
            state.add(entries)
            state.far.clear()
    written()


def take(count: int) -> bool:
    """Those that are mapped."""
    base = function_slots.require(ring_layout.MAP_SYMBOL) + ring_layout.MAP["WANTED"] * ring_layout.WORD
    raw = process.InferiorMemory().read(base, 2 * count * ring_layout.WORD)
    found = [one for one in struct.iter_unpack("<2Q", raw) if one[0] < FAILED]
    far_code.add(found)
    return bool(found)


def missing(spots: Iterable[PlantingSpot]) -> list[PlantingSpot]:
    """Those that neither libgdbcuda.so nor pages of ours are near."""
    area = agent.area()
    far = [one for one in spots if area is None or abs(area.address - one.address) >= nearby_space.NEAR]
    return [one for one in far if not any(far_code.is_near(some, one.address) for some in far_code.PAGES())]


def near(spots: Iterable[PlantingSpot], have_tests: bool) -> list[Pages]:
    """The nearest free place for the functions of each object, where there is one within reach."""
    grouped: dict[str, list[PlantingSpot]] = {}
    for spot in spots:
        grouped.setdefault(spot.file, []).append(spot)
    found: list[Pages] = []
    room = ring_layout.MOST_MAPS - len(far_code.PAGES())
    for members in list(grouped.values())[: max(room, 0)]:
        size = -(-(ring_layout.WORD + (LARGEST + have_tests * LARGEST_TESTS) * len(members)) // PAGE) * PAGE
        at = place_for(members, size, found)
        if at is not None:
            found.append((at, size))
    return found


def place_for(spots: Sequence[PlantingSpot], size: int, taken: Sequence[Pages]) -> int | None:
    first, last = min(one.address for one in spots), max(one.address for one in spots)
    reach = nearby_space.NEAR - size - (last - first)
    mapped = [*maps(), *((at, at + length, "") for at, length in taken)]
    places = free_ranges.between(mapped, size, stack_limit())
    return next((at for at in sorted(places, key=lambda at: abs(at - first)) if abs(at - first) < reach), None)


def maps() -> list[tuple[int, int, str]]:
    return [(int(start, 16), int(end, 16), name) for start, end, name in MAPPED.findall(of_process("maps"))]


def stack_limit() -> int | None:
    """None: the stack may grow as far as it likes."""
    found = STACK_LIMIT.search(of_process("limits"))
    return int(found[1]) if found else None


def of_process(name: str) -> str:
    return process.proc_files.text(f"/proc/{gdb.selected_inferior().pid}/{name}") or ""
