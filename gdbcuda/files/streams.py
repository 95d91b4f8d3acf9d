"""Files that are read once from beginning to end, pipes among them."""

from __future__ import annotations

import os
import select
import stat
from contextlib import ExitStack
from typing import TYPE_CHECKING, BinaryIO

from gdbcuda.errors import UserError
from gdbcuda.text import output
from gdbcuda.text.printable import visible

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE = 1.0  # seconds without a word


def opened(path: str | Path) -> BinaryIO:
    """Of a FIFO into which nobody writes it is said that it is waited for; Ctrl-C ends that."""
    if not stat.S_ISFIFO(os.stat(path).st_mode):
        return open(path, "rb")
    with ExitStack() as unless_opened:
        stream = unless_opened.enter_context(os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb"))
        if not is_written(stream, PATIENCE):
            name = visible(os.fspath(path))
            output.complain(f"gdbcuda: waiting for somebody to write into {name}, which is a FIFO (Ctrl-C ends it)")
            is_written(stream, None)
        os.set_blocking(stream.fileno(), True)
        unless_opened.pop_all()
        return stream


def require_end(stream: BinaryIO, name: str | Path) -> None:
    """Of devices a terminal has one, and /dev/null; /dev/zero and others are read for ever."""
    found = os.fstat(stream.fileno())
    if stat.S_ISCHR(found.st_mode) and not stream.isatty() and found.st_rdev != os.stat(os.devnull).st_rdev:
        raise UserError(f"{name} is a device: a file or a pipe is needed")


def is_written(stream: BinaryIO, seconds: float | None) -> bool:
    """Is something there, or was it, within that time?"""
    return bool(select.select([stream], [], [], seconds)[0])
