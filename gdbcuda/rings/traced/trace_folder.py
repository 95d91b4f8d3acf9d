"""What `gdbcuda trace` has left in a folder, read as a log: the calls of all its processes in the order of time."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from operator import itemgetter
from typing import Any, Callable

from gdbcuda import __version__, api
from gdbcuda.api import vendor
from gdbcuda.calls.reader import BEGIN, END, Event, Log
from gdbcuda.calls.record import FORMAT
from gdbcuda.calls.sinks import TimedEvent, as_nested
from gdbcuda.errors import UserError, cannot
from gdbcuda.files.reading import Source, open_source
from gdbcuda.gpu.gpu_calls import GPU
from gdbcuda.gpu.gpu_file import gpu_file
from gdbcuda.rings import ring_words
from gdbcuda.rings.ring_calls import NANOSECONDS
from gdbcuda.rings.ring_layout import PYTHON_STACKS
from gdbcuda.rings.traced import thread_file, trace_files
from gdbcuda.rings.traced.process_reading import ProcessReading
from gdbcuda.rings.traced.ring_file import NotBegun
from gdbcuda.rings.traced.thread_file import RingCopies, ThreadFile, share_memory
from gdbcuda.rings.traced.thread_names import ThreadNames
from gdbcuda.rings.traced.trace_files import Progress
from gdbcuda.rings.traced.trace_filter import TraceFilter
from gdbcuda.rings.traced.trace_gpu import FolderGpu
from gdbcuda.rings.traced.trace_python import PythonStacks

PROCESS = re.compile(r"(\d+-\d+)\.process")
OF_GPU = re.compile(r"(\d+-\d+)\.gpu")
RING, KEPT = (re.compile(rf"((\d+-\d+)-\d+)\.{ending}") for ending in ("ring", "calls"))
CONDITION, FILTERS = "condition", "filters"  # what --filter is, and what the processes read of it
PYTHON_NAMES = "python"  # whose calls get the Python that led to them
AT_THE_START = frozenset((CONDITION, FILTERS, PYTHON_NAMES))
PROCESSES = "processes"  # a byte for each that has a file (shim/trace/files.c)
FASTEST, SLOWEST = 0.05, 50.0  # nanoseconds that a tick may last


class TraceFolder:
    """``header`` as that of a log; `UserError` where the folder has nothing of a trace."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.names = listed(path)
        self.problems: list[str] = []
        self.processes = self.read_each(PROCESS, lambda file: trace_files.process(all_of(file)))
        if AT_THE_START.issuperset(self.names):
            raise UserError(f"nothing was recorded into {path}: no call was made of a function that is recorded, "
                            "or the program could not write there", page="trace")  # fmt: skip
        if not self.processes:
            raise UserError(f"cannot read {path}: it is a folder without what gdbcuda trace writes"
                            f"{' (' + self.problems[0] + ')' if self.problems else ''}")  # fmt: skip
        self.gpu_files = [one for _, one in self.read_each(OF_GPU, lambda file: gpu_file(all_of(file)))]
        of_threads = [name for name in self.names if any(one.fullmatch(name) for one in (RING, KEPT, OF_GPU))]
        self.size = sum(size_of(os.path.join(path, name)) for name in of_threads)
        self.readings: list[ProcessReading] = []
        self.began: int = min(one.monotonic for _, one in self.processes)
        self.header = self.made_header()

    def made_header(self) -> dict[str, Any]:
        first = min((one for _, one in self.processes), key=lambda one: one.monotonic)
        files = [one.file for _, process in self.processes for one in process.objects]
        runtimes = [vendor.major_version(file) for file in files if vendor.api_of(file) == "runtime"]
        table = api.load(next(filter(None, runtimes), None))
        program = first.objects[0].file if first.objects else ""
        return {"gdbcuda_log": FORMAT, "phase": "H", "version": __version__, "clock": "monotonic, of the program",
                "started": first.realtime / NANOSECONDS, "program": program, "cuda": table.cuda, "nvml": table.nvml,
                "objects": []}  # fmt: skip

    def read_each(self, names: re.Pattern[str], read: Callable[[Source], Any]) -> list[tuple[str, Any]]:
        """(what its name begins with, what is in the file) of each that can be read."""
        found = []
        for name in self.names:
            matched = names.fullmatch(name)
            if matched is None or (names is KEPT and not size_of(os.path.join(self.path, name))):
                continue  # nothing could be written into it: its ring says more
            try:
                found.append((matched[1], read(open_source(os.path.join(self.path, name)))))
            except NotBegun:
                continue
            except UserError as problem:
                if os.path.lexists(os.path.join(self.path, name)):  # else the helper has taken it away meanwhile
                    self.problems.append(f"{name}: {str(problem).rpartition(': ')[2]}")
        return found

    def events(self, log: Log, progress: Progress | None = None) -> Iterator[Event]:
        """Begins and ends in the order of time, then those of calls that had not returned. Of a thread few calls are
        held at a time; where there is work of a GPU, of those that it is joined to a few words are."""
        log.add_header(self.header)
        told, copies = progress or trace_files.untold, RingCopies()
        try:
            yield from self.numbered(log, copies, told)
        finally:
            copies.close()
        told(self.size)

    def numbered(self, log: Log, copies: RingCopies, told: Progress) -> Iterator[Event]:
        table = api.load(self.header["cuda"], self.header["nvml"])
        threads = self.threads(copies)
        without = sorted(set(threads) - {name for name, _ in self.processes})
        log.problems.update([*self.problems, *(f"a ring without its {name}.process" for name in without)])
        of_all = [one for some in threads.values() for one in some]
        share_memory(of_all)
        rate, asked, pythons = nanoseconds_a_tick([one.clock for one in of_all]), self.filter(table), self.pythons()
        self.readings = [ProcessReading(process, number, table, log, asked, self.began / NANOSECONDS, rate, pythons)
                         for number, (_, process) in enumerate(self.processes, 1)]  # fmt: skip
        of_process = {number: threads.get(name, []) for number, (name, _) in enumerate(self.processes, 1)}
        for reading in self.readings:
            reading.look_through(of_process[reading.number], told)
        for reading in self.readings:
            reading.say_where_calls_are_missing()
        yield from (self.with_gpu if self.gpu_files else self.without_gpu)(of_process, log, told)
        if asked is not None and asked.undecided:
            log.problems["a call that may not be wanted: what --filter looks at was not recorded"] += asked.undecided

    def without_gpu(self, threads: Mapping[int, list[ThreadFile]], log: Log, told: Progress) -> Iterator[Event]:
        streams = [as_nested(self.readings[number - 1].calls(one, told))
                   for number, some in threads.items() for one in some]  # fmt: skip
        return self.in_order_of_time(streams, ThreadNames(log))

    def with_gpu(self, threads: Mapping[int, list[ThreadFile]], log: Log, told: Progress) -> Iterator[Event]:
        """Of the second half of the work one half is done here, and one as the calls are told."""
        gpu, names = FolderGpu({one.number: one for one in self.readings}, threads, log), ThreadNames(log)

        def half(count: int) -> None:
            told(count // 2)

        for one in self.gpu_files:
            gpu.read(one, self.began / NANOSECONDS, half)
        gpu.name(names)
        yield from gpu.with_causes(self.in_order_of_time(gpu.streams(names, half), names))

    def in_order_of_time(self, streams: Iterable[Iterator[TimedEvent]], names: ThreadNames) -> Iterator[Event]:
        """Calls are numbered as they begin, and threads from 1 in the order of their first calls."""
        number = 0
        for _, is_end, call, around in merge(*streams, key=itemgetter(0)):
            reading = self.readings[call.inferior - 1] if call.inferior and call.layer != GPU else None
            if not is_end:
                call.number, number = number, number + 1
                call.parent = None if around is None else around.number
                if call.layer != GPU:
                    names.name(call)
                if reading is not None:
                    reading.begins(call)
            elif reading is not None:
                reading.tell_answers(call)
            yield (END if is_end else BEGIN), call

    def filter(self, table: api.Table) -> TraceFilter | None:
        if CONDITION not in self.names:
            return None
        text = contents(os.path.join(self.path, CONDITION)).decode("utf-8", "replace")
        return TraceFilter(text, table)

    def pythons(self) -> PythonStacks:
        found = PYTHON_STACKS in self.names
        return PythonStacks(contents(os.path.join(self.path, PYTHON_STACKS)) if found else b"")

    def threads(self, copies: RingCopies) -> dict[str, list[ThreadFile]]:
        """By process. What is taken out of a ring is kept first, so that is read last."""
        threads = dict(self.read_each(RING, copies.thread))
        kept = (f"{one[1]}.calls" for one in map(RING.fullmatch, self.names) if one is not None)
        self.names = sorted({*self.names, *set(kept).intersection(listed(self.path))})  # of rings that have gone
        self.problems += [f"{thread}.ring: it is cut off" for thread, one in threads.items() if one.is_cut]
        for thread, one in self.read_each(KEPT, thread_file.kept):
            threads[thread] = threads[thread].joined(one) if thread in threads else one
        found: dict[str, list[ThreadFile]] = {}
        for thread, one in threads.items():
            found.setdefault(thread.rpartition("-")[0], []).append(one)
        return found


def without_calls(path: str) -> list[str]:
    """The files of a folder into which nothing was recorded, and nothing will be; [] where there is anything else."""
    names = listed(path)
    over = {name for name in names if PROCESS.fullmatch(name) and not os.path.exists(f"/proc/{name.partition('-')[0]}")}
    is_all = {*names} <= {*AT_THE_START, PROCESSES, *over}
    return names if is_all and all(map(is_for_its_owner_alone, (os.path.join(path, name) for name in names))) else []


def is_for_its_owner_alone(path: str) -> bool:
    """As our files are."""
    return os.lstat(path).st_mode == stat.S_IFREG | 0o600


def size_of(path: str) -> int:
    """For a bar."""
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def listed(path: str) -> list[str]:
    try:
        return sorted(os.listdir(path))
    except OSError as problem:
        raise cannot(f"read {path}", problem) from None


def contents(path: str) -> bytes:
    return all_of(open_source(path))


def all_of(source: Source) -> bytes:
    return source.read(0, source.size, "it")


def nanoseconds_a_tick(clocks: Iterable[ring_words.Words]) -> float:
    """By the longest time between two looks at the clock: all processors of a machine count alike."""
    longest, rate = 0, 1.0
    for ticks, ns, later_ticks, later_ns in clocks:
        found = (later_ns - ns) / (later_ticks - ticks) if later_ticks > ticks else 0.0
        if later_ns - ns > longest and FASTEST < found < SLOWEST:
            longest, rate = later_ns - ns, found
    return rate
