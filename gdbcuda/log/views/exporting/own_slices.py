"""What our own export keeps of a call in the arguments of its slice: `trace_events.slice_of` the other way round."""

from __future__ import annotations

import re
from typing import Any

from gdbcuda.api import Function, Table
from gdbcuda.calls import rank_names, record
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import References

BEFORE = "before"  # what was passed where an out-value stands, if that does not tell
ONLY_OUT = "only_out"  # names of out-values of which it is not known where they were written
ENDINGS = (record.UNWOUND, record.THREAD_GONE, record.PROCESS_GONE, record.STILL_OPEN, record.RETURN_LOST)
VALUE = {"address", "value"}  # of what a pointer led to
GPUS, APART = "gpus", "clocks_apart"  # behind the slices: as a log notes them


def arguments(call: Call) -> dict[str, Any]:
    """With what came out in the place of what went in."""
    given = call.arguments
    lost = {name: given[name] for name, out in call.out.items() if name in given and not tells(out, given[name])}
    alone = [name for name in call.out if name not in given]
    return {**given, **call.out, **({BEFORE: lost} if lost else {}), **({ONLY_OUT: alone} if alone else {})}


def tells(out: Any, given: Any) -> bool:
    return isinstance(out, dict) and set(out) == VALUE and out["address"] == given


def restore(call: Call, result: Any, table: Table) -> None:
    """``call.arguments`` are those of its slice."""
    if result in ENDINGS:
        call.ended = str(result)
        call.end = None if call.ended == record.STILL_OPEN else call.end
    elif call.result is None and type(result) in (int, str):
        call.result = result
    before = call.arguments.pop(BEFORE, None)
    lost = before if isinstance(before, dict) else {}
    alone = call.arguments.pop(ONLY_OUT, None)
    for name in alone if isinstance(alone, list) else ():
        if isinstance(name, str) and name in call.arguments:
            call.out[name] = call.arguments.pop(name)
    written = {*lost} if call.status else written_by(table.function(call.name))
    for name, value in list(call.arguments.items()):
        if name in lost:
            call.out[name], call.arguments[name] = value, lost[name]
        elif name in written and isinstance(value, dict) and set(value) == VALUE:
            call.out[name], call.arguments[name] = value, value["address"]


def written_by(function: Function | None) -> set[str]:
    return {one.name for one in function.parameters if one.direction != "in"} if function is not None else set()


def program(name: str) -> dict[str, str]:
    """Of a process that is called so: "train.py, rank 3"."""
    found = re.fullmatch(rf"(.+), ((?:local )?rank \d{{1,{rank_names.LONGEST}}})", name)
    return {"program": found[1], "rank": found[2]} if found else {"program": name}


def thread(name: str, number: int) -> str:
    """ "GPU 0 stream 7" of "T3 GPU 0 stream 7"."""
    own = f"T{number}"
    return name[len(own) :].lstrip() if name == own or name.startswith(f"{own} ") else name


def number(event: Any) -> int:
    """Of its call: slices of one moment are in each other in this order. 0 for what is no slice of ours."""
    given = event.get("args") if isinstance(event, dict) else None
    found = given.get("number") if isinstance(given, dict) else None
    return found if type(found) is int else 0


def of_clocks(notes: References) -> dict[str, Any]:
    """What no slice has: the names of GPUs, and how far times of theirs and of system calls are apart."""
    gpus = [{"pid": pid, "uncertainty": one["uncertainty"], "devices": one["devices"]}
            for (_, pid), one in notes.gpus.items()]  # fmt: skip
    return {**({GPUS: gpus} if gpus else {}), **({APART: notes.clocks_apart} if notes.clocks_apart else {})}


def notes_of_clocks(found: Any) -> list[tuple[str, dict[str, Any]]]:
    """The same the other way round, as far as it makes sense."""
    given = found if isinstance(found, dict) else {}
    gpus = given.get(GPUS)
    notes = [("gpu", {**one, "inferior": 0}) for one in gpus if isinstance(one, dict)] if isinstance(gpus, list) else []
    return [one for one in [*notes, ("clocks", {"apart": given.get(APART), "inferior": 0, "pid": 0})] if is_note(*one)]


def is_note(kind: str, details: dict[str, Any]) -> bool:
    names = details.get("devices", {})
    try:
        References().add(kind, details)
    except (KeyError, TypeError, ValueError):
        return False
    return type(details.get("pid")) is int and all(isinstance(name, str) for name in names.values())
