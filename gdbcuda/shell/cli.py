"""``gdbcuda`` for a shell without gdb, and ``gdbcuda-gdb``, a drop-in gdb with the extension loaded."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import sys
from typing import Any, Callable, NoReturn

from gdbcuda import __version__
from gdbcuda.command_line.parsing import OptionParser
from gdbcuda.errors import UserError
from gdbcuda.files.places import sourced_file
from gdbcuda.shell.inherited import signals_of_a_shell
from gdbcuda.text import error_lines, output
from gdbcuda.text.printable import visible

DEBUG = "GDBCUDA_DEBUG"
HOW = f"with {DEBUG}=1 in front it shows the traceback"
MODULES = {  # only that of the command is loaded: a shell's completion or a Makefile asks for `gdbcuda path` often
    "help": "gdbcuda.manual.cli",
    "demo": "gdbcuda.shell.demo.cli",
    "new-hook": "gdbcuda.shell.new_hook.cli",
    "check": "gdbcuda.check.cli",
    "log": "gdbcuda.log.cli",
    "run": "gdbcuda.shell.run.cli",
    "trace": "gdbcuda.shell.trace.cli",
    "ab": "gdbcuda.shell.ab.cli",
    "fail": "gdbcuda.shell.fault.fail",
    "delay": "gdbcuda.shell.fault.delay",
    "set": "gdbcuda.shell.fault.set",
    "conform": "gdbcuda.shell.conform.cli",
    "wrap-flags": "gdbcuda.shell.wrap_flags",
    "ide": "gdbcuda.ide.cli",
    "remote": "gdbcuda.remote.cli",
    "install": "gdbcuda.shell.install",
    "completion": "gdbcuda.shell.bash_completion",
}
MISTAKE, FAULT, INTERRUPTED, UNREAD = 2, 70, 130, 141  # the last two as a shell counts SIGINT and SIGPIPE; sysexits.h


def run_gdb(arguments: list[str]) -> NoReturn:
    """Becomes gdb with the extension loaded. ``-iex`` so that the user's own -x and -ex come after it."""
    from gdbcuda.shell.gdb_words import gdb_words

    gdb = gdb_words()
    output.finish()
    signals_of_a_shell()
    os.execv(gdb[0], [*gdb, "-iex", f"source {sourced_file()}", *arguments])


def gdb_main(argv: list[str] | None = None) -> int:
    """Entry point ``gdbcuda-gdb``: takes gdb's own arguments; --version and MI stay as gdb's own."""
    arguments = sys.argv[1:] if argv is None else argv
    return guarded(lambda: run_gdb(arguments))


def guarded(action: Callable[[], Any], is_debug: bool = False) -> int:
    """Runs ``action`` to its exit status. Whatever goes wrong is one line on stderr, to debug with the traceback in
    front of it."""
    allow_every_character()
    try:
        return completed(action)
    except BrokenPipeError:
        return UNREAD
    except (Exception, KeyboardInterrupt) as problem:
        return told(problem, is_debug or os.environ.get(DEBUG, "0") not in ("", "0"))
    finally:
        if not is_written():
            output.give_up(sys.stdout)


def allow_every_character() -> None:
    """On a terminal that knows less than Unicode the others are shown by their numbers."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def completed(action: Callable[[], Any]) -> int:
    """argparse ends with SystemExit, and has printed as well."""
    try:
        return int(action() or 0)
    finally:
        output.finish()


def told(problem: BaseException, is_debug: bool) -> int:
    if is_debug:
        output.complain(error_lines.history(problem).rstrip())
    if isinstance(problem, KeyboardInterrupt):
        return INTERRUPTED
    output.complain(f"gdbcuda: {error_lines.line(problem, HOW, 'gdbcuda help')}")
    return MISTAKE if isinstance(problem, (UserError, OSError, MemoryError)) else FAULT


def is_written() -> bool:
    with contextlib.suppress(UserError, OSError):
        output.finish()
        return True
    return False


def make_parser(command: str = "") -> argparse.ArgumentParser:
    """Knows that command, or for "" all of them."""
    parser = OptionParser(prog="gdbcuda", description="For people who debug CUDA and NVML hook libraries.")
    parser.examples = (
        "gdbcuda check build/libvgpu.so",
        "gdbcuda gdb --args build/train --epochs 3",
        "gdbcuda remote --help",
    )
    parser.add_argument("--version", action="version", version=f"gdbcuda {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    parser.add_argument("--debug", action="store_true", help=f"show the traceback of an error, as {DEBUG}=1 does")
    path = commands.add_parser("path", help="print the file to source in gdb")
    path.set_defaults(run=lambda args: output.hand_out(visible(str(sourced_file()))))
    for name, module in MODULES.items():
        if command in (name, ""):
            importlib.import_module(module).add_parser(commands)
    gdb = commands.add_parser(
        "gdb", help="start gdb with the extension loaded (GDBCUDA_GDB picks another gdb)", add_help=False
    )
    gdb.add_argument("arguments", nargs=argparse.REMAINDER)
    gdb.set_defaults(run=lambda args: run_gdb(args.arguments))
    return parser


def named(words: list[str]) -> str:
    """The command among them; "" where it is not the first word, or none."""
    first = next((word for word in words if word != "--debug"), "")
    return first if first in ("path", "--version", *MODULES) else ""


def main(argv: list[str] | None = None) -> int:
    """Entry point ``gdbcuda``."""
    words = sys.argv[1:] if argv is None else argv
    is_debug = words[:1] == ["--debug"]
    if words[is_debug:][:1] == ["gdb"]:  # argparse would take gdb's own -options for ours
        return guarded(lambda: run_gdb(words[is_debug + 1 :]), is_debug)

    def run() -> object:
        args = make_parser(named(words)).parse_args(words)
        return args.run(args)

    return guarded(run, is_debug)


if __name__ == "__main__":
    sys.exit(main())
