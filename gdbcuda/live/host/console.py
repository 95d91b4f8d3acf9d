"""Where text for the user goes: gdb's console, and in an editor that speaks DAP with gdb, its debug console.

Over MI gdb makes a console record of what is written. Its DAP server returns what an ``evaluate`` request writes, and
drops the rest: what a stop, an exit or a breakpoint's commands write has to be an ``output`` event.
(gdb manual: "Basic Python", gdb.write; "Debugger Adapter Protocol". Debug Adapter Protocol: "Output event".)
"""

from __future__ import annotations

import functools
import re
import sys
from types import FrameType
from typing import Any, Callable

import gdb

from gdbcuda.text import render
from gdbcuda.text.printable import screened

EVALUATE = "gdb.dap.evaluate"


def write(text: str) -> None:
    """Lines for people: control characters are shown, colours are ours."""
    text = screened(text)
    server = dap("server")
    if server is not None and not is_evaluating():
        server.send_event("output", {"category": "console", "output": text})
    else:
        gdb.write(text if is_machine_interface() else render.fitted(text))


def told_width() -> int:
    """By set width, and by gdb's own look at the terminal."""
    width = gdb.parameter("width")
    return width if isinstance(width, int) else 0


render.TOLD.append(told_width)


def folded(text: str) -> str:
    """In lines as wide as the terminal, where gdb itself shows it at one."""
    return text if is_machine_interface() or dap("server") is not None else render.fitted(text)


def is_command_line() -> bool:
    """gdb's own; an editor reads records."""
    return not is_machine_interface() and dap("server") is None


@functools.cache
def is_machine_interface() -> bool:
    """gdb's own command line (this is the debugger's process, always local) asks for MI or DAP."""
    try:
        with open("/proc/self/cmdline", "rb") as file:
            words = file.read().split(b"\0")
    except OSError:
        return False
    return any(re.match(rb"--?i(nterp\w*)?(=|$)", word) for word in words)


def dap(module: str) -> Any:
    """A module of gdb's own DAP server; None where gdb is not used through it."""
    return sys.modules.get(f"gdb.dap.{module}")


def is_evaluating() -> bool:
    """Somewhere above us is the request whose answer is what we write."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__") != EVALUATE:
        frame = frame.f_back
    return frame is not None


def keep_internal_breakpoints_out() -> None:
    """gdb's DAP server tells the editor of internal breakpoints too, which then shows them in the source."""
    for event in ("breakpoint_created", "breakpoint_modified", "breakpoint_deleted"):
        announce = getattr(dap("breakpoint"), f"_bp_{event.rpartition('_')[2]}", None)
        if announce is not None:
            getattr(gdb.events, event).disconnect(announce)
            getattr(gdb.events, event).connect(of_the_user(announce))


def of_the_user(announce: Callable[[gdb.Breakpoint], None]) -> Callable[[gdb.Breakpoint], None]:
    return lambda breakpoint: announce(breakpoint) if breakpoint.number > 0 else None


def keep_internal_hits_out() -> None:
    """It names internal breakpoints among those that have hit, too."""
    events = dap("events")
    for name in ("send_event", "send_event_maybe_later"):
        if hasattr(events, name):
            setattr(events, name, with_the_users_hits(getattr(events, name)))


def with_the_users_hits(send: Callable[..., None]) -> Callable[..., None]:
    def of_the_users(event: str, body: Any = None) -> None:
        if isinstance(body, dict) and "hitBreakpointIds" in body:
            body = {**body, "hitBreakpointIds": [number for number in body["hitBreakpointIds"] if number > 0]}
        send(event, body)

    return of_the_users
