"""Stops on requests: who asks a resolver for which name, at a breakpoint on it and in the line that the stop shows."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import gdb

from gdbcuda import api
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.live import layers, process
from gdbcuda.live.dlsym import request_values
from gdbcuda.live.frames import frames
from gdbcuda.live.host import console
from gdbcuda.live.layers import table_version
from gdbcuda.live.layers.code import answering_code
from gdbcuda.live.prompt import settings
from gdbcuda.live.stopping import stops
from gdbcuda.routes.reports import request_report
from gdbcuda.routes.shapes import LOADERS, OPENERS, ResolverShape

if TYPE_CHECKING:
    from gdbcuda.routes.requests import Request


def request_here(frame: gdb.Frame) -> Request | None:
    """The request that the frame is about to answer; None if it is in no resolver."""
    frame = frames.call_frame(frame)
    shape, older = shape_at(frame.pc(), frame.name() or ""), frames.older_frame(frame)
    if shape is None or older is None:
        return None
    symbols = [] if frames.registers_hold(frame) else frames.debug_parameters(frame)
    named = [frames.value_bytes(symbol, frame) for symbol in symbols]
    if len(named) >= shape.arity and all(raw is not None for raw in named):
        values = tuple(int.from_bytes(raw or b"", "little") for raw in named)
    else:  # at the first instruction debug info names places that nothing was stored in yet
        values = tuple(map(process.register, request_values.argument_registers(shape)))
    return request_values.read_request(shape, values, request_values.asker_at(older.pc()))


def whole_request(frame: gdb.Frame) -> Request | None:
    """And whose implementation is asked, by which thread."""
    request = request_here(frame)
    if request is not None:
        place, inferior = frames.place_of(frames.call_frame(frame)), gdb.selected_inferior()
        request.owner, request.owner_layer = place.file, place.layer
        request.thread, request.inferior, request.process = gdb.selected_thread().num, inferior.num, inferior.pid
    return request


def shape_at(pc: int, name: str) -> ResolverShape | None:
    """libc's debug info calls its dlsym ___dlsym: what counts is any name under which its object exports it. A hook's
    code may answer for cuGetProcAddress_v2 under another name, or none."""
    known = request_values.resolver_shapes()
    if name in known or table_version.table().function(name):
        return known.get(name)
    answers_for = answering_code.function_at(pc)
    if answers_for:
        return known.get(answers_for)
    start, owner = process.function_start(pc), process.object_of(pc)
    if start is None:
        return None
    return next((shape for symbol, shape in known.items() if process.exports(owner, symbol, start)), None)


def means(pattern: str, name: str) -> bool:
    """A symbol or glob means itself; a base name all its suffixes too."""
    return fnmatchcase(name, pattern) or api.base_name(name) == pattern


def is_asked_for(pattern: str) -> bool:
    """By whoever is at the entry of a resolver, in the selected frame."""
    request = request_here(gdb.selected_frame())
    return request is not None and means(pattern, request.name)


def on_stop(event: gdb.StopEvent) -> None:
    """The line for dlsym, dlopen and their kin; the API's own resolvers are shown as the API calls that they are."""
    if not isinstance(event, gdb.BreakpointEvent) or not settings.value("cuda-stop-info"):
        return
    try:
        number = stops.number_of(event)
        if stops.is_silent(number) or not layers.is_cuda_here() or not frames.is_entry(process.register("pc")):
            return
        frame = frames.call_frame(gdb.newest_frame())
        request = request_here(frame)
        if request is not None and request.resolver in {shape.symbol for shape in (*LOADERS, *OPENERS)}:
            console.write(stop_text(number, frames.place_of(frame), request))
    except (UserError, Unreadable, gdb.error):
        return


def stop_text(number: int, place: frames.CodePlace, request: Request) -> str:
    head = f"Breakpoint {number}  "
    wanted = request_report.asked_for(request, stops.paint)
    caller = request_report.asker(request, stops.paint)
    return f"{head}{stops.where(place)}  {request.resolver} asked for {wanted}\n{' ' * len(head)}by {caller}\n"
