"""gdb's numbers of the threads of one process. The kernel's number of a thread that has ended another one may have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import gdb

from gdbcuda.calls.record import Call
from gdbcuda.rings.ring import Record, Ring


class ThreadNumbers:
    def __init__(self) -> None:
        self.now: dict[int, int] = {}  # by the kernel's
        self.owners: dict[tuple[int, int], int] = {}  # of rings that were read, by address and the kernel's

    def meet(self, thread: gdb.InferiorThread) -> None:
        self.now[thread.ptid[1]] = thread.global_num

    def owned(self, read: list[tuple[Ring, list[Record]]]) -> list[tuple[Ring, list[Record]]]:
        """Later another thread may have that number."""
        for one, _ in read:
            if one.lwp in self.now:
                self.owners.setdefault((one.address, one.lwp), self.now[one.lwp])
        return read

    def told(self, ring: Ring, begun: Iterable[tuple[Call, Call | None]]) -> Iterator[tuple[Call, Call | None]]:
        number = self.owners.get((ring.address, ring.lwp)) or self.now.get(ring.lwp, ring.lwp)
        for call, around in begun:
            call.thread = number
            yield call, around
