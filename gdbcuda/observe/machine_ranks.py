"""Which rank a process of this machine is, without gdb: by the environment that it was started with, and has now."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator

from gdbcuda.calls import rank_names
from gdbcuda.errors import Unreadable
from gdbcuda.linkage import environment, image
from gdbcuda.memory.opened import OpenedMemory
from gdbcuda.memory.paged_memory import PagedMemory

AUXILIARY = struct.Struct("<QQ")  # type and value (getauxval(3))
AT_PHDR, AT_PHNUM = 3, 5
MOST_AUXILIARY = 4096  # bytes


def rank_of(pid: int) -> str:
    """ "" also of one that is gone, or that we may not look into."""
    try:
        words = [*started_with(pid), *has_now(pid)]
    except (OSError, Unreadable, ValueError, struct.error):
        return ""
    found = dict(word.partition(b"=")[::2] for word in words)
    return rank_names.label(lambda name: found.get(name.encode(), b"").decode(errors="replace"))


def started_with(pid: int) -> list[bytes]:
    with open(f"/proc/{pid}/environ", "rb") as file:
        return file.read().split(b"\0")


def has_now(pid: int) -> Iterator[bytes]:
    """What multiprocessing's workers set themselves; nothing where the process has not got as far as main."""
    with contextlib.suppress(OSError, Unreadable), contextlib.closing(OpenedMemory(pid)) as raw:
        memory = PagedMemory(raw)
        values = auxiliary(pid)
        images = image.images(memory, values.get(AT_PHDR, 0), values.get(AT_PHNUM, 0))
        address = environment.variable_address(images)
        array = struct.unpack("<Q", memory.read(address, 8))[0] if address else 0
        yield from (text for _, text in environment.strings(memory, array) if array)


def auxiliary(pid: int) -> dict[int, int]:
    with open(f"/proc/{pid}/auxv", "rb") as file:
        raw = file.read(MOST_AUXILIARY)
    return dict(AUXILIARY.iter_unpack(raw[: len(raw) // AUXILIARY.size * AUXILIARY.size]))
