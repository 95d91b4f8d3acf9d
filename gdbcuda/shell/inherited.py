"""What a program inherits that we become, or that we start by fork: nothing that Python has set up for itself."""

from __future__ import annotations

import os
import signal

from gdbcuda.errors import UserError

OF_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)  # it ignores them, and a program that is executed goes on to
STREAMS = ("input", "output", "error output")


def signals_of_a_shell() -> None:
    """In front of exec. (`subprocess` does the same by itself: restore_signals.)"""
    for one in OF_PYTHON:
        signal.signal(one, signal.SIG_DFL)


def require_open(*streams: int) -> None:
    """Of the program, which gdb has to hand on: Python's own error names none of them."""
    for one in streams:
        try:
            os.fstat(one)
        except OSError:
            raise UserError(f"the standard {STREAMS[one]} is closed: let it be /dev/null") from None
