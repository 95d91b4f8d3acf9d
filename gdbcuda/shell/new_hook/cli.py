"""``gdbcuda new-hook DIR``: writes the sources of a small hook library, with what builds it."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from gdbcuda.command_line.argument_types import ArgumentType, text
from gdbcuda.command_line.options import Options, option, word
from gdbcuda.command_line.shell_command import add_command
from gdbcuda.errors import UserError, cannot
from gdbcuda.files.places import own_command, sourced_file
from gdbcuda.files.preloadable import require_folder_for_preloading
from gdbcuda.text import output
from gdbcuda.text.printable import typed, visible

TEMPLATE = Path(__file__).resolve().parent / "template"
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_+-]*")


_ABOUT = """\
Writes a small hook library to start from: two functions of the driver, and the resolvers that lead programs to them
(linked, dlsym, cuGetProcAddress), with a Makefile and a CMakeLists.txt that build it with -g -O0."""


class NewHookOptions(Options):
    dir: Path = word(ArgumentType("DIR", Path), "a new or empty folder")
    name: str | None = option(text("NAME"), "NAME of the library, libNAME.so (default: the folder's)")


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``new-hook`` to the subcommands of ``gdbcuda``."""
    return add_command(
        subparsers, "new-hook", NewHookOptions, run, about=_ABOUT,
        help="write a small hook library to start from, with its Makefile and CMake file",
        examples=("gdbcuda new-hook myhook", "gdbcuda new-hook ~/src/quota --name vgpu"),
    )  # fmt: skip


def run(wanted: NewHookOptions) -> int:
    from gdbcuda.api import vendor

    name = wanted.name or wanted.dir.absolute().name
    if not NAME.fullmatch(name):
        raise UserError(f"lib{name}.so is no name for a library; give one with --name: letters, digits, _ + -")
    if vendor.layer_of(f"lib{name}.so"):
        raise UserError(f"lib{name}.so is the name of another library, of CUDA or the system; give one with --name")
    require_folder_for_preloading(str(wanted.dir.absolute()))
    try:
        if wanted.dir.is_dir() and any(wanted.dir.iterdir()):
            raise UserError(f"{wanted.dir} is not empty: name a new folder")
        wanted.dir.mkdir(parents=True, exist_ok=True)
        for file in sorted(TEMPLATE.iterdir()):
            (wanted.dir / file.name).write_text(file.read_text().replace("@NAME@", name))
    except OSError as problem:
        raise cannot(f"write into {wanted.dir}", problem) from None
    output.hand_out(next_steps(wanted.dir, name))
    return 0


def next_steps(folder: Path, name: str) -> str:
    directory, library = typed(folder), typed(folder / f"lib{name}.so")
    return f"""{visible(str(folder))}: hook.c is yours to change; resolve.c and hook.h lead programs to it
Build it:             make -C {directory}
Is it right:          {own_command()} check {library}
Debug it:             gdb -x {typed(sourced_file())} YOUR_PROGRAM
                      (gdb) cuda-load {library}
                      (gdb) cuda-break cuMemAlloc
                      (gdb) run
No GPU, no program:   {own_command()} demo   builds both, and says where"""
