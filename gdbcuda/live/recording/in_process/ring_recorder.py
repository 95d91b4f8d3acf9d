"""The recorder ``--fast``: the process itself notes its calls, in rings that are read at the user's stops and its end.

Entries of functions jump to libgdbcuda.so, which is preloaded beside the hook library (`entry_patches`; shim/recorder).
What was read is decoded when somebody asks for it. (`rings.ring`, `rings.ring_calls`.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence

import gdb

from gdbcuda.calls import record
from gdbcuda.calls.missing import MissingCalls
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import GAP
from gdbcuda.calls.sinks import Sink, by_time
from gdbcuda.command_line import waiting
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.linkage import Linkage
from gdbcuda.live import process
from gdbcuda.live.frames import code_places
from gdbcuda.live.guard.watch import sweep, trash
from gdbcuda.live.guarding import seccomp
from gdbcuda.live.host import console, garbage_collector, inferiors, interrupts
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.layers import this_snapshot
from gdbcuda.live.patching import trampoline_space
from gdbcuda.live.patching.trampoline_space import RecordedEntry
from gdbcuda.live.recording.base.footprint import RecordWish
from gdbcuda.live.recording.base.log_notes import NAME_KERNELS, LogNotes, objects_with
from gdbcuda.live.recording.entries import entry_patches, recorded_guards, taken_bytes
from gdbcuda.live.recording.in_process import kept_folder, near_pages, sandboxes, without_library
from gdbcuda.live.recording.in_process.ring_process import RingProcess
from gdbcuda.rings import ring_calls
from gdbcuda.rings.ring import Record, Ring
from gdbcuda.routes.answering import Answering

MOST_AT_END, MANY = 10_000, 1 << 20  # calls decoded unasked, to say what was not freed; records that wait for it
LEFT = "cuda-log: interrupted; calls that are not read yet are read at the next stop, as far as they are there then\n"


class RingRecorder(LogNotes):
    """At most one is at work, in all processes."""

    is_paused, stops, stays_out = False, 0, False  # stays_out: until the next stop
    stopped_by = ""  # the signal of the last stop
    is_stepped = True  # for all that is known the user steps a thread that stands at an entry

    def __init__(self, wish: RecordWish, found: list[Sink]) -> None:
        super().__init__(wish, found)
        self.processes: PerInferior[RingProcess] = PerInferior(RingProcess, self.end_process)
        self.lost_before: Counter[str] = Counter()
        self.missing_before = MissingCalls()
        self.ended: list[RingProcess] = []  # the last one: where gdb follows a fork, the parent
        trampoline_space.RECORDED.append(self.beside_guard)

    # -- places

    def plant(self) -> None:
        super().plant()
        if not process.is_thread_running():
            recorded_guards.make_again(self.processes().spots)

    def is_ready(self, linkage: Linkage) -> bool:
        """gdb says where the first lines of functions end, from their symbols."""
        return process.objfile_of(this_snapshot.file_of(linkage)) is not None

    def plant_in(self, linkage: Linkage) -> None:
        state = self.processes()
        if state.reader is None and not self.begin_in(state):
            return without_library.tell(self, linkage)
        sandboxes.look_out(state, self.on_last_call)
        sandboxes.tell_who_is_looked_on(state, kept_folder.is_here(self.wish.folder))
        state.plan(linkage, self.wish)

    def begin_in(self, state: RingProcess) -> bool:
        if not state.begin():
            return False
        folder = kept_folder.here(self.wish.folder)
        kept_folder.begin(state, folder, self.wish.last, self.wish.stack)
        state.python_for = self.wish.python
        state.pythons.begin(state.python_for, folder)
        return True

    def on_process(self, inferior: gdb.Inferior) -> None:
        """If it is a fork, it has the jumps of the process that it was forked from."""
        others = [one for one in self.processes.all() if one.number != inferior.num]
        parents = [one for one in others if one.reader is not None] or (not others and self.ended)
        if inferiors.is_forked(inferior) and parents:
            self.processes.of(inferior).inherit(parents[-1], inferior)

    def on_new_thread(self, inferior: gdb.Inferior, thread: gdb.InferiorThread) -> None:
        if self.processes.has(inferior):
            sandboxes.on_new_thread(self.processes.of(inferior))
            self.processes.of(inferior).threads.meet(thread)

    # -- guards on the same functions

    def beside_guard(self, function: int) -> RecordedEntry | None:
        return self.processes().beside_guard(function) if self.wish.condition is None else None

    def plant_answer(self, answer: Answering) -> None:
        """Code of another name, in an object that has been looked at. An entry that leads there is no longer ours."""
        self.note_answer(answer)
        self.processes().leave(answer.entry)
        if answer.function in self.wish.functions:
            for one in objects_with(answer.reached.address):
                self.plant_in(one)
            self.on_begun()

    def on_begun(self) -> None:
        """The program is at its first instruction: the constructors have run, and what they left alone is ours."""
        if entry_patches.is_at_unseen_stop():
            self.on_continue()

    def at_work(self) -> list[RingProcess]:
        """Or what was, in the process that has ended last."""
        return [state for state in self.processes.all() if state.reader is not None] or self.ended

    def places(self) -> int:
        return sum(len(state.patches) for state in self.at_work())

    def forget_unloaded(self, addresses: set[int]) -> None:
        super().forget_unloaded(addresses)
        self.processes().forget_unloaded()

    # -- the program goes on, and stops

    def on_loaded(self) -> None:
        """Behind a load, in which no thread is in the new object yet, or an unload."""
        state = self.processes()
        if state.has_lost_objects():
            self.forget_unloaded(set())
        state.pythons.begin(state.python_for, self.wish.folder)
        if state.watches is not None:
            sandboxes.look_out_past_libc(state, self.on_last_call)
        self.write_fresh()
        if state.far and state.reader is not None and not seccomp.is_confined():
            near_pages.send_for(state, self.write_fresh)

    def write_fresh(self) -> None:
        """Nobody may stop the process any more, and what its folder or core file has of its calls is what it knows."""
        state = self.processes()
        if state.patches and not process.is_remote():
            kept_folder.tell(state)
        entry_patches.write_fresh(state.fresh, taken_bytes.now())
        state.fresh.clear()

    def on_continue(self) -> None:
        state = self.processes()
        state.fresh.clear()
        sandboxes.on_continue(state)
        state.has_run = state.reader is not None
        sandboxes.tell_who_is_looked_on(state, kept_folder.is_here(self.wish.folder))
        if state.patches:
            kept_folder.tell(state)
        if state.patches and not self.stays_out:
            entry_patches.write_all(state.patches.values(), taken_bytes.now(), self.is_stepped)

    def on_stop(self) -> None:
        state, self.stays_out, self.is_stepped = self.processes(), False, True
        state.has_run = False
        if state.reader is not None:
            entry_patches.restore_all(state.patches.values(), taken_bytes.now())
            if process.is_alive():
                sandboxes.on_stop(state, self.on_last_call)
            with waiting.told("cuda-log", lambda: f", {state.reader.so_far} calls read" if state.reader else ""):
                self.read(state, interrupts.is_waiting)
            if state.reader.is_cut:
                console.write(LEFT)

    def on_last_call(self) -> None:
        """The process is about to end, or its memory to go in an exec."""
        state = self.processes()
        self.read(state)
        state.has_run = False
        if sum(len(records) for _, records in state.read) <= MOST_AT_END:
            self.tell(state)

    # -- what the rings say

    @garbage_collector.paused()
    def read(self, state: RingProcess, is_enough: Callable[[], bool] = lambda: False) -> None:
        """Takes what is new. Of the callers we ask now: later their object may be gone."""
        if state.reader is None:
            return
        try:
            found = [(one, records) for one, records in state.reader.read(is_enough) if records]
        except (Unreadable, UserError):
            self.missed += 1
            return
        self.note_lost(state.reader.lost())
        missed = entry_patches.take_missed(state.patches)
        self.note_missed(state.spots[at].symbol for at in missed if at in state.spots)
        self.meet_threads(state)
        for back in ring_calls.backs(found, process.in_own_code):
            if ("place", back) not in self.noted():
                self.place(code_places.caller(back))
        state.pythons.read({one.callers[0] for _, records in found for one in records if one.callers}, self.script)
        self.note_kernels(state, found)
        state.read += state.threads.owned(found)
        if not state.reader.is_cut and sum(len(records) for _, records in state.read) > MANY:
            self.tell(state)

    def meet_threads(self, state: RingProcess) -> None:
        for thread in inferiors.threads():
            state.threads.meet(thread)
            self.note_thread(thread.global_num, thread.ptid[1], thread.name)

    def note_kernels(self, state: RingProcess, found: Iterable[tuple[Ring, list[Record]]]) -> None:
        for _, records in found:
            for function, given in ring_calls.of_roles(records, state.known, NAME_KERNELS):
                self.note_kernel(function, Call(0, function.symbol, 0.0), given)

    def tell_all(self) -> None:
        """Whoever wants to see the calls asks for that first."""
        for state in self.processes.all():
            self.tell(state)

    @interrupts.uninterrupted
    @garbage_collector.paused()
    def tell(self, state: RingProcess) -> None:
        """Done by half, calls would be told twice."""
        calls, ended = state.decode(self.number, self.epoch, lambda call: state.is_from(self.wish.callers, call))
        state.pythons.name(calls)
        self.number += len(calls)
        self.pass_on(calls, ended)

    def pass_on(self, begun: Sequence[Call], ended: Collection[Call]) -> None:
        for is_end, call in by_time(begun, ended):
            for sink in self.sinks:
                (sink.exit if is_end else sink.entry)(call)

    @property
    def lost(self) -> Counter[str]:
        """Calls that are in no ring, or were not when it was read, by reason."""
        return sum((Counter(state.lost()) for state in self.processes.all()), Counter(self.lost_before))

    # -- the end

    def end_threads(self) -> None:
        """(A ring says nothing of that.)"""

    def end_process(self, state: RingProcess) -> None:
        if state.is_gone_unseen(self.stopped_by):
            for sink in self.sinks:
                sink.note(self.now(), GAP, {"until": self.now(), "inferior": state.number, "pid": state.pid})
        self.tell(state)
        for log in state.calls.values():
            log.abandon(self.now(), self.why_ended)
            self.pass_on([], [call for call in log.ended if call.number >= 0])
        trash.extend(state.watches or ())
        sweep()
        self.lost_before.update(state.lost())
        self.missing_before.update(state.found_missing(is_over=True))
        self.ended = [state]

    def close(self) -> None:
        self.why_ended = record.STILL_OPEN
        trampoline_space.RECORDED.remove(self.beside_guard)
        self.on_stop()
        self.processes.close()
        super().close()
