"""The environment of a process as it is now, from its memory. (environ(7).)"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from gdbcuda.linkage.image import Image
from gdbcuda.memory import Memory, read_string

POINTER = 8
LONGEST_STRING = 128 << 10  # bytes: MAX_ARG_STRLEN (execve(2))
MOST_VARIABLES = 65536


def variable_address(images: Iterable[Image]) -> int | None:
    """The one that ld.so binds everyone's ``environ`` to: the program's copy, else libc's own; None without libc."""
    found = (one.lookup("environ") for one in images)
    return next((one.address for one in found if one is not None), None)


def strings(memory: Memory, array: int) -> list[tuple[int, bytes]]:
    """The pointers of the array, and "NAME=value" that each points to; `Unreadable`."""
    found = []
    for index in range(MOST_VARIABLES):
        pointer = struct.unpack("<Q", memory.read(array + index * POINTER, POINTER))[0]
        if pointer == 0:
            break
        found.append((pointer, read_string(memory, pointer, LONGEST_STRING)[0]))
    return found
