"""Room for a few stubs (`gdbcuda.routes.stub`) in the process: zero bytes behind an executable segment, given back.

From the end of the page downwards, so that whoever takes such room from its beginning finds it short, not broken.
"""

from __future__ import annotations

from collections.abc import Iterator

import gdb

from gdbcuda.errors import Unreadable, UserError
from gdbcuda.live import target
from gdbcuda.memory import PAGE
from gdbcuda.routes.stub import MOST_BYTES

PF_X = 1
MOST_STUBS = 16

_free: list[int] = []
_busy: dict[tuple[int, int], int] = {}  # (thread, stack pointer after the return) -> address
_leads_to: dict[int, int] = {}  # address -> where the resolver would have returned to
_looked = False


def forget_process() -> None:
    global _looked
    _looked = False
    _free.clear()
    _busy.clear()
    _leads_to.clear()


def real_return(address: int) -> int:
    """What is behind a return address: a resolver that we have led over a stub may jump on to another one."""
    return _leads_to.get(address, address)


def take(key: tuple[int, int], back: int) -> int:
    """The address of MOST_BYTES for the request of that key; UserError where there is no room."""
    global _looked
    if not _looked:
        _looked = True
        _free.extend(next(rooms(), []))
    if not _free:
        raise UserError("no unused bytes behind any executable segment" if not _busy else "too many requests at once")
    address = _busy[key] = _free.pop()
    _leads_to[address] = back
    return address


def give_back(key: tuple[int, int]) -> None:
    """The request has returned: the bytes are zero again."""
    address = _busy.pop(key, None)
    if address is not None:
        write(address, bytes(MOST_BYTES))
        del _leads_to[address]
        _free.append(address)


def rooms() -> Iterator[list[int]]:
    """Addresses for stubs, all of one segment; of the last objects first, where nobody else looks."""
    ends = [end for one in target.images() for _, end, flags in one.segments if flags & PF_X]
    for end in reversed(ends):
        page_end = end + -end % PAGE
        count = min((page_end - end) // MOST_BYTES, MOST_STUBS)
        if count and is_zero(end, page_end - end):
            yield [page_end - (number + 1) * MOST_BYTES for number in range(count)]


def is_zero(address: int, size: int) -> bool:
    try:
        return not any(target.InferiorMemory().read(address, size))
    except Unreadable:
        return False


def write(address: int, raw: bytes) -> None:
    """UserError where the target does not let us, or does not do it."""
    try:
        gdb.selected_inferior().write_memory(address, raw)
    except gdb.error as problem:
        raise UserError(f"memory at {address:#x} cannot be written ({problem})") from None
    if target.InferiorMemory().read(address, len(raw)) != raw:
        raise UserError(f"memory at {address:#x} cannot be written (it reads back differently)")
