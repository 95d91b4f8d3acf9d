"""The bytes of one file, read in bounded pieces, and the one-line answers for what is no readable file.

Read with pread and never mapped: a library that the user rebuilds in place while gdb looks at it would
kill gdb with SIGBUS at the next touch of the mapping.
"""

from __future__ import annotations

import os
import stat
from typing import Callable, Union

from gdbcuda.errors import UserError, cannot

# One piece is never larger: a header of a sparse file may claim any size.
LARGEST_PIECE = 256 << 20

PathOrBytes = Union[str, "os.PathLike[str]", bytes]


class Source:
    """``size`` bytes named ``name`` (for messages), read by ``read_at(offset, size)``."""

    def __init__(self, name: str, size: int, read_at: Callable[[int, int], bytes]) -> None:
        self.name = name
        self.size = size
        self._read_at = read_at

    def read(self, offset: int, size: int, what: str) -> bytes:
        """Exactly ``size`` bytes at ``offset``; UserError names ``what`` when the file does not hold them."""
        if offset < 0 or size < 0 or offset + size > self.size:
            raise UserError(
                f"{self.name}: truncated or corrupt: {what} would lie at {offset:#x} to {offset + size:#x}, "
                f"the file ends at {self.size:#x}"
            )
        if size > LARGEST_PIECE:
            most = LARGEST_PIECE >> 20
            raise UserError(f"{self.name}: {what} claims {size} bytes; more than {most} MiB are not read")
        try:
            data = self._read_at(offset, size)
        except OSError as problem:  # of a disk, or a file system that has gone
            raise cannot(f"read {self.name}", problem) from None
        if len(data) != size:
            raise UserError(f"{self.name}: became shorter while it was read (is it being rebuilt?)")
        return data


class _File:
    """Keeps a descriptor open for as long as somebody may read from it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def read_at(self, offset: int, size: int) -> bytes:
        return os.pread(self._descriptor, size, offset)

    def __del__(self) -> None:
        os.close(self._descriptor)


def open_source(path_or_bytes: PathOrBytes, needed: str = "a shared library or a program") -> Source:
    """A Source over a regular file or over bytes. UserError, one line, for everything else: what is ``needed``."""
    if isinstance(path_or_bytes, bytes):
        data = path_or_bytes
        return Source("<bytes>", len(data), lambda offset, size: data[offset : offset + size])
    path = os.fspath(path_or_bytes)
    try:
        # stat before open: opening a device can have effects, opening a FIFO can wait for ever
        _require_regular(path, os.stat(path).st_mode, needed)
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        file = _File(descriptor)
        status = os.fstat(descriptor)
    except OSError as error:
        link = f", a link to {os.readlink(path)}" if os.path.islink(path) else ""
        raise cannot(f"read {path}{link}", error) from None
    except ValueError as error:  # a NUL in the name
        raise UserError(f"{path!r}: {error}") from None
    _require_regular(path, status.st_mode, needed)
    if status.st_size == 0:
        raise UserError(f"{path}: the file is empty")
    return Source(path, status.st_size, file.read_at)


_OTHER_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def _require_regular(path: str, mode: int, needed: str) -> None:
    if stat.S_ISREG(mode):
        return
    kind = next((text for test, text in _OTHER_KINDS if test(mode)), "not a regular file")
    raise UserError(f"{path}: is {kind}; {needed} is needed")
