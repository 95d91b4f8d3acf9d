"""The memory of a process of this machine, by its file. (proc(5): /proc/PID/mem, for who may trace the process.)"""

from __future__ import annotations

import os

from gdbcuda.errors import Unreadable


class OpenedMemory:
    def __init__(self, pid: int, mode: int = os.O_RDONLY) -> None:
        """OSError where it cannot be opened."""
        self.pid, self._file = pid, os.open(f"/proc/{pid}/mem", mode | os.O_CLOEXEC)

    def read(self, address: int, size: int) -> bytes:
        """`Unreadable` where nothing is mapped."""
        try:
            found = os.pread(self._file, size, address)
        except (OSError, OverflowError):
            found = b""
        if len(found) < size:
            raise Unreadable(address, size)
        return found

    def close(self) -> None:
        os.close(self._file)
