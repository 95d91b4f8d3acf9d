"""Code of the program that makes system calls past libc: nobody sees when the program confines itself by one, or makes
a child that shares its memory.

The code is read before we may ask the kernel: the program's, the hook library's, any other's but the vendor's and
the system's, unless there is very much of it. In a large object, and in code without a symbol, only a call counts in
front of which its number is loaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property

from gdbcuda.api import vendor
from gdbcuda.data_classes import dataclass
from gdbcuda.errors import Unreadable
from gdbcuda.linkage.image import Image
from gdbcuda.live import layers, process
from gdbcuda.live.guarding import seccomp
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.patching import detours
from gdbcuda.machine.x86 import x86_syscalls
from gdbcuda.machine.x86.x86_syscalls import CONFINING, NEAR, NO_CALL, SYSCALL, Wanted

PF_X = 1
PIECE, OVERLAP = 1 << 20, 128
MOST_EXACT, MOST_READ, MOST_FAR = 4 << 20, 1 << 26, 1 << 20  # bytes of code
MAKES = "{} makes system calls past libc, by one of which the program may confine itself with seccomp"


@dataclass(frozen=True)
class OwnCalls:
    """Of an object. ``instructions``: where these calls are; ``in_doubt``: there are more, as it seems."""

    name: str
    instructions: frozenset[int] = frozenset()
    in_doubt: bool = False

    def __bool__(self) -> bool:
        return self.in_doubt or bool(self.instructions)

    @property
    def reason(self) -> str:
        return MAKES.format(os.path.basename(self.name))


class SystemCallSite:
    """What may be a system call. ``code``: in front of it, with its own two bytes."""

    def __init__(self, address: int, code: bytes) -> None:
        self.address, self.code = address, code

    @cached_property
    def number(self) -> int | None:
        """By the instructions of the function that it is in, read once whatever is looked for."""
        return x86_syscalls.number_at(*detours.function_around(self.address))


SITES: PerInferior[dict[tuple[str, int], list[SystemCallSite]]] = PerInferior(dict)  # by name and base
KNOWN: PerInferior[dict[Wanted, dict[tuple[str, int], OwnCalls]]] = PerInferior(dict)  # by name and base


def objects(wanted: Wanted = CONFINING) -> list[OwnCalls]:
    """Those that have such code."""
    known, images = KNOWN().setdefault(wanted, {}), process.images()
    for one in images:
        if (one.name, one.base) not in known:
            known[one.name, one.base] = look(wanted, one)
    return [calls for calls in (known[one.name, one.base] for one in images) if calls]


def reason() -> str:
    """Why the kernel is not asked in this process; "" where it may be."""
    return next((f"{one.reason}, and {seccomp.WOULD_ASK}" for one in objects()), "")


def look(wanted: Wanted, image: Image) -> OwnCalls:
    name = image.name or process.strip_prefix(process.program())
    if layers.layer_of_object(name) in ("system", "runtime", "driver") or vendor.is_compute_library(name):
        return OwnCalls(name)
    ranges = [(start, end) for start, end, flags in image.segments if flags & PF_X]
    size = sum(end - start for start, end in ranges)
    if size > (MOST_FAR if process.is_remote() else MOST_READ):
        return OwnCalls(name)
    found = list(calls(wanted, scanned(name, image.base, ranges), size <= MOST_EXACT))
    known = frozenset(at for at, is_sure in found if is_sure)
    return OwnCalls(name, known, any(at not in known for at, _ in found))


def scanned(name: str, base: int, ranges: Sequence[tuple[int, int]]) -> list[SystemCallSite]:
    """Read once, whatever is looked for: the code of some objects is 60 MB."""
    known = SITES()
    if (name, base) not in known:
        known[name, base] = [one for low, end in ranges for start in range(low, end, PIECE)
                             for one in sites(start, min(start + PIECE + OVERLAP, end))]  # fmt: skip
    return known[name, base]


def sites(start: int, end: int) -> Iterator[SystemCallSite]:
    try:
        code = process.original_code(start, end - start)
    except Unreadable:
        return
    for at in x86_syscalls.offsets(code):
        yield SystemCallSite(start + at, code[max(0, at - NEAR) : at + len(SYSCALL)])


def calls(wanted: Wanted, found: Sequence[SystemCallSite], is_exact: bool) -> Iterator[tuple[int, bool]]:
    """(where it is, whether that is surely an instruction)."""
    for one in found:
        is_sure = x86_syscalls.is_wanted(wanted, one.code, one.number if is_exact else NO_CALL)
        if is_sure is not None:
            yield one.address, is_sure
