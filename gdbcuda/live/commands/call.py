"""``cuda-call``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gdb

from gdbcuda.command_line.options import Options, flag
from gdbcuda.errors import UserError
from gdbcuda.live import process
from gdbcuda.live.dlsym import request_stops
from gdbcuda.live.frames import frames, source_lines
from gdbcuda.live.process.objects import core_files
from gdbcuda.live.prompt.command import command
from gdbcuda.live.stopping import call_data, stops
from gdbcuda.live.stopping.returning import returns
from gdbcuda.routes.reports import request_report
from gdbcuda.text import render
from gdbcuda.text.json_text import json_text
from gdbcuda.text.printable import visible

if TYPE_CHECKING:
    from gdbcuda.routes.requests import Request

MOST_FRAMES = 100


class CallOptions(Options):
    json: bool = flag("as one JSON object")


@command("cuda-call", CallOptions, purpose="look")
def cuda_call(wanted: CallOptions) -> str:
    """Show the API call of the selected frame: its arguments decoded, its result.

    It works in any frame of the backtrace that is an API function: use up, or frame 2. At the entry the
    arguments are read from the registers. Later they come from the debug info, or are those that were seen at
    the entry. What is not known is shown as unknown. In dlsym or dlopen the request is shown.

    After a return (finish, cuda-break --on return) the result and the values behind out-pointers are shown.

    Examples:
      cuda-call
      frame 2
      cuda-call --json"""
    call = call_data.of_selected_frame()
    request = request_stops.whole_request(gdb.selected_frame()) if call is None else None
    if request is not None:
        return json_text(request.as_json()) if wanted.json else request_in_full(request)
    if call is None:
        raise UserError(no_call(gdb.selected_frame()))
    return json_text(call_data.as_data(call)) if wanted.json else in_full(call)


def request_in_full(request: Request) -> str:
    """At dlsym, dlopen and their kin."""
    place = frames.place_of(gdb.selected_frame())
    asked = f"{request.resolver} in {stops.where(place)}, asked for {request_report.asked_for(request, stops.paint)}"
    return f"{asked}\n  by {request_report.asker(request, stops.paint)}"


def no_call(frame: gdb.Frame) -> str:
    """What to type instead: a crash is seldom in the API function itself, but in something that it has called."""
    place = frames.place_of(frame)
    name = place.function or f"{place.address:#x}"
    lacking = next((one.lacking for one in process.images() if one.lacking and one.holds(place.address)), "")
    if lacking:
        return f"{name}: {lacking}; {core_files.WHERE}"
    stack = list(frames.innermost(MOST_FRAMES))
    outer = stack[stack.index(frame) + 1 :] if frame in stack else []
    caller = next((one for one in outer if frames.api_function(one) is not None), None)
    there = f"; {caller.name()} is frame {stack.index(caller)} (frame {stack.index(caller)})" if caller else ""
    return f"{name} is not an API function of the CUDA runtime, driver or NVML{there}"


def in_full(call: frames.FrameCall) -> str:
    lines = [", ".join([f"{call.function.symbol} in {stops.where(call.place)}", *stops.caller_lines(call)])]
    lines += source_line(call.caller) if call.caller is not None else []
    rows = [(a.name, stops.code(a.type_name), stops.code(visible(a.text))) for a in call_data.arguments_of(call)]
    lines += [f"  {line}" for line in render.rows_of_cells(rows).split("\n") if rows]
    if call.result is not None:
        role = "error" if returns.is_error(call) else "ok"
        lines.append(f"  = {stops.paint(call_data.outcome(call).text, role)}")
    return "\n".join(lines)


def source_line(caller: frames.CodePlace) -> list[str]:
    """What the caller's line says, where its file is here: "  25: status = cuMemAlloc(&buffer->address, size);"."""
    text = source_lines.text_of(caller)
    return [f"  {caller.source.rpartition(':')[2]}: {stops.code(visible(text))}"] if text else []
