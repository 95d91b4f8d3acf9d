"""Who has a file locked, as the kernel lists it.

(proc(5): /proc/locks, /proc/PID/fdinfo; flock(2); fcntl(2): "Advisory record locking", "Open file description locks".)
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

from gdbcuda.errors import Unreadable
from gdbcuda.locks.waits import F_OFD_SETLKW, FLOCK, WaitingCall
from gdbcuda.memory import Memory

# "1: POSIX  ADVISORY  WRITE 9621 fe:00:2181459 0 EOF"; of those that wait "->" stands behind the number.
LINE = re.compile(r"^(?:lock:\s*)?\d+: (FLOCK|POSIX|OFDLCK)\s+\w+\s+(\w+)\s+(-?\d+)\s+([0-9a-f]+:[0-9a-f]+):(\d+)"
                  r"\s+(\d+)\s+(\d+|EOF)", re.MULTILINE)  # fmt: skip
STRUCT_FLOCK = struct.Struct("<hhxxxxqq")
F_RDLCK, SEEK_SET, END = 0, 0, (1 << 63) - 1
LOCK_EX = 2
KINDS = {"FLOCK": "flock", "POSIX": "fcntl lock", "OFDLCK": "open file description lock"}


class FileLock(NamedTuple):
    """``pid``: -1 of an open file description's. ``device``: "fe:00". ``end`` is of the last byte."""

    kind: str
    is_exclusive: bool
    pid: int
    device: str
    inode: int
    start: int
    end: int

    def stops(self, wanted: FileLock) -> bool:
        """Does the lock stand in the way of the wanted one? (flock and fcntl do not see each other.)"""
        is_flock = [one.kind == "flock" for one in (self, wanted)]
        return (self.inode == wanted.inode and is_flock[0] == is_flock[1]
                and (self.is_exclusive or wanted.is_exclusive)
                and self.start <= wanted.end and wanted.start <= self.end
                and not (self.kind == wanted.kind == "fcntl lock" and self.pid == wanted.pid))  # fmt: skip


def listed(text: str) -> Iterator[FileLock]:
    """Of /proc/locks, or of the lock lines of a fdinfo, those that somebody has."""
    for kind, mode, pid, device, inode, start, end in LINE.findall(text):
        last = END if end == "EOF" else int(end)
        yield FileLock(KINDS[kind], mode == "WRITE", int(pid), device, int(inode), int(start), last)


def wanted_by(call: WaitingCall, memory: Memory, pid: int, inode: int) -> FileLock:
    """What the thread's call asks for. Where a range is told from the file's position or end, it is the whole file."""
    _, operation, address = call.arguments
    if call.number == FLOCK:
        return FileLock("flock", bool(operation & LOCK_EX), pid, "", inode, 0, END)
    kind = "open file description lock" if operation == F_OFD_SETLKW else "fcntl lock"
    try:
        mode, whence, start, length = STRUCT_FLOCK.unpack(memory.read(address, STRUCT_FLOCK.size))
    except Unreadable:
        mode, whence, start, length = 1, SEEK_SET, 0, 0
    if whence != SEEK_SET or start < 0:
        start, length = 0, 0
    first, last = (start + length, start - 1) if length < 0 else (start, start + length - 1 if length else END)
    return FileLock(kind, mode != F_RDLCK, pid, "", inode, max(first, 0), last)


def inode_of(fdinfo: str) -> int:
    """0 where the kernel (before 5.14) does not say."""
    found = re.search(r"^ino:\s*(\d+)", fdinfo, re.MULTILINE)
    return int(found[1]) if found else 0
