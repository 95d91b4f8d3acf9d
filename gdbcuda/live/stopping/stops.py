"""What a stop says: which call, in which layer and object, who called it, decoded arguments or the result."""

from __future__ import annotations

from collections.abc import Iterable

import gdb

from gdbcuda import decode
from gdbcuda.cpython import own_code
from gdbcuda.errors import UserError
from gdbcuda.live import layers, process
from gdbcuda.live.breakpoints import ours
from gdbcuda.live.frames import frames
from gdbcuda.live.host import console, inferiors
from gdbcuda.live.layers import table_version, this_snapshot
from gdbcuda.live.layers.code import answering_code
from gdbcuda.live.process import ranks
from gdbcuda.live.prompt import settings
from gdbcuda.live.pythons import thread_stacks
from gdbcuda.live.stopping import signals
from gdbcuda.live.stopping.returning import returns, shown_calls
from gdbcuda.live.threads import call_registers
from gdbcuda.text import cplusplus
from gdbcuda.text.highlight import C, highlighted_line
from gdbcuda.text.printable import visible
from gdbcuda.text.render import colour

LONGEST = 300  # characters of one argument in the line at a stop; no string gets there


def paint(text: str, role: str) -> str:
    return colour(text, role, settings.colour())


def code(text: str) -> str:
    """A line of C, visible already."""
    return highlighted_line(text, C, settings.colour())


def call_text(call: frames.FrameCall) -> str:
    """ "cuMemAlloc_v2(dptr=0x7ffe -> (not written yet), bytesize=4096 [4.00 KiB])", and the result, if any."""
    table, memory = table_version.table(), process.InferiorMemory()
    if call.result is None:
        arguments = decode.arguments(call.function, call.raws, memory, table, phase="enter", live=True)
        return code(visible(decode.call_text(call.function, shortened(arguments))))
    succeeded = not returns.is_error(call)
    arguments = decode.arguments(
        call.function, call.raws, memory, table, phase="return", succeeded=succeeded, live=True
    )
    outcome = decode.result(call.function, call.result, table, memory).text
    shown = code(visible(decode.call_text(call.function, shortened(arguments))))
    is_void = call.function.result.kind == "void"
    return f"{shown} returned" if is_void else f"{shown} = {paint(outcome, 'ok' if succeeded else 'error')}"


def shortened(arguments: list[decode.DecodedArgument]) -> list[decode.DecodedArgument]:
    """A struct like cudaDeviceProp has 3,000 characters: at a stop its beginning, all of it with cuda-call."""
    return [
        a._replace(text=f"{a.text[:LONGEST]}\u2026 (cuda-call shows all)") if len(a.text) > LONGEST + 100 else a
        for a in arguments
    ]


def where(place: frames.CodePlace) -> str:
    """ "hook libvgpu.so"."""
    from gdbcuda.live import layers

    return paint(layers.shown(place.layer, place.file), f"layer-{place.layer}" if place.layer else "dim")


def caller_text(call: frames.FrameCall) -> str:
    caller = call.caller
    if caller is None:
        return f"caller unknown, {thread_text(call)}"
    return f"{place_text(caller)}, {thread_text(call)}"


def place_text(place: frames.CodePlace) -> str:
    """ "app load() at train.c:15", "hook libvgpu.so add_chunk()", "hook libvgpu.so+0x13330"."""
    if not place.function:
        known = offset(place)
        return f"{where(place)}{known}" if known.startswith("+") else f"{where(place)} {known}"
    name = visible(cplusplus.shortened(cplusplus.called(place.function)))
    at = visible(f" at {place.source}") if place.source else ""
    is_program = place.layer == "app" and place.file == process.strip_prefix(process.program())
    owner = paint("app", "layer-app") if is_program else where(place)
    return f"{owner} {name}{at}"


def thread_text(call: frames.FrameCall) -> str:
    """ "thread 1"; of one of several processes "rank 3, thread 4.1"."""
    return ", ".join(filter(None, (ranks.here(), f"thread {inferiors.thread_label(call.thread)}")))


def describe(call: frames.FrameCall, label: str) -> str:
    """Two lines: the call, and below it the caller. Three where that one runs under Python."""
    head = f"{label}  " if label else ""
    below = "".join(f"{' ' * len(head)}{line}\n" for line in caller_lines(call))
    return f"{head}{where(call.place)}{answers(call)}  {call_text(call)}\n{below}"


def caller_lines(call: frames.FrameCall) -> list[str]:
    """ "called by train.py:41 in step()", "through app libtorch_cuda.so …, thread 1"; without Python in one line."""
    verb = "returned to" if call.result is not None else "called by"
    script = own_code.callers_text(thread_stacks.calling())
    return [f"{verb} {visible(script)}", f"through {caller_text(call)}"] if script else [f"{verb} {caller_text(call)}"]


def answers(call: frames.FrameCall) -> str:
    """ " hooked_cuMemAlloc for", where code of another name answers for the function."""
    if call.result is not None or not answering_code.function_at(call.place.address):
        return ""
    return visible(f" {cplusplus.without_arguments(call.place.function) or offset(call.place)} for")


def offset(place: frames.CodePlace) -> str:
    """ "+0x13330", for code without a name."""
    base = this_snapshot.base_of(place.address)
    return f"+{place.address - base:#x}" if base else f"{place.address:#x}"


_last: tuple[object, int] = (None, 0)  # a stop and the breakpoint that made it


def new_process() -> None:
    """``run`` has set gdb's counts to zero, ``attach`` has not."""
    note_hits(gdb.breakpoints())


def note_hits(breakpoints: Iterable[gdb.Breakpoint]) -> None:
    for one in breakpoints:
        if one.number > 0:
            ours.of(one.number).hits = ours.of(one.number).counted = one.hit_count


def on_modified(breakpoint: gdb.Breakpoint) -> None:
    """Where a signal comes as gdb steps a thread off a breakpoint, it counts one hit more, and does not stop."""
    known = ours.find(breakpoint.number)
    if known is not None and breakpoint.hit_count != known.counted:
        known.counted = breakpoint.hit_count
        known.hit_at = moment()


def moment() -> tuple[int, ...]:
    """The same for all the breakpoints that one instruction hits; in another call something is different."""
    if gdb.selected_thread() is None:  # `run`, again: the counts begin at 0
        return ()
    try:
        machine = call_registers.here()
        return call_registers.thread_number(), process.register(machine.stack_pointer), *machine.moment()
    except (UserError, gdb.error, KeyError):  # a machine without hook libraries
        return ()


def on_stop(event: gdb.StopEvent) -> None:
    if isinstance(event, gdb.BreakpointEvent):
        number_of(event)  # at every such stop, for it counts
    if not settings.value("cuda-stop-info"):
        return
    text = signals.stop_text(event) if isinstance(event, gdb.SignalEvent) else stop_text(event)
    if text:
        console.write(text)


def stop_text(event: gdb.StopEvent) -> str | None:
    try:
        pc = process.register("pc")
        ended = returns.just_returned(pc)
        if ended is not None:
            call, numbers = ended[0], [one for one in ended[1] if not is_silent(one)]
            if ended[1] and not numbers:
                return None
            return describe(call, f"Breakpoint {', '.join(map(str, numbers))}" if numbers else "Returned")
        number = number_of(event) if isinstance(event, gdb.BreakpointEvent) else 0  # 0: we alone look on there
        if not number or not frames.is_entry(pc) or not is_of_interest(pc):
            return None
        frame = gdb.newest_frame()
        call = frames.read_call(frame)
    except (UserError, gdb.error):
        return None
    shown_calls.remember(call, frame)
    return None if is_silent(number) else describe(call, f"Breakpoint {number}")


def is_silent(number: int) -> bool:
    """The user wants to hear nothing of its stops: gdb takes "silent" as the first of its commands for that."""
    one = next((one for one in gdb.breakpoints() if one.number == number), None)
    return one is not None and (one.silent or (one.commands or "").split("\n")[0].strip() == "silent")


def is_of_interest(pc: int) -> bool:
    """(A frame that Python sees is unwound: that is not for programs without CUDA. gdb says there what it knows.)"""
    return layers.is_cuda_here() or bool(table_version.function(process.symbol_of(pc)[0]))


def forget_breakpoint(gone: ours.OurBreakpoint) -> None:
    global _last
    if _last[1] == gone.number:
        _last = (None, 0)


ours.ON_GONE.append(forget_breakpoint)


def number_of(event: gdb.BreakpointEvent) -> int:
    """The user's breakpoint that stopped. The event names all at this place, internal ones and those whose condition
    is false among them; gdb counts a hit where the condition is true."""
    global _last
    if _last[0] is not event:
        users = [one for one in event.breakpoints if one.is_valid() and one.number > 0]
        hit = [one.number for one in users if one.hit_count != ours.of(one.number).hits]
        if len(hit) > 1:
            here = ((), moment())
            hit.sort(key=lambda number: ours.of(number).hit_at not in here)
        note_hits(users)
        _last = (event, next(iter([*hit, *(one.number for one in users)]), 0))
    return _last[1]
