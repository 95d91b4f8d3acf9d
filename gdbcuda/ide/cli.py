"""``gdbcuda ide NAME --program P --hook LIB`` in a shell."""

from __future__ import annotations

import argparse
import json
import os
import re
from typing import Any

from gdbcuda.command_line.argument_types import FILE, ArgumentType, one_of, text
from gdbcuda.command_line.options import Options, flag, option, options, required, word
from gdbcuda.command_line.shell_command import add_command
from gdbcuda.errors import UserError
from gdbcuda.files import places, user_files
from gdbcuda.files.preloadable import require_preloadable_by_gdb
from gdbcuda.ide.ide_plan import IDES, NEXT, IdePlan, IdeRequest, names, plan_for
from gdbcuda.remote import substitute_path
from gdbcuda.remote.options import PATH_MAP
from gdbcuda.remote.remote_plan import missing
from gdbcuda.text import output
from gdbcuda.text.highlight import JSON, highlighted
from gdbcuda.text.printable import visible

_ABOUT = """\
Prints what an IDE needs to debug PROGRAM with its hook library through gdbcuda. With --write it is put into the
project, into an existing launch.json beside what is there. The program runs here, or with --remote under a gdbserver.
"""
_EXAMPLES = (
    "gdbcuda ide vscode --program build/train --hook build/libvgpu.so --write",
    "gdbcuda ide clion --program train --hook libvgpu.so --remote server:1234",
)


def address(typed: str) -> str:
    host, _, port = typed.rpartition(":")
    if not (host and re.fullmatch("[0-9]{1,5}", port) and 0 < int(port) < 65536):
        raise UserError(f"--remote is HOST:PORT, for example server:1234, not {typed!r}")
    return typed


class IdeOptions(Options):
    ide: str = word(one_of(*names()), "; ".join(f"{name}: {IDES[name].title}" for name in names()))
    program: str = required(FILE, "the program; if remote, the copy here")
    hook: str = required(FILE, "the hook library; if remote, the copy here")
    remote: str = option(ArgumentType("HOST:PORT", address), "a gdbserver that runs the program", default="")
    path_map: list[tuple[str, str]] = options(
        PATH_MAP, "sources compiled in directory A are in B here (default: as found)"
    )
    hook_there: str = option(text("PATH"), "where it is on the server, if elsewhere", default="")
    program_there: str = option(text("PATH"), "where it is on the server, if elsewhere", default="")
    folder: str = option(FILE, "the project's folder (default: the current one)", default=".")
    write: bool = flag("write the files into the project's folder")
    json: bool = flag("files and steps as a JSON document")


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``ide`` to the subcommands of ``gdbcuda``."""
    return add_command(subparsers, "ide", IdeOptions, run, examples=_EXAMPLES, about=_ABOUT,
                       help="configure VS Code, CLion, Theia, Nsight, Vim or Emacs")  # fmt: skip


def run(wanted: IdeOptions) -> int:
    request, gone = request_of(wanted)
    plan = plan_for(wanted.ide, request)
    written = write(plan, request.folder) if wanted.write else []
    if wanted.json:
        found = json.dumps(document(wanted.ide, plan, written), indent=2)
        output.say(highlighted(found, JSON, output.wants_colour("auto")))
    else:
        show(plan, written)
    if gone and not wanted.json:
        output.say(visible(f"Note: {missing(gone)}"))
    return 0


def request_of(wanted: IdeOptions) -> tuple[IdeRequest, list[str]]:
    """With the sources that are not here. UserError for a file that is not there, a hook library that cannot be
    preloaded."""
    program, hook = existing(wanted.program), existing(wanted.hook)
    require_kind(wanted.program, "program", "pie", "executable")
    require_kind(wanted.hook, "shared library", "shared")
    if not wanted.remote:
        require_preloadable_by_gdb(hook)
    maps, gone = substitute_path.of_files([hook, program], ((far, whole(here)) for far, here in wanted.path_map))
    return IdeRequest(
        program=program, hook=hook, folder=os.path.abspath(wanted.folder),
        source=str(places.sourced_file()), gdb=places.wanted_gdb(), wrapper=places.drop_in_gdb(),
        remote=wanted.remote, gdbserver=places.server_of(places.wanted_gdb()), maps=tuple(maps),
        hook_there=wanted.hook_there, program_there=wanted.program_there,
    ), gone  # fmt: skip


def existing(path: str) -> str:
    if not os.path.isfile(os.path.expanduser(path)):
        raise UserError(f"no file {path}; build it first, the debugger here reads its symbols")
    return whole(path)


def require_kind(path: str, what: str, *kinds: str) -> None:
    from gdbcuda import elf  # --help does not wait for it

    if elf.open(os.path.expanduser(path)).kind not in kinds:
        raise UserError(f"{path} is no {what}")


def whole(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))


def write(plan: IdePlan, folder: str) -> list[str]:
    """All files or none: each is made in memory before the first is written."""
    paths = [os.path.join(folder, file.path) for file in plan.files]
    merged = [file.merged(user_files.read(path), path) for file, path in zip(plan.files, paths)]
    for path, content in zip(paths, merged):
        user_files.write(path, content)
    return paths


def show(plan: IdePlan, written: list[str]) -> None:
    for path in written:
        output.say(visible(f"wrote {path}"))
    for file in [] if written else plan.files:
        output.hand_out(f"--- {visible(file.path)}\n{file.text.rstrip()}\n")
    for number, step in enumerate(plan.steps, 1):
        output.say(f"{number}. {NEXT.join(map(visible, step.split(NEXT)))}")
    if not written:
        output.say("(nothing is written yet: the same with --write does)")


def document(name: str, plan: IdePlan, written: list[str]) -> dict[str, Any]:
    return {
        "ide": name,
        "files": [{"path": file.path, "text": file.text} for file in plan.files],
        "steps": list(plan.steps),
        "written": written,
    }
