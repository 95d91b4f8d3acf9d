"""The recorder ``--fast``: the process itself notes its calls, in rings that are read at the user's stops and its end.

Entries of functions jump to libgdbcuda.so, which is preloaded beside the hook library (`entry_patches`; shim/recorder).
What was read is decoded when somebody asks for it. (`calls.ring`, `calls.ring_calls`.)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import gdb

from gdbcuda.calls import record, ring_calls, ring_layout
from gdbcuda.calls.record import Call
from gdbcuda.calls.ring import Record, Ring, RingReader
from gdbcuda.calls.ring_calls import ThreadCalls
from gdbcuda.calls.ring_functions import RecordedFunction
from gdbcuda.calls.sinks import Sink
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.linkage import Linkage
from gdbcuda.live import process
from gdbcuda.live.guard import libc_calls
from gdbcuda.live.guard.watch import Watch, trash
from gdbcuda.live.guarding import filters, seccomp
from gdbcuda.live.host import inferiors
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.layers import code_places, condition_words, table_version
from gdbcuda.live.patching import agent
from gdbcuda.live.recording import entry_patches, entry_plans, planting, slots, taken_bytes
from gdbcuda.live.recording.entry_patches import EntryPatch
from gdbcuda.live.recording.footprint import RecordWish
from gdbcuda.live.recording.log_notes import NAME_KERNELS, LogNotes
from gdbcuda.live.recording.onward_code import Onward, PlannedEntry
from gdbcuda.live.recording.planting import PlantingSpot
from gdbcuda.machine import abi, trampoline
from gdbcuda.machine.detour import Detour, NoDetour
from gdbcuda.routes.answering import Answering

MOST_AT_END = 20_000  # calls that are decoded unasked, to say what was not freed
MANY = 1 << 20  # records that wait to be decoded


@dataclass
class RingProcess:
    """``known``: by slot; ``patches``: by address; ``left_alone``: functions that are not recorded, by why;
    ``threads``: gdb's numbers, by the kernel's; ``read``: what is not decoded yet."""

    number: int = field(default_factory=lambda: int(gdb.selected_inferior().num))
    known: dict[int, RecordedFunction] = field(default_factory=dict)
    patches: dict[int, EntryPatch] = field(default_factory=dict)
    left_alone: dict[int, tuple[PlantingSpot, str]] = field(default_factory=dict)
    fresh: list[EntryPatch] = field(default_factory=list)
    reader: RingReader | None = None
    threads: dict[int, int] = field(default_factory=dict)
    calls: dict[int, ThreadCalls] = field(default_factory=dict)
    read: list[tuple[Ring, list[Record]]] = field(default_factory=list)
    watches: list[Watch] | None = None  # on libc's calls that matter

    def inherited(self) -> RingProcess:
        """By a child that is forked: its memory is a copy, in which the rings are empty."""
        reader = self.reader and RingReader(self.reader.memory, self.reader.state)
        found = RingProcess(known=dict(self.known), reader=reader)
        found.patches = {at: replace(one) for at, one in self.patches.items()}
        return found


class RingRecorder(LogNotes):
    """At most one is at work, in all processes."""

    is_paused = False
    stops = 0

    def __init__(self, wish: RecordWish, found: list[Sink]) -> None:
        super().__init__(wish, found)
        self.processes: PerInferior[RingProcess] = PerInferior(RingProcess, self.end_process)
        self.lost_before = 0
        self.ended: list[RingProcess] = []  # the last one: where gdb follows a fork, the parent

    # -- places

    def plant_in(self, linkage: Linkage) -> None:
        state = self.processes()
        if state.reader is None and not self.begin(state):
            return
        known = table_version.table().functions
        spots = [spot for spot in planting.spots(linkage, self.wish.functions, self.wish.places)
                 if spot.symbol in known and spot.address not in state.patches]  # fmt: skip
        planned = []
        for spot, found in entry_plans.plans(linkage, spots):
            if isinstance(found, str):
                state.left_alone[spot.address] = spot, found
            else:
                planned.append((spot, found))
        self.patch(state, planned)

    def begin(self, state: RingProcess) -> bool:
        """False while the process has not loaded our library."""
        symbol = agent.symbol(ring_layout.STATE_SYMBOL)
        if symbol is None:
            return False
        state.reader = RingReader(process.InferiorMemory(), symbol.address)
        state.reader.skip()
        self.look_out(state)
        return True

    def look_out(self, state: RingProcess) -> None:
        """(A program that catches SIGTRAP meets no breakpoint of ours.)"""
        if seccomp.is_confined():
            self.on_confined()
        state.watches = []
        if not process.catches_sigtrap():
            state.watches += libc_calls.watches(libc_calls.LAST, self.on_last_call)
            state.watches += libc_calls.watches(seccomp.WAYS, self.on_confined)

    def on_confined(self) -> None:
        """The recorder makes no system call from now on."""
        reader, memory = self.processes().reader, process.raw_memory()
        if reader is not None and memory is not None:
            memory.write(reader.state + ring_layout.STATE["CONFINED"] * ring_layout.WORD, b"\1")

    def on_process(self, inferior: gdb.Inferior) -> None:
        """If it is a fork, it has the jumps of the process that it was forked from."""
        parents = [one for one in self.processes.all() if one.number != inferior.num] or self.ended
        if inferiors.is_forked(inferior) and parents:
            state, parent = self.processes.of(inferior), parents[-1]
            state.__dict__.update(parent.inherited().__dict__, number=inferior.num)
            process.PATCHED.of(inferior).update({at: one.own for at, one in state.patches.items() if one.is_written})

    def patch(self, state: RingProcess, found: Sequence[tuple[PlantingSpot, Detour]]) -> None:
        entries = []
        for spot, detour in found:
            try:
                entries.append(slots.planned(spot, detour, self.tests(spot)))
            except NoDetour as reason:
                state.left_alone[spot.address] = spot, str(reason)
        for entry, made in zip(entries, slots.place(entries)):
            if isinstance(made, str):
                state.left_alone[entry.spot.address] = entry.spot, made
            else:
                self.add(state, entry, made)

    def add(self, state: RingProcess, entry: PlannedEntry, made: Onward) -> None:
        spot, number = entry.spot, slots.number_of(entry.spot)
        known = RecordedFunction(table_version.table().functions[spot.symbol], spot.layer, os.path.basename(spot.file))
        slots.tell(number, known, made)
        state.known[number] = known
        patch = EntryPatch(number, spot.address, entry.detour.original, entry.detour.jump_to(made.target))
        state.patches[patch.address] = patch
        state.fresh.append(patch)

    def tests(self, spot: PlantingSpot) -> list[trampoline.Test]:
        """What the process asks of each call."""
        condition = self.wish.condition
        if condition is None:
            return []
        function = table_version.table().functions[spot.symbol]
        places = abi.locate(function, filters.MACHINE)
        return [filters.tree_term(0, condition.trees[spot.symbol], places)()]

    def plant_answer(self, answer: Answering) -> None:
        """Code of another name, in an object that has been looked at."""
        from gdbcuda.live.layers import this_snapshot

        owner = this_snapshot.objects().holder(answer.reached.address)
        if owner is not None and answer.function in self.wish.functions and not process.is_thread_running():
            self.plant_in(owner)

    def places(self) -> int:
        return sum(len(state.patches) for state in self.processes.all())

    def left_alone(self) -> list[tuple[PlantingSpot, str]]:
        return [one for state in self.processes.all() for one in state.left_alone.values()]

    def forget_unloaded(self, addresses: set[int]) -> None:
        super().forget_unloaded(addresses)
        state = self.processes()
        known = {*state.patches, *state.left_alone}
        gone = [at for at in known if not gdb.solib_name(at) and not process.in_program(at)]
        for address in gone:
            state.left_alone.pop(address, None)
            if state.patches.pop(address, None) is not None:
                process.PATCHED().pop(address, None)

    # -- the program goes on, and stops

    def on_loaded(self) -> None:
        """Behind a load: no thread is in the new object yet."""
        self.plant()
        state, memory = self.processes(), process.raw_memory()
        taken = taken_bytes.now()
        for one in state.fresh:
            if memory is not None and taken.isdisjoint(one.inside):
                one.write(memory)
        state.fresh.clear()

    def on_continue(self) -> None:
        state = self.processes()
        state.fresh.clear()
        if state.patches:
            entry_patches.write_all(state.patches.values(), taken_bytes.now())

    def on_stop(self) -> None:
        state = self.processes()
        if state.reader is not None:
            entry_patches.restore_all(state.patches.values())
            if state.watches is None and process.is_alive():
                self.look_out(state)
            self.read(state)

    def on_last_call(self) -> None:
        """The process is about to end."""
        state = self.processes()
        self.read(state)
        if sum(len(records) for _, records in state.read) <= MOST_AT_END:
            self.tell(state)

    # -- what the rings say

    def read(self, state: RingProcess) -> None:
        """Takes what is new. Of the callers we ask now: later their object may be gone."""
        if state.reader is None:
            return
        try:
            found = [(one, records) for one, records in state.reader.read() if records]
        except (Unreadable, UserError):
            self.missed += 1
            return
        self.meet_threads(state)
        for back in {one.back for _, records in found for one in records}:
            if ("place", back) not in self.noted():
                self.place(code_places.caller(back))
        for one, records in found:
            self.note_kernels(state, records)
            state.read.append((one, records))
        if sum(len(records) for _, records in state.read) > MANY:
            self.tell(state)

    def meet_threads(self, state: RingProcess) -> None:
        for thread in inferiors.threads():
            lwp = thread.ptid[1]
            if state.threads.setdefault(lwp, thread.global_num) == thread.global_num:
                self.note_thread(thread.global_num, lwp, thread.name)

    def note_kernels(self, state: RingProcess, records: Iterable[Record]) -> None:
        for one in records:
            known = state.known.get(one.function)
            if known is not None and known.function.role in NAME_KERNELS:
                call = Call(0, known.function.symbol, 0.0)
                self.note_kernel(known.function, call, ring_calls.arguments(known.function, one))

    def tell_all(self) -> None:
        """Whoever wants to see the calls asks for that first."""
        for state in self.processes.all():
            self.tell(state)

    def tell(self, state: RingProcess) -> None:
        table, begun, logs = table_version.table(), [], []
        for one, records in state.read:
            log = state.calls.setdefault(one.address, ThreadCalls(one, self.epoch))
            logs.append(log)
            begun += [pair for pair in log.add(records, state.known, table) if self.is_wanted(pair[0])]
        state.read.clear()
        calls = ring_calls.numbered(begun, self.number)
        self.number += len(calls)
        for call in calls:
            call.thread, call.inferior = state.threads.get(call.lwp, call.lwp), state.number
        ended = [call for log in logs for call in log.ended if call.number >= 0]
        for log in logs:
            log.ended.clear()
        self.pass_on(calls, ended)

    def is_wanted(self, call: Call) -> bool:
        callers = self.wish.callers
        return not callers or any(condition_words.is_from(code_places.caller(call.caller), word) for word in callers)

    def pass_on(self, begun: Sequence[Call], ended: Iterable[Call]) -> None:
        rows = [(call.start, 0, call.number, call) for call in begun]
        rows += [(call.last_seen, 1, -call.number, call) for call in ended]
        for _, is_end, _, call in sorted(rows, key=lambda row: row[:3]):
            for sink in self.sinks:
                (sink.exit if is_end else sink.entry)(call)

    @property
    def lost(self) -> int:
        """Calls that were overwritten in their ring before it was read."""
        readers = [state.reader for state in self.processes.all() if state.reader is not None]
        return self.lost_before + sum(map(lost, readers))

    # -- the end

    def end_threads(self) -> None:
        """(A ring says nothing of that.)"""

    def end_process(self, state: RingProcess) -> None:
        self.tell(state)
        for log in state.calls.values():
            log.abandon(self.now(), self.why_ended)
            self.pass_on([], [call for call in log.ended if call.number >= 0])
        trash.extend(state.watches or ())
        self.lost_before += lost(state.reader)
        self.ended = [state]

    def close(self) -> None:
        self.why_ended = record.STILL_OPEN
        self.on_stop()
        self.processes.close()
        super().close()


def lost(reader: RingReader | None) -> int:
    return sum(one.lost for one in reader.rings.values()) if reader is not None else 0
