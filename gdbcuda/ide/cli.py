"""``gdbcuda ide NAME --program P --hook LIB`` in a shell."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from gdbcuda.errors import UserError
from gdbcuda.files import places, user_files
from gdbcuda.ide.plan import IDES, NEXT, IdePlan, IdeRequest, names, plan_for
from gdbcuda.remote import sources
from gdbcuda.remote.plan import missing, require_preloadable
from gdbcuda.text import output
from gdbcuda.text.highlight import JSON, highlighted
from gdbcuda.text.parsing import OptionParser
from gdbcuda.text.printable import visible

_DESCRIPTION = """\
Prints what an IDE needs to debug PROGRAM with its hook library through gdbcuda, or with --write puts it into the
project: into an existing launch.json beside what is there. The program runs here, or with --remote under a gdbserver.
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``ide`` to the subcommands of ``gdbcuda``."""
    parser: OptionParser = subparsers.add_parser(
        "ide", help="configure VS Code, CLion, Theia, Nsight, Vim or Emacs", description=_DESCRIPTION
    )
    parser.examples = (
        "gdbcuda ide vscode --program build/train --hook build/libvgpu.so --write",
        "gdbcuda ide clion --program build/train --hook build/libvgpu.so --remote gpu-server:1234",
    )
    known = list(names())
    parser.add_argument("ide", choices=known, metavar="IDE", help="; ".join(f"{n}: {IDES[n].title}" for n in known))
    parser.add_argument("--program", required=True, metavar="FILE", help="the program; if remote, the copy here")
    parser.add_argument("--hook", required=True, metavar="LIB", help="the hook library; if remote, the copy here")
    parser.add_argument("--remote", default="", metavar="HOST:PORT", help="a gdbserver that runs the program")
    parser.add_argument("--path-map", action="append", default=[], metavar="A=B", dest="maps",
                        help="sources compiled in directory A are in B here (default: as found)")  # fmt: skip
    parser.add_argument("--hook-there", default="", metavar="PATH", help="where it is on the server, if elsewhere")
    parser.add_argument("--program-there", default="", metavar="PATH", help="where it is on the server, if elsewhere")
    parser.add_argument("--folder", default=".", metavar="DIR", help="the project's folder (default: the current one)")
    parser.add_argument("--write", action="store_true", help="write the files into the project's folder")
    parser.add_argument("--json", action="store_true", help="files and steps as a JSON document")
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace) -> int:
    request, gone = request_of(args)
    plan = plan_for(args.ide, request)
    written = write(plan, request.folder) if args.write else []
    if args.json:
        found = json.dumps(document(args.ide, plan, written), indent=2)
        output.say(highlighted(found, JSON, output.wants_colour("auto")))
    else:
        output.say(text(plan, written))
    if gone and not args.json:
        output.say(visible(f"Note: {missing(gone)}"))
    return 0


def request_of(args: argparse.Namespace) -> tuple[IdeRequest, list[str]]:
    """With the sources that are not here. UserError for a file that is not there, a hook library that cannot be
    preloaded, an address or map of another form."""
    host, _, port = args.remote.rpartition(":")
    if args.remote and not (host and port.isdigit()):
        raise UserError(f"--remote is HOST:PORT, for example server:1234, not {args.remote!r}")
    program, hook = existing(args.program), existing(args.hook)
    if not args.remote:
        require_preloadable(hook)
    maps, gone = sources.of_files([hook, program], map(path_map, args.maps))
    return IdeRequest(
        program=program, hook=hook, folder=os.path.abspath(args.folder),
        source=str(places.sourced_file()), gdb=places.wanted_gdb(), wrapper=places.drop_in_gdb(),
        remote=args.remote, gdbserver=places.server_of(places.wanted_gdb()), maps=tuple(maps),
        hook_there=args.hook_there, program_there=args.program_there,
    ), gone  # fmt: skip


def existing(path: str) -> str:
    if not os.path.isfile(os.path.expanduser(path)):
        raise UserError(f"no file {path}; build it first, the debugger here reads its symbols")
    return os.path.abspath(os.path.expanduser(path))


def path_map(text: str) -> tuple[str, str]:
    far, _, here = text.partition("=")
    if not (far and here):
        raise UserError(f"--path-map is A=B, for example /libvgpu=$PWD, not {text!r}")
    return far, os.path.abspath(os.path.expanduser(here))


def write(plan: IdePlan, folder: str) -> list[str]:
    """All files or none: each is made in memory before the first is written."""
    paths = [os.path.join(folder, file.path) for file in plan.files]
    texts = [file.merged(user_files.read(path), path) for file, path in zip(plan.files, paths)]
    for path, text in zip(paths, texts):
        user_files.write(path, text)
    return paths


def text(plan: IdePlan, written: list[str]) -> str:
    shown = [visible(f"wrote {path}") for path in written]
    shown = shown or [f"--- {visible(file.path)}\n{file.text.rstrip()}\n" for file in plan.files]
    steps = [f"{number}. {NEXT.join(map(visible, step.split(NEXT)))}" for number, step in enumerate(plan.steps, 1)]
    hint = [] if written else ["(nothing is written yet: the same with --write does)"]
    return "\n".join([*shown, *steps, *hint])


def document(name: str, plan: IdePlan, written: list[str]) -> dict[str, Any]:
    return {
        "ide": name,
        "files": [{"path": file.path, "text": file.text} for file in plan.files],
        "steps": list(plan.steps),
        "written": written,
    }
