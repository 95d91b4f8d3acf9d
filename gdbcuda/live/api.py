"""What the commands say, as data for scripts in gdb's Python.

    from gdbcuda.live import api

    for one in api.layers():
        print(one["layer"], one["file"])

Everything is made of dictionaries, lists, numbers and text, as ``--json`` of the command prints it. `UserError`
(gdbcuda.errors) says in one line what cannot be known now: no process, a thread that runs, a name that nobody knows.
Call these at a prompt, in a command of your own or in the ``commands`` of a breakpoint, not inside an event of gdb's.
"""

from __future__ import annotations

from typing import Any

from gdbcuda.calls import data
from gdbcuda.errors import UserError
from gdbcuda.live import layers as of_addresses
from gdbcuda.live import process
from gdbcuda.live.checking import routes_here
from gdbcuda.live.host import beginning
from gdbcuda.live.layers import this_snapshot
from gdbcuda.live.noticing import who
from gdbcuda.live.stopping import call_data

beginning.begin()
Data = dict[str, Any]

__all__ = ["UserError", "call", "layer_of", "layers", "log", "routes"]


def call() -> Data | None:
    """The API call of the selected frame, or the one that has just returned to it (cuda-call --json); None where that
    frame is no API function."""
    found = call_data.of_selected_frame()
    return call_data.as_data(found) if found is not None else None


def layers() -> list[Data]:
    """The objects of the process in search order, with their layers (cuda-layers --json)."""
    process.require_stopped()
    return [one._asdict() for one in who.members()]


def layer_of(address: int) -> str:
    """The layer of a code address: "app", "runtime", "hook", "driver", "system"; "" where no object is."""
    process.require_stopped()
    return of_addresses.layer_of(address, process.symbol_of(address)[0])


def routes(function: str | None = None, app: bool = False, all: bool = False) -> list[Data]:
    """Which implementation answers, for each way of reaching it (cuda-route --json). ``function``: a name, a base name
    or a glob; ``app``: what the program itself refers to; ``all``: the hook's and the driver's own references too."""
    process.require_stopped()
    return [one.as_json() for one in routes_here.routes(this_snapshot.now(), function, app, all)]


def log() -> list[Data]:
    """The calls that cuda-log has kept, in order (cuda-log show --json)."""
    from gdbcuda.live.recording import call_log  # loaded when first used

    writer = call_log.writer()
    return [data.call(one, writer) for one in call_log.SESSION.kept.calls]
