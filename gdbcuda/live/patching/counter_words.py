"""Words of 8 bytes in the process, which the machine code of guards counts in and knows threads by.

They are zero at first, and may be anywhere: in the zero bytes behind the .bss of an object that stays; where those are
used up, in a page that the program is made to map (`mapping`). Each stays what it is until gdb lets the process go, for
a thread may be about to use it.
"""

from __future__ import annotations

import struct

import gdb

from gdbcuda.data_classes import dataclass, field
from gdbcuda.live import process
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.patching import mapped_pages, nearby_space, trampoline_space
from gdbcuda.live.preloading import written_environment
from gdbcuda.machine.detour import NoDetour

SIZE = 8
Purpose = tuple[str, int]


@dataclass
class Words:
    """``known``: purpose -> address; ``pages``: mapped for us, (address, size); ``unused``: words of the last one."""

    known: dict[Purpose, int] = field(default_factory=dict)
    pages: list[tuple[int, int]] = field(default_factory=list)
    unused: list[int] = field(default_factory=list)


WORDS: PerInferior[Words] = PerInferior(Words)


def word(purpose: Purpose) -> int:
    """Its address, the same one when asked again; `room.NoRoom`."""
    known = WORDS().known
    if purpose not in known:
        known[purpose] = reserve()
    return known[purpose]


def reserve() -> int:
    try:
        return written_environment.store(bytes(SIZE), keep=True, align=SIZE)
    except written_environment.NoSpareBytes:
        return in_page()


def in_page() -> int:
    words = WORDS()
    if not words.unused:
        if not trampoline_space.is_calling_allowed():
            raise trampoline_space.NoTrampolineSpace(
                "no 8 bytes are left to count in; cuda-guards, typed at a stop, makes room"
            )
        try:
            start, size = mapped_pages.map_writable()
        except (NoDetour, gdb.error) as reason:
            raise trampoline_space.NoTrampolineSpace(f"no 8 bytes are left to count in, and {reason}") from None
        words.pages.append((start, size))
        words.unused = list(range(start, start + size, SIZE))
    return words.unused.pop(0)


def read(address: int) -> int:
    """`Unreadable` where the process is going."""
    return int(struct.unpack("<Q", process.InferiorMemory().read(address, SIZE))[0])


def write(address: int, value: int) -> None:
    gdb.selected_inferior().write_memory(address, struct.pack("<Q", value))


def give_back() -> str:
    """The pages, where gdb lets the process go and no thread is in a trampoline; says why they stay."""
    words = WORDS()
    try:
        while words.pages and not nearby_space.OUR_MEMORY().left:
            mapped_pages.unmap(*words.pages[-1])
            words.pages.pop()
    except NoDetour as reason:
        return f"a page that guards counted in stays in the process: {reason}"
    return "a page that guards counted in stays in the process: a thread may be in one" if words.pages else ""
