"""Files of the user: those that we change are read as they are and written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from typing import TextIO

from gdbcuda.errors import UserError, cannot


def read(path: str) -> str:
    """The text with its line ends as they are; "" where there is no file."""
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # a FIFO would be waited for
            raise UserError(f"cannot read {path}: it is not a file")
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except OSError as problem:
        raise cannot(f"read {path}", problem) from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text") from None


def create(path: str) -> TextIO:
    """A text file to write, a line at a time, from its beginning on. `UserError` also for a FIFO that nobody reads: it
    is not waited for."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)
    except OSError as problem:
        is_fifo = problem.errno == errno.ENXIO and stat.S_ISFIFO(os.stat(path).st_mode)
        if is_fifo:
            raise UserError(f"cannot write {path}: nobody reads from this FIFO") from None
        raise cannot(f"write {path}", problem) from None
    os.set_blocking(file, True)
    return open(file, "w", encoding="utf-8", errors="surrogateescape", buffering=1)


def need_room_for(path: str) -> None:
    """`UserError` where `save` could not write it."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise UserError(f"cannot write {path}: there is no folder {folder}")
    if os.path.isdir(path) or not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise UserError(f"cannot write {path}: {'it is a folder' if os.path.isdir(path) else 'permission denied'}")


def save(path: str, text: str) -> None:
    """What the user has asked to be written there."""
    try:
        with create(path) as file:
            file.write(text)
    except OSError as problem:
        raise cannot(f"write {path}", problem) from None


def write(path: str, text: str) -> None:
    """Through a second file in the same directory that takes the place of the first; links and modes stay."""
    import tempfile  # with what it needs, 4 ms of each start of gdb

    path = os.path.realpath(path)
    temporary = ""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=os.path.basename(path))
        with open(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.chmod(temporary, mode_of(path))
        os.replace(temporary, path)
    except OSError as problem:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
        raise cannot(f"write {path}", problem) from None


def mode_of(path: str) -> int:
    """Of the file that is there; of a new one as the umask wants it."""
    try:
        return os.stat(path).st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
