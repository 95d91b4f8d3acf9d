"""Ctrl-C while a recorder is made ready: it is taken back.

It would go on with some of the functions, behind gdb's own "Quit".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gdbcuda.errors import UserError
from gdbcuda.live.recording import call_log


@contextmanager
def all_or_nothing() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        call_log.stop()
        raise UserError("interrupted: nothing is recorded (cuda-log start)") from None
