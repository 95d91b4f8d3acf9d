"""``gdbcuda`` for a shell without gdb, and ``gdbcuda-gdb``, a drop-in gdb with the extension loaded."""

from __future__ import annotations

import argparse
import os
import sys
from typing import NoReturn

from gdbcuda import __version__
from gdbcuda.errors import UserError
from gdbcuda.parsing import Parser
from gdbcuda.places import find_gdb, sourced_file


def run_gdb(arguments: list[str]) -> NoReturn:
    """Becomes gdb with the extension loaded. ``-iex`` so that the user's own -x and -ex come after it."""
    gdb = find_gdb()
    sys.stdout.flush()
    os.execv(gdb, [gdb, "-iex", f"source {sourced_file()}", *arguments])


def gdb_main(argv: list[str] | None = None) -> int:
    """Entry point ``gdbcuda-gdb``: takes gdb's own arguments; --version and MI stay as gdb's own."""
    arguments = sys.argv[1:] if argv is None else argv
    return guarded(lambda: run_gdb(arguments))


def guarded(action: object) -> int:
    """Runs ``action``; a user's mistake becomes one line on stderr and status 2."""
    assert callable(action)
    try:
        return int(action() or 0)
    except UserError as problem:
        print(f"gdbcuda: {problem}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        return 130


def make_parser() -> argparse.ArgumentParser:
    from gdbcuda import install  # gdbcuda-gdb, which an IDE starts each time, does without all these
    from gdbcuda.check import cli as check_cli
    from gdbcuda.demo import cli as demo_cli
    from gdbcuda.ide import cli as ide_cli
    from gdbcuda.log import cli as log_cli
    from gdbcuda.new_hook import cli as new_hook_cli
    from gdbcuda.remote import cli as remote_cli

    parser = Parser(prog="gdbcuda", description="For people who debug CUDA and NVML hook libraries.")
    parser.examples = (
        "gdbcuda check build/libvgpu.so",
        "gdbcuda gdb --args build/train --epochs 3",
        "gdbcuda remote --help",
    )
    parser.add_argument("--version", action="version", version=f"gdbcuda {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    path = commands.add_parser("path", help="print the file to source in gdb")
    path.set_defaults(run=lambda args: print(sourced_file()))
    for one in (demo_cli, new_hook_cli, check_cli, log_cli, ide_cli, remote_cli, install):
        one.add_parser(commands)
    gdb = commands.add_parser(
        "gdb", help="start gdb with the extension loaded (GDBCUDA_GDB picks another gdb)", add_help=False
    )
    gdb.add_argument("arguments", nargs=argparse.REMAINDER)
    gdb.set_defaults(run=lambda args: run_gdb(args.arguments))
    return parser


def main(argv: list[str] | None = None) -> int:
    """Entry point ``gdbcuda``."""
    words = sys.argv[1:] if argv is None else argv
    if words[:1] == ["gdb"]:  # argparse would take gdb's own -options for ours
        return guarded(lambda: run_gdb(words[1:]))
    args = make_parser().parse_args(words)
    return guarded(lambda: args.run(args))


if __name__ == "__main__":
    sys.exit(main())
