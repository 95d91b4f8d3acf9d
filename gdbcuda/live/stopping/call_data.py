"""The call of a frame in full, decoded as at this moment: for people and as data."""

from __future__ import annotations

from typing import Any

import gdb

from gdbcuda import decode
from gdbcuda.errors import UserError
from gdbcuda.live import process
from gdbcuda.live.frames import frames
from gdbcuda.live.layers import table_version
from gdbcuda.live.pythons import thread_stacks
from gdbcuda.live.stopping.returning import returns


def of_selected_frame() -> frames.FrameCall | None:
    """The call that the selected frame is of, or that has just returned to it; None where it is no API function.
    UserError where nothing can be looked at."""
    if not process.is_alive():
        raise UserError("no process: run the program first, to a breakpoint: cuda-break cuMemAlloc")
    if process.is_thread_running():  # between two stops of the recorder's it could be read, and would be over already
        raise UserError(process.pause())
    frame = gdb.selected_frame()
    ended = returns.just_returned(frame.pc()) if frame == gdb.newest_frame() else None
    if ended is not None:
        return ended[0]
    return frames.read_call(frame) if frames.api_function(frame) is not None else None


def arguments_of(call: frames.FrameCall) -> list[decode.DecodedArgument]:
    phase = "enter" if call.result is None else "return"
    return decode.arguments(
        call.function,
        call.raws,
        process.InferiorMemory(),
        table_version.table(),
        phase=phase,
        succeeded=not returns.is_error(call),
        live=True,
    )


def outcome(call: frames.FrameCall) -> decode.Decoded:
    return decode.result(call.function, call.result or 0, table_version.table(), process.InferiorMemory())


def as_data(call: frames.FrameCall) -> dict[str, Any]:
    result = None
    if call.result is not None:
        result = outcome(call).data
    return {
        "function": call.function.symbol,
        "base": call.function.base,
        "api": call.function.api,
        "layer": call.place.layer,
        "object": call.place.file,
        "thread": call.thread,
        "caller": place_data(call.caller) if call.caller else None,
        "python": [one.as_data() for one in thread_stacks.calling()],
        "arguments": {a.name: a.data for a in arguments_of(call)},
        "result": result,
    }


def place_data(place: frames.CodePlace) -> dict[str, Any]:
    return {
        "function": place.function,
        "object": place.file,
        "layer": place.layer,
        "source": place.source,
        "address": place.address,
    }
