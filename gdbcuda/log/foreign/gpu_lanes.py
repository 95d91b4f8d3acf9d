"""What a trace's GPU did, in lanes in which one thing comes after the other, under names that a line has room for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from gdbcuda.calls.record import Call
from gdbcuda.gpu.gpu_calls import BESIDE, GPU, LONGEST_NAME, free_lane
from gdbcuda.text import cplusplus

Lane = tuple[int, int]  # process, thread or stream (negative)
shortened = lru_cache(maxsize=4096)(cplusplus.shortened)


def readable(call: Call, arguments: dict[str, Any]) -> dict[str, Any]:
    """The whole name of a kernel is an argument where it is long, as in our own log."""
    whole = call.name
    if len(whole) <= LONGEST_NAME or "grid" not in arguments:
        return arguments
    call.name = shortened(whole, LONGEST_NAME)
    return {**arguments, "kernel": whole}


def side_by_side(calls: Iterable[Call], lanes: dict[Lane, int], names: dict[Lane, str]) -> None:
    """What runs while another runs in the same stream (nodes of a graph do) is not in it: it gets a lane beside it."""
    ends: dict[int, list[float]] = {}
    beside: dict[tuple[int, int], Lane] = {}
    origins: Mapping[int, Lane] = {number: lane for lane, number in lanes.items()}
    free = min((number for _, number in lanes), default=0) - 1
    for call in sorted((one for one in calls if one.layer == GPU), key=lambda one: one.start):
        of_thread = ends.setdefault(call.thread, [])
        at = free_lane(of_thread, call.start, call.last_seen)
        if at:
            pid, stream = origins[call.thread]
            if (call.thread, at) not in beside:
                lane = beside[call.thread, at] = pid, free - len(beside)
                names[lane] = f"{names.get((pid, stream), '')}{BESIDE}{at + 1})"
                lanes[lane] = len(lanes) + 1
            call.thread, call.lwp = lanes[beside[call.thread, at]], 0
