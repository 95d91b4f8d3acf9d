"""``cuda-remote``."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import gdb

from gdbcuda.command_line.argument_types import text
from gdbcuda.command_line.options import flag, words
from gdbcuda.errors import UserError
from gdbcuda.live import layers, process
from gdbcuda.live.host import console, gdb_cli
from gdbcuda.live.placing import link
from gdbcuda.live.prompt.command import command
from gdbcuda.live.prompt.safely import plain
from gdbcuda.remote.options import RemoteOptions
from gdbcuda.text.printable import visible

if TYPE_CHECKING:
    from gdbcuda.remote.remote_plan import RemotePlan

class ConnectOptions(RemoteOptions):
    connect: bool = flag("run the gdb commands instead of printing them")
    args: list[str] = words(
        text("ARGS"),
        "the program if the session has none, then its arguments; -- before those that begin with a dash",
    )


@command("cuda-remote", ConnectOptions, purpose="start")
def cuda_remote(wanted: ConnectOptions) -> str:
    """Print what to type for a program on another machine: there, and in gdb here.

    There a gdbserver starts the program and preloads the hook library into it alone. gdb reaches it by TCP.
    With --ssh, --container and --pod it goes through a pipe, and no port has to be open. Here gdb learns
    where the sources are, and connects. It compares the directory that the debug info names with the checkout
    that is found.

    Program, arguments and hook library are this session's where nothing else is said. At the end cuda-check
    says whether all fits together.

    Examples:
      cuda-remote --host gpu-server --port 2345
      cuda-remote --pod training-0 --hook-there /usr/local/vgpu/libvgpu.so
      cuda-remote --container trainer --connect
      cuda-remote --host gpu-server --multi
      cuda-remote --host gpu-server -- --epochs 3
      cuda-remote --ssh me@gpu-server --attach 4711"""
    from gdbcuda.remote import cli
    from gdbcuda.remote.remote_plan import plan

    wanted.program = wanted.program or process.strip_prefix(process.program())
    wanted.hook = wanted.hook or next(iter(layers.named_hooks()), "")
    wanted.gdbserver = wanted.gdbserver or link.gdbserver()
    args = wanted.args
    if wanted.program and not args and not wanted.attach:
        args = shlex.split(str(gdb.parameter("args") or ""))
    made = plan(cli.request(wanted, args))
    return connected(made) if wanted.connect else cli.shown(made, wanted.json)


def connected(made: RemotePlan) -> str:
    """Runs the commands; by TCP the server must wait already."""
    if process.is_alive():
        raise UserError("there is a process already: kill it or detach from it first")
    for line in made.commands:
        console.write(visible(line) + "\n")
        try:
            gdb_cli.execute_aloud(line)
        except gdb.error as problem:
            raise UserError(f"{plain(problem)}{doubt(made, line)}") from None
    return "\n".join(visible(f"Note: {note}") for note in made.notes)


def doubt(made: RemotePlan, line: str) -> str:
    """What to look at when there is no connection. What a shell has said of it stands above."""
    if not line.startswith("target "):
        return ""
    if made.server:
        return f"; is this running there?  {made.server}"
    return f"; see above, and try in a shell:  {made.probe}"
