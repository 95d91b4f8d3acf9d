"""Code of recorded functions that are too far from libgdbcuda.so for a jump, in pages near them.

Libraries of several gigabytes lie between the two in a process of PyTorch. While the loader has a thread at its
breakpoint of ours, that thread is sent through libgdbcuda.so, which maps the pages, and comes back: no function of the
program is called. (shim/recorder/map.c; mmap(2), MAP_FIXED_NOREPLACE; proc(5): /proc/PID/maps.)
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
from gdbcuda.live.patching import agent, detours, trampoline_space
from gdbcuda.live.placing import loader_watch
from gdbcuda.live.recording.in_process import slots
from gdbcuda.live.recording.in_process.onward_code import Onward, PlannedEntry
from gdbcuda.live.recording.in_process.ring_process import RingProcess
from gdbcuda.machine import entry_detour
from gdbcuda.machine.detour import NoDetour
from gdbcuda.machine.free_ranges import aligned
from gdbcuda.memory import PAGE
from gdbcuda.rings import ring_layout

LARGEST = 96  # bytes that one function takes, its tests aside
MAPPED = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) .*?(\S*)$", re.MULTILINE)
GROWING = ("[heap]", "[stack]")
NOP = b"\x90"
FAILED = (1 << 64) - 4095
Pages = tuple[int, int]
WATCHES: PerInferior[list[Watch]] = PerInferior(list)


def send_for(state: RingProcess, written: Callable[[], None]) -> None:
    """In the ``stop`` of a breakpoint on the loader: the thread comes back to it."""
    groups = [one for one in grouped(state.far) if hint(one)][: ring_layout.MOST_MAPS]
    go, request = agent.symbol(ring_layout.GO_MAP_SYMBOL), agent.symbol(ring_layout.MAP_SYMBOL)
    if not groups or go is None or request is None:
        return
    wanted = [word for one in groups for word in (hint(one), size_of(one))]
    pc = process.register("pc")
    is_nop = process.InferiorMemory().read(pc, 1) == NOP  # as a probe is: it has been executed
    words = (pc + is_nop, len(groups), *wanted)
    if not WATCHES():
        WATCHES().append(Watch(slots.require(ring_layout.MAPPED_SYMBOL), lambda: None))
    WATCHES()[0].look = lambda: arrived(state, groups, written)
    with suppress(NoDetour, gdb.error):
        detours.write(request.address, struct.pack(f"<{len(words)}Q", *words))
        gdb.parse_and_eval(f"$pc = {go.address:#x}")
        if not is_nop:
            loader_watch.come_again()
        state.far.clear()


def grouped(entries: Iterable[PlannedEntry]) -> list[list[PlannedEntry]]:
    """By the object that they are in."""
    found: dict[str, list[PlannedEntry]] = {}
    for one in entries:
        found.setdefault(one.spot.file, []).append(one)
    return list(found.values())


def size_of(entries: Sequence[PlannedEntry]) -> int:
    return -(-(aligned(8) + LARGEST * len(entries)) // PAGE) * PAGE


def hint(entries: Sequence[PlannedEntry]) -> int:
    """The nearest free place; 0 where there is none within reach."""
    try:
        with open(f"/proc/{gdb.selected_inferior().pid}/maps", encoding="utf-8", errors="replace") as file:
            mapped = [(int(start, 16), int(end, 16), name) for start, end, name in MAPPED.findall(file.read())]
    except OSError:
        return 0
    size, near = size_of(entries), entries[0].spot.address
    found = [after[0] - size for before, after in zip(mapped, mapped[1:])
             if after[0] - before[1] >= size + 2 * PAGE and before[2] not in GROWING and after[2] not in GROWING]
    reach = trampoline_space.NEAR - size - max(abs(one.spot.address - near) for one in entries)
    best = min(found, key=lambda at: abs(at - near), default=0)
    return best if abs(best - near) < reach else 0


def arrived(state: RingProcess, groups: Sequence[Sequence[PlannedEntry]], written: Callable[[], None]) -> None:
    """The thread has mapped them. What cannot be written stays as it is."""
    base = slots.require(ring_layout.MAP_SYMBOL) + ring_layout.MAP["WANTED"] * ring_layout.WORD
    memory = process.raw_memory()
    for number, entries in enumerate(groups):
        with suppress(Unreadable, NoDetour):
            start = struct.unpack("<Q", process.InferiorMemory().read(base + 16 * number, 8))[0]
            near = all(abs(start - one.spot.address) < trampoline_space.NEAR for one in entries)
            if start < FAILED and near and memory is not None:
                place(state, entries, start, memory)
    written()


def place(state: RingProcess, entries: Sequence[PlannedEntry], start: int, memory: process.RawMemory) -> None:
    at = aligned(start + ring_layout.WORD)
    code = bytearray(struct.pack("<Q", what_slots_jump_to()))
    for one in entries:
        slot = entry_detour.FarSlot(slots.number_of(one.spot), start)
        made = entry_detour.onward(one.detour, one.tests, slot, at)
        if at + len(made.raw) > start + size_of(entries):
            break
        code += bytes(at - start - len(code)) + made.raw
        at = aligned(at + len(made.raw))
        state.add_one(one, Onward(made.address if one.tests else made.hit, made, []))
    memory.write(start, bytes(code))


def what_slots_jump_to() -> int:
    """The first one is pushq $0; jmp there. (shim/recorder/through.S)"""
    at = slots.require(ring_layout.SLOTS_SYMBOL) + 5
    raw = process.InferiorMemory().read(at, 5)
    return at + 5 + int(struct.unpack("<i", raw[1:])[0])
