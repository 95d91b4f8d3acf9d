"""What the recorder ``--fast`` has in one process: the functions whose entries jump to it, and what its rings said.

(`entry_patches`, `function_slots`; `rings.ring`.)
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence

import gdb

from gdbcuda.calls.missing import BEFORE, UNREAD, MissingCalls
from gdbcuda.calls.record import Call
from gdbcuda.data_classes import dataclass, field, replace
from gdbcuda.linkage import Linkage
from gdbcuda.live import process
from gdbcuda.live.frames import code_places, condition_words
from gdbcuda.live.guard.watch import Watch
from gdbcuda.live.host import console
from gdbcuda.live.layers import table_version
from gdbcuda.live.patching import agent, own_instructions
from gdbcuda.live.patching.trampoline_space import RecordedEntry
from gdbcuda.live.placing import link, unloading
from gdbcuda.live.recording.base import planting
from gdbcuda.live.recording.base.footprint import RecordWish
from gdbcuda.live.recording.base.planting import PlantingSpot
from gdbcuda.live.recording.entries import entry_plans, function_slots, onward_code, recorded_guards
from gdbcuda.live.recording.entries.entry_patch import EntryPatch
from gdbcuda.live.recording.entries.onward_code import Onward, PlannedEntry
from gdbcuda.live.recording.in_process.thread_numbers import ThreadNumbers
from gdbcuda.live.recording.in_process.told_python import ToldPython
from gdbcuda.machine.detour import NoDetour
from gdbcuda.machine.trampoline import Trampoline
from gdbcuda.rings import ring_calls, ring_layout
from gdbcuda.rings.ring import Record, Ring, RingReader
from gdbcuda.rings.ring_calls import ThreadCalls
from gdbcuda.rings.ring_functions import RecordedFunction

FIRST_OF_REAL_TIME = 32  # (asm/signal.h: SIGRTMIN)


@dataclass
class RingProcess:
    """``known``: by slot; ``spots`` and ``patches``: of recorded functions, by address; ``left_alone``: the others, and
    why; ``unloaded``: of functions that have gone with their object, by file and symbol, the one or the other;
    ``missing``: what is known of them also when they have come again; ``fresh``: in objects that have just been loaded;
    ``calls``: by ring; ``read``: what is not decoded yet; ``watches``: on calls that matter; ``far``: too far for a
    jump; ``looked_at``: calls past libc that are watched; ``careful``: why it makes no system call, where none was
    seen; ``python_for``: functions whose calls get their lines of Python, as ``pythons`` knows them; ``has_run``: since
    its rings were read; ``looked_on``: as told."""

    number: int = field(default_factory=lambda: int(gdb.selected_inferior().num))
    known: dict[int, RecordedFunction] = field(default_factory=dict)
    spots: dict[int, PlantingSpot] = field(default_factory=dict)
    patches: dict[int, EntryPatch] = field(default_factory=dict)
    left_alone: dict[int, tuple[PlantingSpot, str]] = field(default_factory=dict)
    unloaded: dict[tuple[str, str], EntryPatch | str] = field(default_factory=dict)
    missing: MissingCalls = field(default_factory=MissingCalls)
    fresh: list[EntryPatch] = field(default_factory=list)
    reader: RingReader | None = None
    threads: ThreadNumbers = field(default_factory=ThreadNumbers)
    calls: dict[int, ThreadCalls] = field(default_factory=dict)
    read: list[tuple[Ring, list[Record]]] = field(default_factory=list)
    watches: list[Watch] | None = None
    far: list[PlannedEntry] = field(default_factory=list)
    looked_at: set[int] = field(default_factory=set)
    careful: str = ""
    python_for: frozenset[str] = frozenset()
    pythons: ToldPython = field(default_factory=ToldPython)
    pid: int = 0
    has_run: bool = False
    looked_on: int = -1

    def begin(self) -> bool:
        """False while the process has not loaded our library. What others have recorded is not told."""
        symbol = agent.symbol(ring_layout.STATE_SYMBOL)
        if symbol is None:
            return False
        reader = RingReader(process.InferiorMemory(), symbol.address)
        reader.skip()  # of another version nothing is known: then nothing is planted
        self.reader, self.pid = reader, int(gdb.selected_inferior().pid)
        return True

    def plan(self, linkage: Linkage, wish: RecordWish) -> None:
        """The entries of an object's functions that are to be recorded, and why others are left alone."""
        spots = [spot for spot in planting.spots(linkage, wish.functions, wish.places)
                 if spot.address not in self.patches]  # fmt: skip
        if not spots:
            return  # as of nearly all that a program loads
        if self.reader is not None:
            function_slots.heed_earlier(self.reader)
        entries = []
        for spot in spots:
            self.unloaded.pop((spot.file, spot.symbol), None)
        for spot, found in entry_plans.plans(linkage, spots):
            try:
                tests = recorded_guards.tests(wish.condition, spot)
                entries.append(function_slots.planned(spot, entry_plans.require(found), tests))
            except NoDetour as reason:
                self.left_alone[spot.address] = spot, str(reason)
        with link.as_it_is():
            self.add(entries)

    def inherit(self, parent: RingProcess, child: gdb.Inferior) -> None:
        """As a child that is forked: its memory is a copy, in which the rings are empty."""
        if parent.reader is not None:
            self.reader = RingReader(parent.reader.memory, parent.reader.state)
            self.reader.missed_before = parent.reader.missed_before + parent.reader.missed
        self.number, self.pid = int(child.num), int(child.pid)
        self.known, self.spots = dict(parent.known), dict(parent.spots)
        self.patches = {at: replace(one) for at, one in parent.patches.items()}
        written = [one for one in self.patches.values() if one.is_written]
        process.PATCHED.of(child).update({one.address: one.own for one in written})
        own_instructions.inherit(child, {one.address: (one.jump, one.own) for one in written})

    def confine(self, how: int = 1) -> None:
        """The recorder makes no system call from now on, or records nothing."""
        memory = process.writable_memory()
        if self.reader is not None and memory is not None:
            at = self.reader.state + ring_layout.STATE["CONFINED"] * ring_layout.WORD
            memory.write(at, max(memory.read(at, 1), bytes([how])))

    def switch_watches(self, on: bool) -> None:
        """Nobody takes them out of a child that has come to share the memory: it would end at the first."""
        for one in self.watches or ():
            one.switch(on)

    def add(self, entries: Sequence[PlannedEntry]) -> None:
        found = function_slots.place(entries)
        function_slots.tell_count()
        told: dict[int, bytes] = {}
        for entry, made in zip(entries, found):
            if isinstance(made, Onward):
                spot, number = entry.spot, function_slots.number_of(entry.spot)
                told[number] = self.described(number, spot, made.code.onward, spot.address)
                self.add_one(entry, made)
                continue
            self.left_alone[entry.spot.address] = entry.spot, made
            if made == onward_code.TOO_FAR:
                self.far.append(entry)
        function_slots.tell(told)

    def add_one(self, entry: PlannedEntry, made: Onward) -> None:
        spot = entry.spot
        self.spots[spot.address] = spot
        self.left_alone.pop(spot.address, None)
        patch = EntryPatch(spot.address, entry.detour.original, entry.detour.jump_to(made.target))
        self.patches[spot.address] = patch
        self.fresh.append(patch)

    def leave(self, entry: int) -> None:
        """To somebody else's jump. That is said of the first."""
        if entry not in self.patches or self.patches[entry].is_written:
            return
        if not any(one.was_left for one in self.patches.values()):
            what = "its entry is overwritten by a hook library; what comes in behind is in a log without --fast"
            console.write(f"cuda-log: {self.spots[entry].symbol}: {what}\n")
        self.patches[entry].leave()

    def described(self, number: int, spot: PlantingSpot, original: int, address: int = 0) -> bytes:
        """What the process has to know of a slot that stands for it."""
        function = table_version.function(spot.symbol)
        assert function is not None, "only functions of a table are recorded"
        self.known[number] = RecordedFunction(function, spot.layer, os.path.basename(spot.file))
        return function_slots.described(self.known[number], original, address, spot.symbol in self.python_for)

    def beside_guard(self, function: int) -> RecordedEntry | None:
        """Its calls go through a guard's trampoline, which sends them here; None where they are not recorded."""
        spot = self.spots.get(function)
        if spot is None:
            return None
        passing, matching = function_slots.number_of(spot, "passing"), function_slots.number_of(spot, "matching")

        def tell(made: Trampoline) -> None:
            function_slots.tell({passing: self.described(passing, spot, made.onward),
                        matching: self.described(matching, spot, made.matching)})  # fmt: skip

        places = function_slots.address_of(passing), function_slots.address_of(matching)
        return RecordedEntry(places, tell, self.patches[function].enter)

    def has_lost_objects(self) -> bool:
        """Jumps are no breakpoints, by which `placing.unloading` would have told."""
        places = list(self.spots)
        if not unloading.have_been_twins():  # an object goes as a whole
            places = list({spot.file: at for at, spot in self.spots.items()}.values())
        return len(unloading.still_there({at: at for at in places})) < len(places)

    def forget_unloaded(self) -> None:
        known = {*self.patches, *self.left_alone, *self.looked_at}
        gone = {at for at in known if not gdb.solib_name(at) and not process.in_program(at)}
        for address in gone:
            self.looked_at.discard(address)
            spot, left = self.left_alone.pop(address, (self.spots.pop(address, None), self.patches.get(address)))
            if self.patches.pop(address, None) is not None:
                process.PATCHED().pop(address)
            if spot is not None and left is not None:
                self.unloaded[spot.file, spot.symbol] = left
                self.missing.note(spot.symbol, [BEFORE] if isinstance(left, str) else left.missing())
        self.far = [one for one in self.far if one.spot.address not in gone]
        function_slots.forget(gone)

    def not_recorded(self) -> Iterator[tuple[str, str]]:
        """Names of functions, and why; also of those that are not loaded now."""
        for spot, why in self.left_alone.values():
            yield spot.symbol, why
        for (_, symbol), left in self.unloaded.items():
            if isinstance(left, str):
                yield symbol, left

    def wanted(self) -> int:
        """How many functions were to be recorded."""
        return len(self.spots.keys() & self.patches.keys()) + len(self.left_alone) + len(self.unloaded)

    def found_missing(self, is_over: bool = False) -> MissingCalls:
        """``is_over``: the process has ended."""
        found = MissingCalls()
        found.update(self.missing)
        for address, patch in self.patches.items():
            if address in self.spots:
                found.note(self.spots[address].symbol, patch.missing())
        for name, _ in self.not_recorded() if is_over else ():
            found.note(name, [BEFORE])
        if is_over and self.has_run:
            found.note(f"process {self.pid}", [UNREAD])
        return found

    def decode(self, number: int, epoch: float, is_wanted: Callable[[Call], bool]) -> tuple[list[Call], list[Call]]:
        """The calls that have begun and those that have ended, by what was read; ``number`` is the first one's."""
        table, begun, logs = table_version.table(), [], list[ThreadCalls]()
        for one, records in self.read:
            logs.append(self.calls.setdefault(one.address, ThreadCalls(one, epoch)))
            named = self.threads.told(one, logs[-1].add(records, self.known, table))
            begun += [pair for pair in named if is_wanted(pair[0])]
        self.read.clear()
        calls = ring_calls.numbered(begun, number)
        for call in calls:
            call.inferior = self.number
        ended = [call for log in logs for call in log.ended if call.number >= 0]
        for log in logs:
            log.ended.clear()
        return calls, ended

    def is_from(self, callers: Sequence[str], call: Call) -> bool:
        """(A call has the word for its stack of Python until that is named.)"""
        if not callers or self.pythons.is_from(call.python, callers):
            return True
        return any(condition_words.is_from(code_places.caller(call.caller), word) for word in callers)

    def is_gone_unseen(self, stopped_by: str) -> bool:
        """The process has ended, and its rings were not read before. At the stop by the signal that then ended it they
        were."""
        ended_by = gdb.convenience_variable("_exitsignal") if self.has_run and stopped_by else None
        if ended_by is not None and name_of(int(ended_by)) == stopped_by:
            self.has_run = False
        return self.has_run

    def lost(self) -> dict[str, int]:
        return self.reader.lost() if self.reader is not None else {}


def name_of(number: int) -> str:
    """gdb's. It numbers those for real time, most of which have no name in Python."""
    return {one.value: one.name for one in signal.Signals if one < FIRST_OF_REAL_TIME}.get(number, f"SIG{number}")
