"""The recorder ``stops``: two breakpoints a call, neither of which stops the program.

One at the function's first instruction, one at the return address, where a call is known by its thread and by the
stack pointer. They are internal gdb.Breakpoints whose ``stop`` says False; the user's own breakpoints on the same
functions, and stepping, go on as ever. At bare addresses they would make the next ``run`` fail, so they go with the
process. None is deleted inside ``stop``. (gdb manual: "Breakpoints In Python".)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Callable

import gdb

from gdbcuda import api, decode
from gdbcuda.calls import record
from gdbcuda.calls.record import Call
from gdbcuda.calls.sinks import Sink
from gdbcuda.calls.stacks import Open, Stacks
from gdbcuda.linkage import Linkage
from gdbcuda.live import process
from gdbcuda.live.breakpoints import uprobes
from gdbcuda.live.frames import code_places, condition_words, frames
from gdbcuda.live.host import inferiors, interrupts
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.layers import table_version, this_snapshot
from gdbcuda.live.layers.code import answering_code
from gdbcuda.live.noticing import answer_search
from gdbcuda.live.placing import link, unloading
from gdbcuda.live.pythons import thread_stacks
from gdbcuda.live.recording.base import planting
from gdbcuda.live.recording.base.footprint import RecordedProcess, RecordWish
from gdbcuda.live.recording.base.log_notes import NAME_KERNELS, LogNotes, objects_with
from gdbcuda.live.recording.by_breakpoints import jumps, overwritten_entries
from gdbcuda.live.recording.by_breakpoints.out_arguments import out_values
from gdbcuda.live.recording.by_breakpoints.watchers import CallReturn, FunctionEntry, Jump
from gdbcuda.live.threads.call_registers import CallMachine, read
from gdbcuda.machine import abi
from gdbcuda.machine.behind_jump import Behind
from gdbcuda.routes.answering import Answering
from gdbcuda.routes.snapshot import VENDORS


class Recorder(LogNotes):
    """At most one is at work, in all processes. ``stops`` and ``missed`` (what could not be read) count what it did.

    ``is_bad`` is asked after the entry: should the program stop at this call?"""

    def __init__(
        self, wish: RecordWish, sinks: list[Sink], is_bad: Callable[[Call], bool] = lambda call: False
    ) -> None:
        super().__init__(wish, sinks)
        self.is_bad = is_bad
        self.stops = 0
        self.is_paused = False
        self.processes: PerInferior[RecordedProcess] = PerInferior(RecordedProcess, self.end_process)

    def entered(
        self, spot: planting.PlantingSpot, function: api.Function, arguments: Sequence[abi.ValuePlace], behind: Behind
    ) -> Call | None:
        """At a function's first instruction, or behind a jump over it; None where the call is not wanted."""
        start, memory, state = self.now(), process.InferiorMemory(), self.processes()
        stack = process.register(state.machine.stack_pointer) + behind.taken
        back, sp = state.machine.return_place(stack, memory)
        if self.wish.callers and not self.is_wanted_caller(back):
            return None
        raws = [read(place, stack, memory) for place in arguments]
        thread = gdb.selected_thread()
        stacks = self.stacks_of(thread, state)
        moment = state.machine.moment()
        if behind.offset:
            self.note_heard(spot.symbol)
        is_in_loop = behind.offset and stacks.is_in(spot.address, back, sp)  # its own code leads back to there
        if is_in_loop or stacks.is_met_again(spot.address, back, sp, raws, moment):
            return None
        called_by = code_places.caller(back)
        around = condition_words.EntrySurroundings(called_by, lambda: next(state.passed))
        if self.wish.condition is not None and not self.wish.condition.holds(function, raws, memory, around):
            return None
        self.abandon(stacks.left_by(spot.address, back, sp, bool(state.jumps)), record.UNWOUND)
        call = self.begin(thread, state, spot, start)
        self.describe(call, function, raws, called_by)
        stacks.calls.append(Open(call, function, raws, spot.address, back, sp, moment))
        if back not in state.returns:
            state.returns[back] = CallReturn(self, back)
        for sink in self.sinks:
            sink.entry(call)
        return call

    def describe(
        self, call: Call, function: api.Function, raws: list[bytes | None], called_by: frames.CodePlace
    ) -> None:
        """Who calls, and with which values."""
        scripts = thread_stacks.calling()
        call.stack = self.backtrace(scripts) if self.wish.stack else []
        call.caller = self.place(*code_places.beyond_headers(called_by))
        call.python = self.script_site(scripts)
        decoded = decode.arguments(function, raws, process.InferiorMemory(), table_version.table(), phase="enter")
        call.arguments = {a.name: a.data for a in decoded}
        call.addresses = decode.string_addresses(function, decoded)
        if function.role in NAME_KERNELS:
            self.note_kernel(function, call, raws)

    def stacks_of(self, thread: gdb.InferiorThread, state: RecordedProcess) -> Stacks:
        """A thread that is new is the time to look which others are gone: no event of gdb 10 to 13 tells that."""
        found = state.threads.get(thread.global_num)
        if found is None:
            self.end_threads()
            found = state.threads[thread.global_num] = Stacks()
        return found

    def begin(
        self, thread: gdb.InferiorThread, state: RecordedProcess, spot: planting.PlantingSpot, start: float
    ) -> Call:
        open_calls = state.threads[thread.global_num].calls
        call = Call(self.number, spot.symbol, start, thread.global_num)
        self.number += 1
        call.pid, call.lwp, _ = thread.ptid
        call.inferior = state.number
        call.depth, call.parent = len(open_calls), open_calls[-1].call.number if open_calls else None
        call.layer, call.object = spot.layer, os.path.basename(spot.file)
        if ("thread", call.thread) not in self.noted():
            self.note_thread(call.thread, call.lwp, thread.name)
        return call

    def is_wanted_caller(self, back: int) -> bool:
        named = any(condition_words.is_from(code_places.caller(back), word) for word in self.wish.callers)
        return named or condition_words.is_from_script(self.wish.callers)

    def returned(self, address: int) -> None:
        """At a return address: ends every call of this thread that returns here now (several after a tail call)."""
        state = self.processes()
        stacks = state.threads.get(gdb.selected_thread().global_num)
        if stacks is None or not stacks.calls:
            return
        sp, end = process.register(state.machine.stack_pointer), self.now()
        lost, ended = stacks.over(address, sp)
        self.abandon(lost, record.UNWOUND)
        for one in ended:
            self.finish(one, end, state.machine)

    def finish(self, ended: Open, end: float, machine: CallMachine) -> None:
        call, function, table, memory = ended.call, ended.function, table_version.table(), process.InferiorMemory()
        code = process.register(machine.result)
        call.end, call.ended = end, ""
        call.result = decode.result(function, code, table, memory).data
        call.status = code & 0xFFFFFFFF if function.result.kind == "enum" else None
        if not call.failed:
            call.out = out_values(function, ended.raws, memory, table)
        for sink in self.sinks:
            sink.exit(call)

    def jumped(self, name: str) -> None:
        """At longjmp, where an exception lands, or where the thread goes on on another stack."""
        stacks = self.processes().threads.get(gdb.selected_thread().global_num)
        if stacks is not None:
            leap = jumps.leap(name)
            lost = stacks.switch(leap.old, leap.new, leap.is_fresh) if leap.is_switch else stacks.jump(leap.new)
            self.abandon(lost, record.UNWOUND)

    def abandon(self, lost: Sequence[Open], why: str) -> None:
        for one in lost:
            one.call.end, one.call.ended = self.now(), why
            for sink in self.sinks:
                sink.exit(one.call)

    def end_threads(self) -> None:
        """Ends what threads of the selected process that are no more have left open."""
        threads = self.processes().threads
        alive = {thread.global_num for thread in inferiors.threads()}
        for number in [number for number in threads if number not in alive]:
            self.abandon(threads.pop(number).all(), record.THREAD_GONE)

    def plant(self) -> None:
        super().plant()
        if process.is_alive():
            link.keep_inserted(self.places())

    def is_ready(self, linkage: Linkage) -> bool:
        """Who overwrites the vendor's entries in a constructor has to find the functions' own bytes there."""
        return this_snapshot.layer_of(linkage) not in VENDORS or not answer_search.constructors_may_patch()

    def on_begun(self) -> None:
        """The program is at its first instruction: the constructors have run."""
        self.plant()

    def plant_in(self, linkage: Linkage) -> None:
        state = self.processes()
        self.plant_functions(linkage, state)
        for address, name in jumps.spots(linkage).items():
            if address not in state.jumps:
                interrupts.keep(state.jumps, address, partial(Jump, self, address, name))

    def plant_functions(self, linkage: Linkage, state: RecordedProcess) -> None:
        planted = dict[int, str]()
        # by address: gdb sorts all places anew for each, and takes a third less where they are in order
        for spot in sorted(planting.spots(linkage, self.wish.functions, self.wish.places)):
            function = table_version.function(spot.symbol)
            is_taken = spot.address in state.entries or answering_code.is_overwritten(spot.address)
            if function is not None and not is_taken:
                interrupts.keep(state.entries, spot.address, partial(FunctionEntry, self, spot, function))
                planted[spot.address] = spot.symbol
        uprobes.tell_of_calls(this_snapshot.file_of(linkage), planted)

    def plant_answer(self, answer: Answering) -> None:
        """In an object that has its breakpoints already."""
        self.note_answer(answer)
        entries = self.processes().entries
        overwritten_entries.leave(answer.entry, entries.get(answer.entry))
        for behind in overwritten_entries.places(answer, self.wish):
            if behind.address not in entries:
                entries[behind.address] = FunctionEntry(self, behind.spot, behind.function, behind.way)
        if answer.function in self.wish.functions:
            for one in objects_with(answer.reached.address):
                self.plant_functions(one, self.processes())

    def places(self) -> int:
        """How many functions are watched, in all processes."""
        return sum(len(state.entries) for state in self.processes.all())

    def forget_unloaded(self, addresses: set[int]) -> None:
        """Their breakpoints are gone. An object that comes again gets new ones; nobody returns to one that has gone."""
        super().forget_unloaded(addresses)
        state = self.processes()
        unloading.drop(addresses, state.entries, state.returns, state.jumps)
        for stacks in state.threads.values():
            self.abandon(stacks.without_callers(addresses), record.UNWOUND)

    def end_process(self, state: RecordedProcess) -> None:
        """Addresses and stacks mean nothing any more."""
        for stacks in state.threads.values():
            self.abandon(stacks.all(), self.why_ended)
        for breakpoint in state.breakpoints():
            if breakpoint.is_valid():
                breakpoint.delete()

    def close(self) -> None:
        """What is open stays so in the log: it is not over, and will not be seen to end."""
        self.why_ended = record.STILL_OPEN
        self.processes.close()
        super().close()
        link.as_before()
