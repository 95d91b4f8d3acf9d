"""Our library into a process that gdb has attached to: the next thread that calls the API loads it on its way.

It holds no lock of the C library there, and a program that makes no call has nothing to record. No function is called
by gdb: one thread's pc is set, which debuggers can do that cannot call. A library, not pages with our code: unwinders,
C++ exceptions and profilers know what the loader has loaded. (machine.library_call; dlopen(3).)
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import gdb

from gdbcuda.data_classes import replace
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.files import places
from gdbcuda.linkage.image import LoadedSymbol
from gdbcuda.live import process
from gdbcuda.live.guard.watch import Watch, trash
from gdbcuda.live.guarding import seccomp, without_gdb
from gdbcuda.live.host import gdb_cli, interrupts
from gdbcuda.live.layers import this_snapshot
from gdbcuda.live.patching import agent, detours, nearby_space, trampoline_space
from gdbcuda.live.patching.nearby_space import Leftover
from gdbcuda.live.placing import own_process
from gdbcuda.live.recording.base import planting
from gdbcuda.live.recording.base.footprint import RecordWish
from gdbcuda.live.recording.entries import function_slots
from gdbcuda.live.recording.in_process import near_pages
from gdbcuda.live.recording.in_process.near_pages import Pages
from gdbcuda.machine import library_call
from gdbcuda.machine.detour import NoDetour
from gdbcuda.machine.free_ranges import aligned
from gdbcuda.rings import ring_layout

IN_LIBC = ("libc.so", "libc-", "libdl.so", "libdl-")
HAS_ENDED = "the program has ended"
NO_WAY = "our library cannot be loaded into this process:"


class Arrival(own_process.Internal):
    """Stops the program."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.silent = True

    def stop(self) -> bool:
        return True


def bring(wish: RecordWish) -> bool:
    """What is missing, the library or pages near functions that are far from it: the program runs up to its next call
    of one of these functions, and stops there; else `UserError`. False where nothing is missing."""
    if not process.is_alive() or not gdb.selected_inferior().was_attached:
        return False
    trampoline_space.clean()  # a thread may not have come to its end the last time
    spots = [spot for one in this_snapshot.objects().all
             for spot in planting.spots(one, wish.functions, wish.places)]  # fmt: skip
    if agent.area() is not None and not near_pages.missing(spots):
        return False
    if seccomp.is_confined():
        raise UserError(f"{NO_WAY} it confines itself with seccomp")
    if is_gone():
        raise UserError(HAS_ENDED)
    path = seen_path() if agent.area() is None else ""
    if not spots:
        raise UserError("nothing to record: no library that is loaded has one of these functions")
    function = arrive([one.address for one in spots], "a call of the API")
    if path:
        load(path, function)
    map_near(near_pages.near(near_pages.missing(spots), wish.condition is not None), function)
    return True


def is_gone() -> bool:
    """Not even the instruction that it stands at can be read: gdb, or gdbserver, has not heard of its end yet."""
    try:
        process.InferiorMemory().read(process.register("pc"), 1)
    except (Unreadable, gdb.error):
        return True
    return False


def load(path: str, function: int) -> None:
    """The thread is about to call it."""
    start, arrived, size = prepare(path, function)
    raw = process.InferiorMemory().read(start, size)
    nearby_space.OUR_MEMORY().left[start] = Leftover(raw, bytes(size), calls_out=True)
    try:
        process.set_register("pc", start)
        arrive([arrived], "the library")
    except (UserError, KeyboardInterrupt):
        look_out(start, arrived)
        raise
    has_come_back(start)
    handle = process.register("rax")
    arrive([function], "the function", gdb.selected_thread().global_num)
    trampoline_space.clean()
    process.forget()
    if not handle or agent.area() is None:
        raise UserError(f"{NO_WAY} its dlopen refuses {path}")


def look_out(start: int, arrived: int) -> None:
    """It has stopped on the way, and will go on: from there on nothing returns into that code, whatever words are left
    on a stack."""

    def look() -> None:
        has_come_back(start)
        trash.append(watch)

    if process.is_alive():
        without_gdb.watch()
        watch = Watch(arrived, look)


def has_come_back(start: int) -> None:
    left = nearby_space.OUR_MEMORY().left
    if start in left:
        left[start] = replace(left[start], calls_out=False)


def map_near(wanted: Sequence[Pages], function: int) -> None:
    """By the same thread. Where it cannot, functions that are far away are not recorded."""
    go = agent.symbol(ring_layout.GO_MAP_SYMBOL)
    if not wanted or go is None:
        return
    near_pages.ask(wanted, function)
    process.set_register("pc", go.address)
    thread = gdb.selected_thread().global_num
    arrive([function_slots.require(ring_layout.MAPPED_SYMBOL)], "the pages near its libraries", thread)
    near_pages.take(len(wanted))
    arrive([function], "the function", thread)


def seen_path() -> str:
    """Of our library, if the process has the same file under that name."""
    path = places.agent()
    if process.is_remote():
        if process.is_there(path):
            return path
        raise UserError(f"{NO_WAY} its machine has no {path}")
    with suppress(OSError):
        if os.path.samefile(path, f"/proc/{gdb.selected_inferior().pid}/root{path}"):
            return path
    raise UserError(f"{NO_WAY} it does not see {path} (is it in a container?)")


def arrive(addresses: list[int], where: str, thread: int | None = None) -> int:
    """Goes on until a thread, or that one, is at one of them; it is selected then."""
    with stopping_at(addresses, thread):
        with suppress(gdb.error):
            gdb_cli.execute("continue")
        if not process.is_alive():
            raise UserError(HAS_ENDED)
        pc = process.register("pc")
        if pc not in addresses:
            raise UserError(f"the program has stopped before {where}: nothing is recorded")
        return pc


@contextmanager
def stopping_at(addresses: list[int], thread: int | None) -> Iterator[None]:
    made: list[Arrival] = []
    try:
        for address in dict.fromkeys(addresses):
            make(address, thread, made)
        yield
    finally:
        put_away(made)


@interrupts.uninterrupted
def make(address: int, thread: int | None, made: list[Arrival]) -> None:
    """One that nobody knows of would stop the program there for ever, and say nothing."""
    one = Arrival(address)
    made.append(one)
    if thread is not None:
        if hasattr(one, "inferior"):
            one.inferior = None  # a thread is of one process already: gdb takes no more than one of the two
        one.thread = thread


@interrupts.uninterrupted
def put_away(made: list[Arrival]) -> None:
    for one in made:
        if one.is_valid():
            one.delete()


def prepare(path: str, function: int) -> tuple[int, int, int]:
    """(where the code is, where a thread is in it when the library is there, bytes)."""
    dlopen, errno = in_libc("dlopen", "__libc_dlopen_mode"), in_libc("__errno_location")
    flags = library_call.RTLD_NOW | (library_call.FOR_DLOPEN if dlopen.name != "dlopen" else 0)
    raw, _ = library_call.code(path, dlopen.address, errno.address, flags, function, 0)
    try:
        start = trampoline_space.room_for(function, aligned(len(raw)), False)
        raw, arrived = library_call.code(path, dlopen.address, errno.address, flags, function, start)
        nearby_space.OUR_MEMORY().taken[start] = len(raw)
        detours.write(start, raw)
    except NoDetour as reason:
        raise UserError(f"{NO_WAY} {reason}") from None
    return start, arrived, len(raw)


def in_libc(*names: str) -> LoadedSymbol:
    for name in names:
        for one in process.images():
            if os.path.basename(one.name).startswith(IN_LIBC) and (found := one.lookup(name)) is not None:
                return found
    raise UserError(f"{NO_WAY} it has no {names[0]} of glibc")
