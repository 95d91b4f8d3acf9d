"""The Trace Event Format: Chrome's and Perfetto's, our own export, and what PyTorch's profiler writes.

Slices are taken ("X", and pairs of "B" and "E" of a thread). PyTorch's categories say what a slice is: a call of the
runtime or the driver, work on the GPU, or an operator or line of the program around them.
"""

from __future__ import annotations

import math
from itertools import chain
from typing import Any

from gdbcuda.gpu.gpu_calls import GPU
from gdbcuda.log.foreign.json_stream import EVENTS, JsonStream
from gdbcuda.log.foreign.timed_calls import LONGEST_NAME, OURS, TimedCalls
from gdbcuda.log.views.exporting import own_slices

NANOSECONDS = 1e9
OpenSlices = dict[str, list[dict[str, Any]]]  # that have begun, by thread
VERSION = "schemaVersion"  # PyTorch's profiler alone writes it
OTHER = "otherData"  # our own export's is about clocks and GPUs
HEADS = ("distributedInfo", "baseTimeNanoseconds", OTHER)
LAYERS = {"cuda_runtime": "runtime", "cuda_driver": "driver", "kernel": GPU, "gpu_memcpy": GPU, "gpu_memset": GPU,
          "cpu_op": "app", "python_function": "app", "user_annotation": "app"}  # fmt: skip
ANNOTATION = "gpu_user_annotation"  # around work of a stream, which it may be longer or shorter than
NOT_ARGUMENTS = ("result", "number", "caller")  # of our own export
LONGEST_RANK = 10**9
IGNORED = frozenset("MsftiICnbeSTpFPNODRc(v)")  # phases that are no slices


def read(stream: JsonStream, calls: TimedCalls, is_pytorchs: bool = False) -> bool:
    """False where it is PyTorch's, which the members behind the events alone have told: read it again as that."""
    heads: dict[str, Any] = {VERSION: None} if is_pytorchs else {}
    open_slices: OpenSlices = {}
    is_ours, has_events = False, False
    for key, one in stream.members():
        if key == EVENTS:
            has_events, is_ours = True, stream.is_object and VERSION not in heads
            add_event(one, open_slices, calls, is_ours)
        elif key == VERSION and has_events and is_ours:
            return False
        else:
            heads[key] = one if key in HEADS else None
    for one in chain.from_iterable(open_slices.values()):
        add(one, None, calls, is_ours)
    note_heads(heads, calls, is_ours)
    return True


def add_event(one: Any, open_slices: OpenSlices, calls: TimedCalls, is_ours: bool) -> None:
    if not isinstance(one, dict):
        calls.problems["an event that is no object"] += 1
        return
    phase = one.get("ph")
    if phase == "X":
        add(one, one.get("dur", 0), calls, is_ours)
    elif phase in ("B", "E"):
        thread = str((one.get("pid"), one.get("tid")))
        pair(one, open_slices.setdefault(thread, []), calls, is_ours)
    elif phase == "M" and one.get("name") == "process_name":
        name_process(one, calls)
    elif phase == "M" and one.get("name") == "thread_name":
        name_thread(one, calls)
    elif not (isinstance(phase, str) and phase in IGNORED):
        calls.problems["an event of an unknown kind"] += 1


def note_heads(heads: dict[str, Any], calls: TimedCalls, is_ours: bool) -> None:
    """What holds for the whole file."""
    rank = rank_of(heads)
    for program in calls.programs.values() if rank else ():
        program["rank"] = rank
    if is_ours:
        calls.notes += own_slices.notes_of_clocks(heads.get(OTHER))
    calls.begin(heads.get("baseTimeNanoseconds"))


def rank_of(document: dict[str, Any]) -> str:
    """Of PyTorch's profiler, which writes a file for each process of a job."""
    known = document.get("distributedInfo")
    rank = known.get("rank") if isinstance(known, dict) else None
    return f"rank {rank}" if type(rank) is int and 0 <= rank < LONGEST_RANK else ""


def name_process(one: dict[str, Any], calls: TimedCalls) -> None:
    given = one.get("args")
    name = given.get("name") if isinstance(given, dict) else None
    if isinstance(name, str) and name:
        calls.programs[number(one.get("pid"), calls)] = own_slices.program(name[:LONGEST_NAME])


def name_thread(one: dict[str, Any], calls: TimedCalls) -> None:
    """What a slice tells of its lane is worth more."""
    given = one.get("args")
    name = given.get("name") if isinstance(given, dict) else None
    if isinstance(name, str):
        lane = number(one.get("pid"), calls), number(one.get("tid"), calls)
        calls.lane_names.setdefault(lane, own_slices.thread(name[:LONGEST_NAME], lane[1]))


def pair(one: dict[str, Any], stack: list[dict[str, Any]], calls: TimedCalls, is_ours: bool) -> None:
    if one["ph"] == "B":
        stack.append(one)
    elif not stack:
        calls.problems["an end without its begin"] += 1
    else:
        begin = stack.pop()
        end, start = one.get("ts"), begin.get("ts")
        is_known = isinstance(end, (int, float)) and isinstance(start, (int, float))
        took = end - start if is_known else "?"  # type: ignore[operator]
        add(begin, took, calls, is_ours)


def add(one: dict[str, Any], took: Any, calls: TimedCalls, is_ours: bool) -> None:
    start = one.get("ts")
    if not isinstance(start, (int, float)) or not (took is None or isinstance(took, (int, float))):
        calls.problems["an event with something missing"] += 1
        return
    arguments = one.get("args")
    given = dict(arguments) if isinstance(arguments, dict) else {}
    layer = layer_of(one, is_ours)
    begin = nanoseconds(start)
    end = None if took is None else (begin + nanoseconds(took)) / NANOSECONDS
    pid, tid = lane(one, calls)
    if one.get("cat") == ANNOTATION:
        calls.lane_names[pid, tid] = f"GPU {pid}, annotations"
    if layer == GPU and "device" in given and type(given.get("stream")) is int:
        calls.lane_names[pid, tid] = f"GPU {given['device']} stream {given['stream']}"
    result = given.pop("result", None)
    caller = given.get("caller") if is_ours else None
    for name in NOT_ARGUMENTS if is_ours else ():
        given.pop(name, None)
    status = calls.table.constant(result) if isinstance(result, str) else None
    call = calls.add(one.get("name"), begin / NANOSECONDS, end, (pid, tid), layer=layer, details=given, status=status,
                     order=own_slices.number(one) if is_ours else None)  # fmt: skip
    if call is not None:
        call.caller = calls.place(caller)
        if is_ours:
            own_slices.restore(call, result, calls.table)
        calls.link(given.get("correlation"), call, process=0)  # what the GPU does has the device for a process


def layer_of(one: dict[str, Any], is_ours: bool) -> str:
    category = one.get("cat")
    if is_ours and category in OURS:
        return str(category)
    return LAYERS.get(category, "") if isinstance(category, str) else ""


def nanoseconds(time: float) -> float:
    """Whole ones: of two slices that end together neither ends later by a rounding."""
    return round(time * 1e3) if math.isfinite(time) else time


def lane(one: dict[str, Any], calls: TimedCalls) -> tuple[int, int]:
    """PyTorch names some processes and threads by words, and has its annotations in the lanes of streams."""
    tid = one.get("tid")
    return number(one.get("pid"), calls), number(f"{ANNOTATION} {tid}" if one.get("cat") == ANNOTATION else tid, calls)


def number(found: Any, calls: TimedCalls) -> int:
    if type(found) is int:
        return found
    if isinstance(found, str) and found.isascii() and found.isdigit() and len(found) < 19:
        return int(found)
    known = calls.lane_words
    return known.setdefault(str(found), 1 + len(known))
