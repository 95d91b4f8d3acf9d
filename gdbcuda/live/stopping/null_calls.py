"""A jump to address 0 out of a hook library, or out of the runtime above it: what was called is not there."""

from __future__ import annotations

import gdb

from gdbcuda.errors import UserError
from gdbcuda.live import process
from gdbcuda.live.frames import frames
from gdbcuda.live.host import console
from gdbcuda.live.prompt import settings
from gdbcuda.live.stopping import stops

HINTS = {
    "hook": "a real function that it does not have; cuda-route --null lists the pointers that it keeps, "
            "cuda-dlsym log on, before run, shows what it asks for in vain",
    "runtime": "a function that it was not given; cuda-dlsym log on, before run, shows who answers with nothing",
}


def on_stop(event: gdb.StopEvent) -> None:
    if isinstance(event, gdb.SignalEvent) and event.stop_signal == "SIGSEGV" and settings.value("cuda-stop-info"):
        found = text()
        if found:
            console.write(f"{found}\n")


def text() -> str:
    """ "" elsewhere."""
    try:
        if process.register("pc"):
            return ""
        caller = frames.caller_of(gdb.newest_frame())
    except (UserError, gdb.error):
        return ""
    hint = HINTS.get(caller.layer) if caller is not None else None
    return f"NULL was called by {stops.place_text(caller)}: {hint}" if caller is not None and hint else ""
