"""The entry points. Ctrl-C while the modules load ends the command as it ends any other: without a traceback."""

from __future__ import annotations

import signal
from types import ModuleType


def main() -> int:
    """``gdbcuda``"""
    return int(loaded().main())


def gdb_main() -> int:
    """``gdbcuda-gdb``"""
    return int(loaded().gdb_main())


def loaded() -> ModuleType:
    """Where SIGINT is ignored, as for what a shell starts behind `&`, it stays ignored."""
    is_heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_heard:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from gdbcuda.shell import cli

    if is_heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return cli
