"""The memory of a process of this machine as it really is: gdb's own reads show what is under its breakpoints.

(proc(5): /proc/PID/mem, which a process's tracer may read and write, code included.) At the far end of a link there is
only gdb's way.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Union

import gdb

from gdbcuda.errors import Unreadable
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.process.memory import InferiorMemory
from gdbcuda.live.process.state import connection, is_remote
from gdbcuda.memory.opened import OpenedMemory


class RawMemory(OpenedMemory):
    def __init__(self, pid: int) -> None:
        super().__init__(pid, os.O_RDWR)

    def write(self, address: int, raw: bytes) -> None:
        try:
            written = os.pwrite(self._file, raw, address)
        except (OSError, OverflowError):
            written = 0
        if written < len(raw):
            raise Unreadable(address, len(raw))


class FarMemory(InferiorMemory):
    """Through gdb and its link: breakpoints stay where they are, and what is below them is changed."""

    def write(self, address: int, raw: bytes) -> None:
        try:
            gdb.selected_inferior().write_memory(address, raw)
        except (gdb.error, OverflowError, ValueError):
            raise Unreadable(address, len(raw)) from None


WritableMemory = Union[RawMemory, FarMemory]


def close_all(opened: list[RawMemory]) -> None:
    for one in opened:
        one.close()


_opened: PerInferior[list[RawMemory]] = PerInferior(list, close_all)


def raw_memory() -> RawMemory | None:
    """Of the selected inferior; None where it is not a process of this machine that gdb itself traces."""
    opened, pid = _opened(), gdb.selected_inferior().pid
    if not opened and pid and connection() == "native":
        try:
            opened.append(RawMemory(pid))
        except OSError:
            return None
    return opened[0] if opened else None


def writable_memory() -> WritableMemory | None:
    """The same, or what is at the far end of a link."""
    return raw_memory() or (FarMemory() if is_remote() else None)


SYS_KCMP, KCMP_VM = 312, 1  # (asm/unistd_64.h, linux/kcmp.h)


def unfollowed_children() -> Iterator[int]:
    """Pids of children that a fork has made, and of which gdb does not know yet: they stand still, traced by gdb, as
    long as the event about them waits. Complete where all threads of the process stand still."""
    known = {one.pid for one in gdb.inferiors()}
    for child in sorted(children_of(gdb.selected_inferior().pid) - known):
        if tracer_of(child) == os.getpid():
            yield child


def has_sharing_child() -> bool:
    """A child that runs in the process's own memory: it stands still for nobody. (kcmp(2); gdb lets it go.)"""
    if is_remote():
        return False  # not known
    pid, known = gdb.selected_inferior().pid, {one.pid for one in gdb.inferiors()}
    return any(shares_memory(pid, child) and tracer_of(child) != os.getpid() for child in children_of(pid) - known)


def shares_memory(one: int, other: int) -> bool:
    import ctypes  # loaded when first used

    return int(ctypes.CDLL(None).syscall(SYS_KCMP, one, other, KCMP_VM, 0, 0)) == 0


def children_of(pid: int) -> set[int]:
    found: set[int] = set()
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found.update(map(int, file.read().split()))
    except OSError:  # the process is ending; or a kernel without CONFIG_PROC_CHILDREN
        pass
    return found


def tracer_of(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/status") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("TracerPid:")), 0)
    except OSError:
        return 0
