"""What the recorder in a process had noted, out of its core file: the rings are in it, or in files of their own.

A ring in memory is private, so every core file has it. Of one that is a file the core file has the beginning alone, and
gdb reads the rest from the file, where that is still there. (core(5): NT_FILE, /proc/PID/coredump_filter.)
"""

from __future__ import annotations

import os
import struct
from collections.abc import Collection

import gdb

from gdbcuda.calls.record import Call
from gdbcuda.calls.references import BEFORE, OVERWRITTEN
from gdbcuda.calls.sinks import Sink, in_order
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.files import places
from gdbcuda.linkage.image import Image
from gdbcuda.live import layers, process
from gdbcuda.live.frames import code_places
from gdbcuda.live.host import console, garbage_collector, inferiors
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.layers import table_version
from gdbcuda.live.recording import fast
from gdbcuda.live.recording.base.footprint import RecordWish
from gdbcuda.live.recording.base.log_notes import LogNotes
from gdbcuda.live.recording.in_process.told_python import ToldPython
from gdbcuda.rings import ring_calls
from gdbcuda.rings.ring import Record, Ring, RingReader, another_version
from gdbcuda.rings.ring_functions import RecordedFunction
from gdbcuda.rings.ring_layout import (
    ENTRY,
    FILE_VERSION,
    MAGIC,
    MOST_ENTRIES,
    PROCESS,
    PYTHON_SYMBOL,
    RING_HEADER,
    STATE_SYMBOL,
    TRACE,
    TRACE_SYMBOL,
    WORD,
)
from gdbcuda.rings.traced import trace_files
from gdbcuda.text.printable import visible

ARE_READ: PerInferior[list[bool]] = PerInferior(list)
LIBRARIES = (places.AGENT, places.TRACER)


def read_once(sinks: list[Sink], number: int) -> int:
    """Into these; the number of the next call."""
    if ARE_READ():
        return number
    ARE_READ().append(True)
    reasons = []
    for one in process.images():
        if os.path.basename(one.name) in LIBRARIES:
            try:
                return CoreCalls(one, sinks).tell(number)
            except (Unreadable, UserError) as reason:
                reasons.append(f"gdbcuda: the recorder's calls are not read from the core file: {reason}\n")
    console.write("".join(dict.fromkeys(reasons)))
    return number


class CoreCalls(LogNotes):
    def __init__(self, library: Image, sinks: list[Sink]) -> None:
        super().__init__(RecordWish(frozenset()), sinks)
        self.library = library
        self.memory, self.table = process.InferiorMemory(), table_version.table()
        state, trace = library.lookup(STATE_SYMBOL), library.lookup(TRACE_SYMBOL)
        if state is None or trace is None:
            raise another_version()
        self.reader, self.trace = RingReader(self.memory, state.address), trace.address

    @garbage_collector.paused()
    def tell(self, number: int) -> int:
        found = [(one, records) for one, records in self.reader.read() if records or missing(one)]
        never_there = {why: calls for why, calls in self.reader.lost().items() if why != OVERWRITTEN}
        if not found and not never_there:
            return number
        known = self.known()
        self.wish = RecordWish(frozenset(one.function.symbol for one in known.values()))
        self.note_lost(never_there)
        self.note("unseen", BEFORE, {"name": BEFORE})
        ring_calls.backs(found, process.in_own_code)
        calls = self.calls(found, known, number)
        for back in {call.caller for call in calls if call.caller is not None}:
            self.place(code_places.caller(back))
        self.name_python(calls)
        self.say_what_is_missing([one for one, _ in found], len(calls))
        console.write("".join(f"gdbcuda: {line}\n" for line in fast.lost_text(never_there)))
        self.pass_on(calls)
        return number + len(calls)

    def name_python(self, calls: list[Call]) -> None:
        words = self.library.lookup(PYTHON_SYMBOL)
        if words is not None:
            pythons = ToldPython(words.address, self.folder())
            pythons.read({call.python for call in calls}, self.script)
            pythons.name(calls)

    def folder(self) -> str:
        """Where its files are, "" for nowhere."""
        return os.fsdecode(self.memory.read(self.trace, TRACE["PLACES"] * WORD).partition(b"\0")[0])

    def known(self) -> dict[int, RecordedFunction]:
        """By slot, as the process was told."""
        functions = trace_files.process(self.process_file()).functions
        return {slot: RecordedFunction(function, layers.layer_of(one.address, one.name),
                                       os.path.basename(one.object.file if one.object else ""))
                for slot, one in functions.items() if (function := table_version.function(one.name))}  # fmt: skip

    def process_file(self) -> bytes:
        """As the recorder would write it."""
        count = min(self.reader.words(self.trace + TRACE["ENTRIES_COUNT"] * WORD, 1)[0], MOST_ENTRIES)
        head = [0] * RING_HEADER
        head[PROCESS["MAGIC"]], head[PROCESS["VERSION"]] = MAGIC, FILE_VERSION
        entries = self.memory.read(self.trace + TRACE["ENTRIES"] * WORD, count * ENTRY["SIZE"] * WORD) if count else b""
        return struct.pack(f"<{RING_HEADER}Q", *head) + entries

    def calls(
        self, found: list[tuple[Ring, list[Record]]], known: dict[int, RecordedFunction], number: int
    ) -> list[Call]:
        threads = {thread.ptid[1]: thread.global_num for thread in inferiors.threads()}
        first = min((ring_calls.seconds(one, records[0].entered) for one, records in found if records), default=0.0)
        begun = [pair for one, records in found
                 for pair in ring_calls.ThreadCalls(one, first).add(records, known, self.table)]  # fmt: skip
        calls = ring_calls.numbered(begun, number)
        inferior = gdb.selected_inferior()
        for call in calls:
            call.thread, call.inferior, call.pid = threads.get(call.lwp, call.lwp), inferior.num, inferior.pid
        return calls

    def pass_on(self, calls: Collection[Call]) -> None:
        for is_end, call in in_order(calls):
            for sink in self.sinks:
                (sink.exit if is_end else sink.entry)(call)

    def say_what_is_missing(self, rings: list[Ring], count: int) -> None:
        lost = sum(map(missing, rings))
        folder = self.folder()
        if lost:
            more = f" (gdbcuda log show {visible(folder)} has what is in its files)" if folder else ""
            console.write(f"gdbcuda: {count} calls are in the core file, {lost} are not, or were overwritten{more}\n")


def missing(one: Ring) -> int:
    """What is not there reads as zeros, as a record does that is being written."""
    return one.lost + len(one.unwritten)
