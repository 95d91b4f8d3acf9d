"""``gdbcuda remote --program P --hook LIB …`` in a shell, and what ``cuda-remote`` makes of the same options."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from gdbcuda.errors import UserError
from gdbcuda.files import places
from gdbcuda.remote.options import OPTIONS
from gdbcuda.remote.plan import RemotePlan, RemoteRequest, plan
from gdbcuda.remote.way import Way
from gdbcuda.text import output
from gdbcuda.text.highlight import JSON, highlighted
from gdbcuda.text.parsing import OptionParser

_DESCRIPTION = """\
Prints the line that starts PROGRAM under a gdbserver on another machine, the hook library preloaded into it alone, and
what to type in gdb here: by TCP, or with --ssh, --container and --pod through their standard input and output.
"""


def request(values: dict[str, Any], words: list[str]) -> RemoteRequest:
    """From the options' values (by name, "-" as "_") and the words: the program's arguments, behind the program itself
    where no option names it. UserError for a number that is none."""
    program, arguments = values["program"] or "", list(words)
    if not program and not values["attach"] and arguments:
        program, arguments = arguments[0], arguments[1:]
    return RemoteRequest(
        way=Way(values["host"] or "", number("--port", values["port"]), values["ssh"] or "",
                values["container"] or "", values["pod"] or ""),
        hook=local(values["hook"]), program=local(program), arguments=tuple(arguments),
        hook_there=values["hook_there"] or "", program_there=values["program_there"] or "",
        attach=number("--attach", values["attach"]), multi=values["multi"], sysroot=values["sysroot"] or "",
        gdbserver=values["gdbserver"] or places.server_of(places.wanted_gdb()),
        environment=tuple(values["env"] or ()), maps=tuple(map(path_map, values["path_map"] or ())),
    )  # fmt: skip


def local(path: str | None) -> str:
    return os.path.abspath(os.path.expanduser(path)) if path else ""


def number(option: str, text: str | None) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise UserError(f"{option} is a number from 1 on, not {text!r}")
    return int(text)


def path_map(text: str) -> tuple[str, str]:
    far, _, here = text.partition("=")
    if not (far.startswith("/") and here):
        raise UserError(f"--path-map is A=B, for example /libvgpu=$PWD, not {text!r}")
    return far, local(here)


def shown(made: RemotePlan, as_json: bool, start: str = "") -> str:
    return json.dumps(made.as_json(), indent=2) if as_json else made.text(start)


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``remote`` to the subcommands of ``gdbcuda``."""
    parser: OptionParser = subparsers.add_parser(
        "remote", help="what to type for a program on another machine", description=_DESCRIPTION
    )
    parser.examples = (
        "gdbcuda remote --host gpu-server --hook build/libvgpu.so build/train --epochs 3",
        "gdbcuda remote --pod ml/train-0 --hook build/libvgpu.so --hook-there /usr/local/vgpu/libvgpu.so /opt/train",
        "gdbcuda remote --ssh me@gpu-server --attach 4711",
    )
    for name, value, text, many in OPTIONS:
        if value:
            parser.add_argument(name, metavar=value, help=text, action="append" if many else "store")
        else:
            parser.add_argument(name, action="store_true", help=text)
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="[PROGRAM] ARGS", help="behind the options")
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace) -> int:
    words = args.words[1:] if args.words[:1] == ["--"] else args.words
    asked = request(vars(args), words)
    text = shown(plan(asked), args.json, f"started with:  {starting(asked.gdbserver)}")
    output.say(highlighted(text, JSON, args.json and output.wants_colour("auto")))
    return 0


def starting(gdbserver: str) -> str:
    """The debugger that speaks to that server: without $GDBCUDA_GDB it would be gdb."""
    is_other = places.server_of(places.wanted_gdb()) != "cuda-gdbserver" == os.path.basename(gdbserver)
    return "GDBCUDA_GDB=cuda-gdb gdbcuda gdb" if is_other else "gdbcuda gdb"
