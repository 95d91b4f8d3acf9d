"""Pages that the program is made to map: the one place where guards call a function in it.

Only libc's mmap and munmap, which take no lock and allocate nothing, and only where the selected thread is in code of
the program or its libraries: not in libc, where a system call may be under way, not in ld.so, not in a signal handler.
The other threads are held, errno stays as it was. (mmap(2); gdb manual: "Calling Program Functions".)
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import gdb

from gdbcuda.api import vendor
from gdbcuda.errors import UserError
from gdbcuda.linkage.image import Image
from gdbcuda.live import layers, process
from gdbcuda.live.breakpoints.locations import places
from gdbcuda.live.frames import frames
from gdbcuda.live.host import gdb_cli
from gdbcuda.live.threads import positions, standstill
from gdbcuda.machine import free_ranges
from gdbcuda.machine.detour import NoDetour

SIZE = 1 << 16
READ_WRITE, READ_EXECUTE, PRIVATE_ANONYMOUS = 3, 5, 0x22
ANYWHERE = 1 << 64
FAILED = (1 << 64) - 4095
MOST_FRAMES, MOST_TRIES = 200, 4
calling: list[bool] = []  # what gdb tells of the call is nobody's stop


def map_writable() -> tuple[int, int]:
    """Address and size of pages for words, somewhere; `NoDetour` with the reason."""
    return map_near(0, ANYWHERE, READ_WRITE)


def map_near(near: int, reach: int, protection: int = READ_EXECUTE) -> tuple[int, int]:
    """Address and size of pages within reach; `NoDetour` with the reason."""
    libc = require_safe_stop()
    segments = [(start, end) for one in process.images() for start, end, _ in one.segments]
    with undisturbed():
        errno = call(libc, "__errno_location")
        before = process.InferiorMemory().read(errno, 4)
        hints = [] if reach == ANYWHERE else free_ranges.gaps(segments, SIZE, near, reach)[:MOST_TRIES]
        for hint in [*hints, 0]:
            found = call(libc, "mmap", hint, SIZE, protection, PRIVATE_ANONYMOUS, -1, 0)
            if found < FAILED and abs(found - near) < reach - SIZE:
                return found, SIZE
            if found < FAILED:
                call(libc, "munmap", found, SIZE)
            else:
                gdb.selected_inferior().write_memory(errno, before)
    raise NoDetour("the system has no page for them within reach")


def unmap(start: int, size: int) -> None:
    libc = require_safe_stop()
    with undisturbed():
        if call(libc, "munmap", start, size):
            raise NoDetour("munmap failed")


def require_safe_stop() -> Image:
    """libc, if it may be called; else `NoDetour`."""
    if process.is_running() or process.connection() == "core":
        raise NoDetour("the program runs")
    libc = next((one for one in process.images() if one.lookup("__errno_location") and one.lookup("mmap")), None)
    if libc is None:
        raise NoDetour("libc's mmap is not known")
    innermost = list(frames.innermost(MOST_FRAMES))
    if layers.layer_of(innermost[0].pc(), innermost[0].name() or "") == "system":
        raise NoDetour("the selected thread is in a system library (cuda-guards in the program's code tries again)")
    if any(one.type() == gdb.SIGTRAMP_FRAME for one in innermost):
        raise NoDetour("the selected thread is in a signal handler")
    if any(vendor.is_loader(process.object_of(one.pc())) for one in innermost):
        raise NoDetour("the loader is at work")
    if would_stop(libc):
        raise NoDetour("a breakpoint or catchpoint would stop the program in mmap")
    return libc


def would_stop(libc: Image) -> bool:
    functions = [symbol for name in ("mmap", "munmap", "__errno_location") if (symbol := libc.lookup(name))]
    inside = [range(one.address, one.address + max(one.size, 1)) for one in functions]
    stops = any(
        at in one
        for made in gdb.breakpoints()
        if made.enabled and made.number > 0
        for at, on in places(made)
        if on
        for one in inside
    )
    return stops or "catchpoint" in gdb_cli.execute("info breakpoints")


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    calling.append(True)
    try:
        with positions.same_thread(), standstill.other_threads_held(), gdb_cli.setting("unwindonsignal", "on"):
            yield
    except UserError as problem:
        raise NoDetour(str(problem)) from None
    finally:
        calling.pop()


def call(libc: Image, name: str, *arguments: int) -> int:
    function = libc.lookup(name)
    assert function is not None
    types, given = ", ".join(["unsigned long"] * len(arguments)), ", ".join(f"{one}ul" for one in arguments)
    given = given.replace("-1ul", "~0ul")
    try:
        value = gdb_cli.evaluated(f"((unsigned long (*)({types})) {function.address:#x})({given})")
    except gdb.error as problem:
        raise NoDetour(f"{name} cannot be called in the program ({str(problem).splitlines()[0]})") from None
    return int(value) & (1 << 64) - 1
