"""Processes of this user's, read as a debugger reads them."""

from __future__ import annotations

import os
import struct
from pathlib import Path

from gdbcuda.errors import Unreadable

AT_PHDR, AT_PHNUM, AT_ENTRY = 3, 5, 9


class ProcessMemory:
    """``pid`` "self": this one. ``reads`` counts."""

    def __init__(self, pid: int | str = "self") -> None:
        self.descriptor = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
        self.reads = 0

    def close(self) -> None:
        os.close(self.descriptor)

    def read(self, address: int, size: int) -> bytes:
        self.reads += 1
        try:
            data = os.pread(self.descriptor, size, address)
        except (OSError, OverflowError):
            raise Unreadable(address, size) from None
        if len(data) < size:
            raise Unreadable(address, size)
        return data


def auxiliary(pid: int | str = "self") -> dict[int, int]:
    """getauxval(3) of the process."""
    return dict(struct.iter_unpack("<QQ", Path(f"/proc/{pid}/auxv").read_bytes()))
