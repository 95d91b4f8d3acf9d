"""A lane for each thread, as wide as the terminal: what the program's calls were about, when, and where they failed."""

from __future__ import annotations

from collections.abc import Iterable

from gdbcuda import api
from gdbcuda.calls.reader import BEGIN, Event
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import References
from gdbcuda.calls.text import Paint, duration, plainly
from gdbcuda.gpu.gpu_calls import GPU
from gdbcuda.log.views.gpu_views import gpu_work
from gdbcuda.text import render
from gdbcuda.text.printable import visible

LETTERS = {"alloc": "A", "free": "F", "copy": "C", "set": "S", "launch": "K", "stream": "s", "event": "e",
           "module": "m", "library": "m", "context": "c", "init": "i", "device": "d", "memory-info": "q"}  # fmt: skip
ON_GPU = {gpu_work.KERNEL: "K", gpu_work.COPY: "C", gpu_work.FILL: "S", gpu_work.GRAPH: "K", gpu_work.WAIT: "w"}
OTHER, FAILED, IDLE = "o", "!", "."
KERNEL, SYSTEM_CALL = "kernel", "x"  # system calls have a lane below that of their thread
NAMES = {"A": "allocate", "F": "free", "C": "copy", "S": "fill", "K": "launch", "s": "stream", "e": "event",
         "m": "module", "c": "context", "i": "init", "d": "device", "q": "memory query", "w": "wait",
         SYSTEM_CALL: "system call", "o": "other"}  # fmt: skip
LANE = "GPU "  # what the name of a lane begins with that is no thread
FIRST_STEP = 1e-6  # seconds a column, doubled until everything fits


Lane = list[dict[str, float]]


class Timeline:
    """One pass: columns are joined two by two whenever the time gets too long for them."""

    def __init__(self, table: api.Table, width: int, notes: References | None = None) -> None:
        self.table, self.columns, self.notes = table, max(width - 12, 16), notes or References()
        self.step, self.start, self.is_begun = FIRST_STEP, 0.0, False
        self.lanes: dict[int, Lane] = {}
        self.kernel: dict[int, Lane] = {}

    def feed(self, events: Iterable[Event]) -> Timeline:
        for phase, call in events:
            self.begin(call)
            if phase != BEGIN and (call.parent is None or call.layer == KERNEL):
                self.add(call)
        return self

    def begin(self, call: Call) -> None:
        """The first to begin: a system call ends before the call that it is in."""
        self.start, self.is_begun = self.start if self.is_begun else call.start, True

    def add(self, call: Call) -> None:
        end = call.start if call.end is None else call.end
        while end - self.start >= self.step * self.columns:
            self.widen()
        lanes = self.kernel if call.layer == KERNEL else self.lanes
        lane = lanes.get(call.thread)
        if lane is None:
            lane = lanes[call.thread] = [{} for _ in range(self.columns)]
        letter = FAILED if call.went_wrong else self.letter(call)
        first, last = (max(int((t - self.start) / self.step), 0) for t in (call.start, end))
        for column in range(first, min(last, self.columns - 1) + 1):
            begins, ends = self.start + column * self.step, self.start + (column + 1) * self.step
            spent = max(min(end, ends) - max(call.start, begins), 1e-9)
            lane[column][letter] = lane[column].get(letter, 0) + spent

    def letter(self, call: Call) -> str:
        if call.layer == GPU:
            return ON_GPU.get(gpu_work.kind(call), OTHER)
        if call.layer == KERNEL:
            return SYSTEM_CALL
        function = self.table.function(call.name)
        return LETTERS.get(function.role, OTHER) if function is not None else OTHER

    def widen(self) -> None:
        self.step *= 2
        for lanes in (self.lanes, self.kernel):
            for thread, lane in lanes.items():
                pairs = zip(lane[::2], [*lane[1::2], {}])
                joined = [{key: a.get(key, 0) + b.get(key, 0) for key in {**a, **b}} for a, b in pairs]
                lanes[thread] = joined + [{} for _ in range(self.columns - len(joined))]

    def text(self, paint: Paint = plainly) -> str:
        named_lanes = [(thread, is_kernel, lane) for is_kernel, lanes in enumerate((self.lanes, self.kernel))
                       for thread, lane in lanes.items()]  # fmt: skip
        if not named_lanes:
            return "No calls."
        used = max(i for *_, lane in named_lanes for i, cell in enumerate(lane) if cell) + 1
        rows = [(f"T{thread}{' kernel' * is_kernel}", "".join(shown(cell, paint) for cell in lane[:used]))
                for thread, is_kernel, lane in sorted(named_lanes, key=lambda one: one[:2])]  # fmt: skip
        seen = {letter for *_, lane in named_lanes for cell in lane for letter in cell}
        legend = [f"{letter}={name}" for letter, name in NAMES.items() if letter in seen]
        legend += [f"{FAILED}=failed"] if FAILED in seen else []
        named = [f"T{thread} is {name}" for thread, name in self.names().items()]
        said = f"{duration(self.step)} a column; {', '.join(legend)}, {IDLE}=nothing"
        below = [said, ", ".join(named), gpu_work.clocks_apart(self.notes)]
        return render.rows_of_cells([*rows, *(("", one) for one in below if one)])

    def names(self) -> dict[int, str]:
        """Of lanes that are no threads."""
        known = {thread: visible(str(self.notes.threads.get(thread, {}).get("name") or "")) for thread in self.lanes}
        return {thread: name for thread, name in sorted(known.items()) if name.startswith(LANE)}


def shown(cell: dict[str, float], paint: Paint) -> str:
    """What took most of the time; a failure always shows."""
    if FAILED in cell:
        return paint(FAILED, "error")
    return max(cell, key=lambda letter: cell[letter]) if cell else IDLE
