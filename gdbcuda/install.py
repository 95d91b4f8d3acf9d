"""``gdbcuda install``: one line in the user's gdbinit, so that every gdb has the extension.

gdb 11 and newer read ``$XDG_CONFIG_HOME/gdb/gdbinit`` (``~/.config/gdb/gdbinit``), and only where that is not there
``~/.gdbinit``; gdb 10 knows the latter alone. (Measured with 10.1, 13.1, 16.3; gdb manual: "Startup".)
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from typing import Any

from gdbcuda import files, places

OURS = re.compile(r"^source[ \t]+[^\n]*/gdbcuda\.py[ \t]*(?:\n|\Z)", re.MULTILINE)


def gdbinits() -> tuple[str, str]:
    """The two files that gdb may read, the newer place first, whether they are there or not."""
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.join(config, "gdb", "gdbinit"), os.path.expanduser("~/.gdbinit")


def gdbinit() -> str:
    """The one that gdb reads."""
    newer, older = gdbinits()
    return newer if os.path.isfile(newer) else older


def is_installed() -> bool:
    return any(OURS.search(files.read(path)) for path in gdbinits())


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


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``install`` to the subcommands of ``gdbcuda``."""
    about = "Lets every gdb load the extension: one line in your gdbinit, shown first. Nothing else is written."
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "install", help="load the extension in every gdb: one line in your gdbinit", description=about
    )
    parser.add_argument("--remove", action="store_true", help="take the line out again")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace) -> int:
    return remove(args.yes) if args.remove else add(args.yes)


def add(yes: bool) -> int:
    path = gdbinit()
    old = files.read(path)
    new = with_line(old, line())
    if new == old:
        print(f"{path} has the line already:\n  {line()}")
        return 0
    instead = "in the place of an older one" if OURS.search(old) else "at its end"
    print(f"{path} gets one line, {instead}:\n  {line()}")
    if not agreed(yes):
        return 1
    files.write(path, new)
    print("Every gdb loads gdbcuda from now on. Out again: gdbcuda install --remove")
    if path == gdbinits()[0]:
        print(f"(gdb 10 and older read {gdbinits()[1]} instead.)")
    return 0


def remove(yes: bool) -> int:
    having = [path for path in gdbinits() if OURS.search(files.read(path))]
    for path in having:
        found = "\n  ".join(row.rstrip() for row in OURS.findall(files.read(path)))
        print(f"{path} loses one line:\n  {found}")
    if not having:
        print(f"{gdbinit()} has no line of gdbcuda")
    elif not agreed(yes):
        return 1
    for path in having:
        rest = without_line(files.read(path))
        files.write(path, rest) if rest else os.unlink(os.path.realpath(path))
    return 0


def agreed(yes: bool) -> bool:
    """Asks where somebody can answer; else nothing is done without --yes."""
    if yes:
        return True
    if not sys.stdin.isatty():
        print("Nothing is written yet: the same with --yes does.")
        return False
    return input("Write it? [y/N] ").strip().lower() in ("y", "yes")
