"""A recorded call as data for scripts (--json): one object a line."""

from __future__ import annotations

import json
from typing import Any

from gdbcuda.calls.record import DIGITS, Call
from gdbcuda.calls.references import Details
from gdbcuda.calls.text import CallWriter

Data = dict[str, Any]
FIELDS = ("number", "name", "base", "start", "seconds", "thread", "lwp", "inferior", "pid", "depth", "parent", "layer",
          "object", "arguments", "out", "status", "result", "ended")  # fmt: skip


def line(data: Data, file: str = "") -> str:
    """JSON Lines; of several logs with the name of the file."""
    return json.dumps({"file": file, **data} if file else data, separators=(",", ":"))


def call(one: Call, writer: CallWriter) -> Data:
    found = {name: getattr(one, name) for name in FIELDS}
    found["start"] = round(one.start, DIGITS)
    found["seconds"] = None if one.seconds is None else round(one.seconds, DIGITS)
    found["caller"] = place(one, one.caller, writer)
    if one.python:
        found["python"] = place(one, one.python, writer)
    if one.captured:
        found["captured"] = one.captured
    stack = [shown(at, known) for at in one.stack for known in writer.notes.frames(one.process, at)]
    return {**found, "stack": stack} if stack else found


def place(one: Call, address: int, writer: CallWriter) -> Data:
    return shown(address, writer.notes.place(one.process, address))


def shown(address: int, known: Details) -> Data:
    """``text``: of the source line, where the recorder has read it. A line of Python has no address."""
    if known.get("script"):
        return {name: known.get(name) for name in ("function", "object", "line", "layer", "source")}
    found = {"address": hex(address)} | {name: known.get(name) for name in ("function", "object", "layer", "source")}
    return found | {name: known[name] for name in ("text", "offset") if known.get(name)}
