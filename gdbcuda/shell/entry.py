"""The entry points. Ctrl-C while the modules load ends the command as it ends any other: without a traceback."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Callable
from types import ModuleType


def main() -> int:
    """``gdbcuda``"""
    return ended(lambda: loaded().main())


def gdb_main() -> int:
    """``gdbcuda-gdb``"""
    return ended(lambda: loaded().gdb_main())


def ended(action: Callable[[], int]) -> int:
    """PYTHONINSPECT is said to the program's Python. Ours would ask at a prompt too, and end with another status."""
    if not (sys.flags.inspect and os.environ.get("PYTHONINSPECT")):
        return int(action())
    try:
        status = int(action())
    except SystemExit as end:  # --help
        status = end.code if isinstance(end.code, int) else 0
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(status)


def loaded() -> ModuleType:
    """Where SIGINT is ignored, as for what a shell starts behind `&`, it stays ignored."""
    is_heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_heard:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from gdbcuda.shell import cli

    if is_heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return cli
