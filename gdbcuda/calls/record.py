"""One recorded call, and the lines that it becomes in a file.

A file is JSON Lines: one event a line, in the order of time. The header comes first, then

    {"ts":0.5,"op_id":7,"phase":"B","name":"cuMemAlloc_v2","details":{"dptr":…,"bytesize":4096},"thread":2,…}
    {"ts":0.6,"op_id":7,"phase":"E","name":"cuMemAlloc_v2","details":{"status":0,"result":"CUDA_SUCCESS","out":{…}}}
    {"ts":0.5,"phase":"M","name":"place","details":{"address":…,"function":"main","source":"a.c:30",…}}

``ts`` is seconds since the recording began, ``op_id`` joins a begin with its end. ``details`` of a begin are the
arguments as `gdbcuda.decode` gives their data; ``addresses`` says where those were that are strings; ``python`` is the
place of the user's own line of Python that asked. M lines describe
what other lines name by a number: a code address ("place"), a thread, a process, a loaded object; they come before
their first use and hold until the next of the same.
"unseen" names what the log cannot tell about a process: functions that were not recorded, and what was "before";
"seen_by" is what to type to record them. "unheard" names what a hook library may call behind it without a line in the
log ("" is all), and "why"; "heard" takes one back. "recorded" has the "names" of the functions that are recorded,
where those are not all, and whether of their calls "some" alone are. "redirected": calls of the function "name" come to
a hook's code by its overwritten entry, or by a rewritten slot of the file "asker".
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from gdbcuda import api
from gdbcuda.calls.references import Process

FORMAT = 1
DIGITS = 9  # of seconds
UNWOUND, THREAD_GONE, PROCESS_GONE, STILL_OPEN = "unwound", "thread ended", "process ended", "not over"
RETURN_LOST = "return not recorded"  # nobody knows what became of it, nor what it called


class Call:
    """One execution of an API function. ``ended`` says why there is no result: "" for a call that returned.
    ``captured``: the stream by whose capture it went into a graph, as `captures` has found it; "" for others."""

    __slots__ = ("addresses", "arguments", "caller", "captured", "depth", "end", "ended", "inferior", "layer", "lwp",
                 "name", "number", "object", "out", "parent", "pid", "python", "result", "stack", "start", "status",
                 "thread")  # fmt: skip

    def __init__(self, number: int, name: str, start: float, thread: int = 0) -> None:
        self.number, self.name, self.start, self.thread = number, name, start, thread
        self.lwp = self.inferior = self.pid = self.depth = self.caller = self.python = 0
        self.parent: int | None = None
        self.layer = self.object = self.captured = ""
        self.stack: list[int] = []
        self.end: float | None = None
        self.status: int | None = None
        self.result: Any = None
        self.ended = STILL_OPEN
        self.without_values()

    def without_values(self) -> None:
        self.arguments: dict[str, Any] = {}
        self.addresses: dict[str, int] = {}  # of strings, which ``arguments`` has as their texts
        self.out: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"<Call {self.number} {self.name}>"

    @property
    def base(self) -> str:
        return api.base_name(self.name)

    @property
    def site(self) -> int:
        """The place that asked: the line of the user's Python where there is one, else the caller. What a call calls is
        asked for by that one."""
        return self.python if self.python and self.parent is None else self.caller

    @property
    def process(self) -> Process:
        return self.inferior, self.pid

    @property
    def seconds(self) -> float | None:
        return None if self.end is None or self.ended else self.end - self.start

    @property
    def last_seen(self) -> float:
        """Its end; the start of a call that has none."""
        return self.start if self.end is None else self.end

    @property
    def failed(self) -> bool:
        """It returned a status, and that was not success: of all three APIs success is 0."""
        return not self.ended and bool(self.status)

    @property
    def went_wrong(self) -> bool:
        """It failed, or is known not to have returned."""
        return bool(self.status) if not self.ended else self.ended != RETURN_LOST


def header(cuda: str, nvml: str, program: str, version: str, objects: Sequence[Any] = ()) -> dict[str, Any]:
    """The first line. ``started`` is the wall clock of ts 0, ``objects`` the files known then, with their build-ids."""
    return {"gdbcuda_log": FORMAT, "phase": "H", "version": version, "clock": "monotonic, of the debugger",
            "started": time.time(), "program": program, "cuda": cuda, "nvml": nvml,
            "objects": list(objects)}  # fmt: skip


def begin(call: Call) -> dict[str, Any]:
    line: dict[str, Any] = {"ts": round(call.start, DIGITS), "op_id": call.number, "phase": "B", "name": call.name,
                            "details": call.arguments, "thread": call.thread, "lwp": call.lwp,
                            "inferior": call.inferior, "pid": call.pid, "depth": call.depth,
                            "parent": call.parent, "layer": call.layer, "object": call.object,
                            "caller": call.caller}  # fmt: skip
    if call.python:
        line["python"] = call.python
    if call.stack:
        line["stack"] = call.stack
    if call.addresses:
        line["addresses"] = call.addresses
    return line


def end(call: Call) -> dict[str, Any]:
    details: dict[str, Any] = {"ended": call.ended} if call.ended else {"status": call.status, "result": call.result}
    if call.out:
        details["out"] = call.out
    ts = call.start if call.end is None else call.end
    return {"ts": round(ts, DIGITS), "op_id": call.number, "phase": "E", "name": call.name, "details": details}


def note(ts: float, kind: str, details: dict[str, Any]) -> dict[str, Any]:
    return {"ts": round(ts, DIGITS), "phase": "M", "name": kind, "details": details}


def from_begin(line: dict[str, Any]) -> Call:
    """From a B line; what another program's log does not have stays empty. KeyError or TypeError for nonsense."""
    call, get = Call.__new__(Call), line.get  # every field once: this runs a million times
    number, name, start, details = line["op_id"], line["name"], line["ts"], get("details") or {}
    call.number, call.name, call.start, call.arguments = number, name, start, details
    call.thread, call.lwp = thread, lwp = get("thread", 0), get("lwp", 0)
    call.inferior, call.pid = inferior, pid = get("inferior", 0), get("pid", 0)
    call.depth, call.parent, call.caller = depth, parent, caller = get("depth", 0), get("parent"), get("caller", 0)
    call.layer, call.object = layer, file = get("layer", ""), get("object", "")
    call.stack = stack = get("stack") or []
    call.addresses, call.python = get("addresses") or {}, get("python", 0)
    call.end = call.status = call.result = None
    call.out, call.ended, call.captured = {}, STILL_OPEN, ""
    kinds = (type(number), type(name), type(start), type(details), type(thread), type(lwp), type(inferior), type(pid),
             type(depth), type(parent), type(caller), type(layer), type(file), type(stack),
             type(call.python))  # fmt: skip
    if kinds not in SOUND:
        require(kinds, BEGIN)
    if not -LATEST < start < LATEST:
        raise ValueError(start)
    if call.addresses:
        require((type(call.addresses), *map(type, call.addresses.values())), ((dict,), *[INT] * len(call.addresses)))
    return call


def finish(call: Call, line: dict[str, Any]) -> None:
    """Adds what an E line says; as it was, where that is nonsense."""
    details, end = line.get("details") or {}, line["ts"]
    status, out, ended = details.get("status"), details.get("out") or {}, details.get("ended") or ""
    kinds = type(end), type(status), type(out), type(ended)
    if kinds not in SOUND:
        require(kinds, END)
    if not -LATEST < end < LATEST:
        raise ValueError(end)
    call.end, call.status, call.result = end, status, details.get("result", status)
    call.out, call.ended = out, ended


LATEST = 1e12  # seconds; also keeps infinity out
INT, TEXT, TIME, NONE = (int,), (str,), (int, float), type(None)
BEGIN = (INT, TEXT, TIME, (dict,), *[INT] * 5, (int, NONE), INT, TEXT, TEXT, (list,), INT)
END = (TIME, (int, NONE), (dict,), TEXT)
SOUND: set[tuple[type, ...]] = set()  # what has been seen of a million lines: all have the same few


def require(kinds: tuple[type, ...], wanted: Sequence[tuple[type, ...]]) -> None:
    """TypeError where a field is of another type than it should be."""
    for one, allowed in zip(kinds, wanted):
        if one not in allowed:
            raise TypeError(one)
    SOUND.add(kinds)
