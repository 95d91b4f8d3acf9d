"""``gdbcuda remote --program P --hook LIB …`` in a shell, and what ``cuda-remote`` makes of the same options."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from gdbcuda.command_line.argument_types import text
from gdbcuda.command_line.options import rest
from gdbcuda.command_line.shell_command import add_command
from gdbcuda.files import places
from gdbcuda.remote.options import RemoteOptions
from gdbcuda.remote.remote_plan import RemotePlan, RemoteRequest, plan
from gdbcuda.remote.way import Way
from gdbcuda.text import output
from gdbcuda.text.highlight import JSON, highlighted

_ABOUT = """\
Prints the line that starts PROGRAM under a gdbserver on another machine, the hook library preloaded into it alone, and
what to type in gdb here: by TCP, or with --ssh, --container and --pod through their standard input and output.
"""
_EXAMPLES = (
    "gdbcuda remote --host server --hook build/libvgpu.so build/train --epochs 3",
    "gdbcuda remote --pod ml/train-0 --hook vgpu.so --hook-there /v/vgpu.so /app",
    "gdbcuda remote --ssh me@gpu-server --attach 4711",
)


def request(wanted: RemoteOptions, words: list[str]) -> RemoteRequest:
    """The words are the program's arguments, behind the program itself where no option names it."""
    program, arguments = wanted.program or "", list(words)
    if not program and not wanted.attach and arguments:
        program, arguments = arguments[0], arguments[1:]
    return RemoteRequest(
        way=Way(wanted.host or "", wanted.port or 0, wanted.ssh or "", wanted.container or "", wanted.pod or ""),
        hook=local(wanted.hook), program=local(program), arguments=tuple(arguments),
        hook_there=wanted.hook_there or "", program_there=wanted.program_there or "",
        attach=wanted.attach or 0, multi=wanted.multi, sysroot=wanted.sysroot or "",
        gdbserver=wanted.gdbserver or places.server_of(places.wanted_gdb()),
        environment=tuple(wanted.env), maps=tuple((far, local(here)) for far, here in wanted.path_map),
    )  # fmt: skip


def local(path: str | None) -> str:
    return os.path.abspath(os.path.expanduser(path)) if path else ""


def shown(made: RemotePlan, as_json: bool, start: str = "") -> str:
    return json.dumps(made.as_json(), indent=2) if as_json else made.text(start)


class RemoteShellOptions(RemoteOptions):
    words: list[str] = rest(text("[PROGRAM] ARGS"), "behind the options")


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``remote`` to the subcommands of ``gdbcuda``."""
    return add_command(
        subparsers, "remote", RemoteShellOptions, run,
        help="what to type for a program on another machine", about=_ABOUT, examples=_EXAMPLES,
    )  # fmt: skip


def run(wanted: RemoteShellOptions) -> int:
    words = wanted.words[1:] if wanted.words[:1] == ["--"] else wanted.words
    asked = request(wanted, words)
    said = shown(plan(asked), wanted.json, f"started with:  {starting(asked.gdbserver)}")
    output.say(highlighted(said, JSON, wanted.json and output.wants_colour("auto")))
    return 0


def starting(gdbserver: str) -> str:
    """The debugger that speaks to that server: without $GDBCUDA_GDB it would be gdb."""
    is_other = places.server_of(places.wanted_gdb()) != "cuda-gdbserver" == os.path.basename(gdbserver)
    return "GDBCUDA_GDB=cuda-gdb gdbcuda gdb" if is_other else "gdbcuda gdb"
