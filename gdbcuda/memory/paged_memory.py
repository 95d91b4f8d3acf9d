"""Memory read in whole pages and kept: many small reads of neighbouring tables become few large ones.

A remote target answers one packet for a page as it does for eight bytes. What is kept goes stale as soon as the
program runs: keep a `PagedMemory` for tables that the loader does not write again, or for the time of one command.
"""

from __future__ import annotations

from gdbcuda.errors import Unreadable
from gdbcuda.memory import PAGE, Memory

LARGEST = 64 << 20  # a length read from a damaged process is not a reason to fetch gigabytes


class PagedMemory:
    """A `Memory` over another one."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.pages: dict[int, bytes] = {}

    def read(self, address: int, size: int) -> bytes:
        """As `Memory.read`; a page that cannot be had as a whole is asked for byte by byte as wanted."""
        if size <= 0:
            return b""
        if address < 0 or size > LARGEST:
            raise Unreadable(address, size)
        first, last = address // PAGE, (address + size - 1) // PAGE
        try:
            if first != last or first not in self.pages:
                self._fetch(first, last)
        except Unreadable:
            return self.memory.read(address, size)
        start = address % PAGE
        if first == last:
            return self.pages[first][start : start + size]
        return b"".join(self.pages[page] for page in range(first, last + 1))[start : start + size]

    def _fetch(self, first: int, last: int) -> None:
        """Every run of pages that is not here yet in one read."""
        page = first
        while page <= last:
            start = page
            while page <= last and page not in self.pages:
                page += 1
            if page > start:
                self._keep(start, self.memory.read(start * PAGE, (page - start) * PAGE))
            page += 1

    def _keep(self, first: int, data: bytes) -> None:
        for number in range(len(data) // PAGE):
            self.pages[first + number] = data[number * PAGE : (number + 1) * PAGE]
