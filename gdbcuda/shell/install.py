"""``gdbcuda install``: one line in the user's gdbinit, so that every gdb has the extension; or every cuda-gdb."""

from __future__ import annotations

import argparse
import os
import re
import sys
from typing import Any

from gdbcuda.command_line.options import Options, flag
from gdbcuda.command_line.shell_command import add_command
from gdbcuda.errors import UserError
from gdbcuda.files import places, user_files
from gdbcuda.text import output
from gdbcuda.text.printable import visible

OURS = re.compile(r"^source[ \t]+[^\n]*/gdbcuda\.py[ \t]*(?:\n|\Z)", re.MULTILINE)


def all_gdbinits() -> list[str]:
    return [path for gdb in ("gdb", "cuda-gdb") for path in places.gdbinits(places.init_name(gdb))]


def is_installed() -> bool:
    """In a gdbinit that can be read."""
    return any(map(has_line, all_gdbinits()))


def has_line(path: str) -> bool:
    try:
        return bool(OURS.search(user_files.read(path)))
    except UserError:
        return False


def line() -> str:
    return f"source {places.sourced_file()}"


def with_line(text: str, line: str) -> str:
    """``text`` with the line in the place of an older one of ours, else at the end; every other line as it was."""
    found = OURS.search(text)
    if found:
        return text[: found.start()] + line + "\n" + without_line(text[found.end() :])
    return text + ("\n" if text and not text.endswith("\n") else "") + line + "\n"


def without_line(text: str) -> str:
    return OURS.sub("", text)


class InstallOptions(Options):
    remove: bool = flag("take the line out again")
    yes: bool = flag("do not ask")


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``install`` to the subcommands of ``gdbcuda``."""
    return add_command(
        subparsers, "install", InstallOptions, lambda wanted: (remove if wanted.remove else add)(wanted.yes),
        help="load the extension in every gdb: one line in your gdbinit",
        about="Lets every gdb load the extension: one line in your gdbinit, shown first. Nothing else is written.",
        examples=("gdbcuda install", "gdbcuda install --remove", "GDBCUDA_GDB=cuda-gdb gdbcuda install"),
    )  # fmt: skip


def add(yes: bool) -> int:
    name = places.init_name(places.wanted_gdb())
    path = places.gdbinit(name)
    require_home(path)
    old = user_files.read(path)
    new = with_line(old, line())
    if new == old:
        output.say(f"{visible(path)} has the line already:\n  {visible(line())}")
        return 0
    instead = "in the place of an older one" if OURS.search(old) else "at its end"
    output.say(f"{visible(path)} gets one line, {instead}:\n  {visible(line())}")
    if not agreed(yes):
        return 1
    user_files.write(path, new)
    output.say(f"Every {name[:-4]} loads gdbcuda from now on. Out again: gdbcuda install --remove")
    newer, older = places.gdbinits(name)
    if path == newer:
        output.say(f"(gdb 10 and older read {visible(older)} instead.)")
    if name == places.init_name("gdb"):
        output.say("(cuda-gdb reads a file of its own:  GDBCUDA_GDB=cuda-gdb gdbcuda install)")
    return 0


def require_home(path: str) -> None:
    """gdb looks at $HOME alone; a folder that is not there is not made for it."""
    home = os.environ.get("HOME", "")
    if os.path.basename(path).startswith(".") and not os.path.isdir(home):
        raise UserError(f"HOME is {home!r}, so gdb would not find its gdbinit; set it to your home folder")


def remove(yes: bool) -> int:
    having = [path for path in all_gdbinits() if OURS.search(user_files.read(path))]
    for path in having:
        found = "\n  ".join(visible(row.rstrip()) for row in OURS.findall(user_files.read(path)))
        output.say(f"{visible(path)} loses one line:\n  {found}")
    if not having:
        output.say(visible(f"{places.gdbinit(places.init_name(places.wanted_gdb()))} has no line of gdbcuda"))
    elif not agreed(yes):
        return 1
    for path in having:
        rest = without_line(user_files.read(path))
        user_files.write(path, rest) if rest else os.unlink(os.path.realpath(path))
    return 0


def agreed(yes: bool) -> bool:
    """Asks where somebody can answer; else nothing is done without --yes."""
    if yes:
        return True
    if sys.stdin is None or not sys.stdin.isatty():
        output.say("Nothing is written yet: the same with --yes does.")
        return False
    try:
        return input("Write it? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:  # Ctrl-D
        output.say()
        return False
