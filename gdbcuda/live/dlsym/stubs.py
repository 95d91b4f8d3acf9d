"""Room for a few stubs (`gdbcuda.routes.stub`) in the process: zero bytes behind an executable segment, given back.

From the end of the page downwards, so that whoever takes such room from its beginning finds it short, not broken.
"""

from __future__ import annotations

import gdb

from gdbcuda.api import vendor
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.linkage.image import Image
from gdbcuda.live import process
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.memory import PAGE
from gdbcuda.routes import stub

PF_X = 1
MOST_STUBS = 16  # of one object


class Places:
    def __init__(self) -> None:
        self.free: dict[int, list[int]] = {}  # link_map of an object -> its unused places
        # (thread, stack pointer after the return) -> (address, object)
        self.busy: dict[tuple[int, int], tuple[int, int]] = {}
        self.leads_to: dict[int, int] = {}  # address -> where the resolver would have returned to


PLACES: PerInferior[Places] = PerInferior(Places)


def real_return(address: int) -> int:
    """What is behind a return address: a resolver that we have led over a stub may jump on to another one."""
    return PLACES().leads_to.get(address, address)


def take(key: tuple[int, int], back: int) -> int:
    """The address of `stub.MOST_BYTES` for the request of that key; UserError where there is no room."""
    places = PLACES()
    for image in hosts(back):
        if image.handle not in places.free:
            places.free[image.handle] = rooms(image)
        if places.free[image.handle]:
            address = places.free[image.handle].pop()
            places.busy[key], places.leads_to[address] = (address, image.handle), back
            return address
    raise UserError("no unused bytes behind any executable segment" if not places.busy else "too many requests at once")


def hosts(back: int) -> list[Image]:
    """The caller's own object first: dlsym finds the caller by the return address. Never ld.so, which cannot be one."""
    found = [one for one in process.images() if not vendor.is_loader(one.name) and not vendor.is_vdso(one.name)]
    return sorted(found, key=lambda one: not one.holds(back))


def give_back(key: tuple[int, int]) -> None:
    """The request has returned: the bytes are zero again."""
    places = PLACES()
    if key not in places.busy:
        return
    address, handle = places.busy.pop(key)
    write(address, bytes(stub.MOST_BYTES))
    del places.leads_to[address]
    places.free[handle].append(address)


def rooms(image: Image) -> list[int]:
    for _, end, flags in image.segments:
        page_end = end + -end % PAGE
        count = min((page_end - end) // stub.MOST_BYTES, MOST_STUBS)
        if flags & PF_X and count and is_zero(end, page_end - end):
            return [page_end - (number + 1) * stub.MOST_BYTES for number in range(count)]
    return []


def is_zero(address: int, size: int) -> bool:
    try:
        return not any(process.InferiorMemory().read(address, size))
    except Unreadable:
        return False


def write(address: int, raw: bytes) -> None:
    """UserError where the target does not let us, or does not do it."""
    try:
        gdb.selected_inferior().write_memory(address, raw)
    except gdb.error as problem:
        raise UserError(f"memory at {address:#x} cannot be written ({problem})") from None
    if process.InferiorMemory().read(address, len(raw)) != raw:
        raise UserError(f"memory at {address:#x} cannot be written (it reads back differently)")
