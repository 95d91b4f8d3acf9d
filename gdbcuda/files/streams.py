"""Files that are read once from beginning to end, pipes among them."""

from __future__ import annotations

import os
import select
import stat
from typing import TYPE_CHECKING, BinaryIO

from gdbcuda.text import output
from gdbcuda.text.printable import visible

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE = 1.0  # seconds without a word


def opened(path: str | Path) -> BinaryIO:
    """Of a FIFO into which nobody writes it is said that it is waited for; Ctrl-C ends that."""
    if not stat.S_ISFIFO(os.stat(path).st_mode):
        return open(path, "rb")
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not is_written(descriptor, PATIENCE):
            name = visible(os.fspath(path))
            output.complain(f"gdbcuda: waiting for somebody to write into {name}, which is a FIFO (Ctrl-C ends it)")
            is_written(descriptor, None)
        os.set_blocking(descriptor, True)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def is_written(descriptor: int, seconds: float | None) -> bool:
    """Is something there, or was it, within that time?"""
    return bool(select.select([descriptor], [], [], seconds)[0])
