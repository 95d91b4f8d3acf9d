"""Two logs side by side: with and without the hook, or with two versions of it. Where does the program's story part?

Each thread's outermost calls are compared in order: processes, and the threads of each, by the order in which they
appear. Pointers and handles are compared by what handed them out, for their values differ from run to run.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from gdbcuda import api
from gdbcuda.calls.reader import BEGIN, Event
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import Process
from gdbcuda.calls.text import CallWriter, returned, value
from gdbcuda.log.views.pairs import Pairs, UnlikeValue, unlike_values
from gdbcuda.text import render
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import counted

CONTEXT = 3
Thread = tuple[int, int]  # the how many-th process of its log, the how many-th thread of it
ORDER, END = "order", "length"


class Divergence(NamedTuple):
    """One of the calls is None at the end of a log; ``before`` are the calls of the first log in front of it."""

    what: str
    thread: Thread
    first: Call | None
    second: Call | None
    before: tuple[Call, ...]
    detail: str

    @property
    def start(self) -> float:
        return min(call.start for call in (self.first, self.second) if call is not None)


class Side:
    """The outermost calls of one log, by thread; processes and threads are counted as they appear."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.events = iter(events)
        self.processes: dict[Process, dict[int, Thread]] = {}
        self.waiting: dict[Thread, deque[Call]] = {}
        self.is_over = False

    def thread(self, call: Call) -> Thread:
        threads = self.processes.setdefault(call.process, {})
        if call.thread not in threads:
            threads[call.thread] = [*self.processes].index(call.process), len(threads)
        return threads[call.thread]

    def pull(self) -> Thread | None:
        """Reads on to the next outermost call; the thread it is of."""
        for phase, call in self.events:
            thread = self.thread(call)
            if phase != BEGIN and call.parent is None:
                self.waiting.setdefault(thread, deque()).append(call)
                return thread
        self.is_over = True
        return None

    def queue(self, thread: Thread) -> deque[Call]:
        return self.waiting.get(thread, deque())


class Diff:
    """``firsts`` has the earliest difference of each kind, ``counts`` how many there are. Where a thread's order
    differs, or one log ends, the thread is not aligned any further: ``after`` counts the calls from there on."""

    def __init__(self) -> None:
        self.firsts: dict[str, Divergence] = {}
        self.counts: Counter[str] = Counter()
        self.alike = 0
        self.parted: set[Thread] = set()
        self.before: dict[Thread, deque[Call]] = {}
        self.pairs: dict[Thread, Pairs] = {}
        self.processes = 1
        self.after: tuple[Counter[str], Counter[str]] = Counter(), Counter()

    def feed(self, first: Iterable[Event], second: Iterable[Event]) -> Diff:
        sides = Side(first), Side(second)
        while not all(side.is_over for side in sides):
            for side in sides:
                thread = side.pull()
                if thread is not None:
                    self.compare(thread, sides, at_end=False)
        for thread in sorted({thread for side in sides for thread in side.waiting}):
            self.compare(thread, sides, at_end=True)
        self.processes = max(len(side.processes) for side in sides)
        return self

    def compare(self, thread: Thread, sides: tuple[Side, Side], at_end: bool) -> None:
        first, second = (side.queue(thread) for side in sides)
        while thread not in self.parted and ((first and second) or (at_end and (first or second))):
            pair = [queue.popleft() if queue else None for queue in (first, second)]
            self.pair(thread, *pair)
        if thread in self.parted:
            for counts, queue in zip(self.after, (first, second)):
                counts.update(call.name for call in queue)
                queue.clear()

    def pair(self, thread: Thread, ours: Call | None, theirs: Call | None) -> None:
        before = self.before.setdefault(thread, deque(maxlen=CONTEXT))
        found = list(differences(ours, theirs, self.pairs.setdefault(thread, Pairs())))
        self.alike += not found
        for what, detail in found:
            self.counts[what] += 1
            self.keep(Divergence(what, thread, ours, theirs, tuple(before), detail))
            if what in (ORDER, END):
                self.parted.add(thread)
                for counts, call in zip(self.after, (ours, theirs)):
                    counts.update([call.name] if call is not None else [])
        if ours is not None:
            before.append(ours)

    def keep(self, found: Divergence) -> None:
        known = self.firsts.get(found.what)
        if known is None or found.start < known.start:
            self.firsts[found.what] = found


def differences(ours: Call | None, theirs: Call | None, pairs: Pairs) -> Iterator[tuple[str, str]]:
    """What differs, and how."""
    if ours is None or theirs is None:
        yield END, f"only the {'second' if ours is None else 'first'} log goes on"
        return
    if ours.name != theirs.name:
        yield ORDER, f"{ours.name} in the first, {theirs.name} in the second"
        return
    names: dict[str, list[UnlikeValue]] = {}
    for one in unlike_values(ours, theirs, pairs):
        names.setdefault(one.what, []).append(one)
    for what, some in names.items():
        yield what, members(some, ours.name)


def members(found: list[UnlikeValue], symbol: str) -> str:
    function = api.load_all().function(symbol)
    parameters = {p.name: p for p in function.parameters} if function is not None else {}

    def told(name: str, data: Any) -> str:
        return returned(data, function) if name == "result" else shown(data, parameters.get(name))

    return "; ".join(f"{name} is {told(name, one)} in the first, {told(name, other)} in the second"
                     for _, name, one, other in found)  # fmt: skip


def shown(data: Any, parameter: api.Parameter | None) -> str:
    """What a pointer leads to, where that is known, else the value as any line of a call has it: NULL where an address
    is None."""
    if isinstance(data, dict) and "address" in data and "value" in data:
        return "NULL" if data["value"] is None else value(data["value"], parameter)
    return value(data, parameter)


def text(diff: Diff, writers: tuple[CallWriter, CallWriter]) -> str:
    if not diff.firsts:
        return f"No difference in {counted(diff.alike, 'call')} of the program."
    parts = [one_text(one, diff.counts[one.what], diff.processes, writers)
             for one in sorted(diff.firsts.values(), key=lambda one: one.start)]  # fmt: skip
    counts = counts_text(diff)
    alike = f"Alike: {counted(diff.alike, 'call')}."
    return "\n\n".join([*parts, alike, *([counts] if counts else [])])


def one_text(found: Divergence, count: int, processes: int, writers: tuple[CallWriter, CallWriter]) -> str:
    many = f" (the first of {count})" if count > 1 else ""
    where = thread_text(found.thread, processes)
    lines = [f"Differs in {found.what}, {where} of each log{many}: {visible(found.detail)}"]
    lines += [f"  {writers[0].line(call)}" for call in found.before]
    marks = writers[0].paint("-", "error"), writers[0].paint("+", "ok")
    lines += [f"{mark} {writer.line(call) if call is not None else '(the log ends)'}"
              for mark, call, writer in zip(marks, (found.first, found.second), writers)]  # fmt: skip
    return "\n".join(lines)


def thread_text(thread: Thread, processes: int) -> str:
    """ "thread 2", or "process 3, thread 1" where logs have several."""
    process, number = (one + 1 for one in thread)
    return f"process {process}, thread {number}" if processes > 1 else f"thread {number}"


def counts_text(diff: Diff) -> str:
    first, second = diff.after
    rows = [(name, first[name], second[name], second[name] - first[name]) for name in sorted({*first, *second})
            if first[name] != second[name]]  # fmt: skip
    return render.table(rows, ["function, from there on", "first", "second", "difference"]) if rows else ""
