"""The environment of the process: as it is now, and as the process was started. (environ(7).)"""

from __future__ import annotations

import struct

from gdbcuda.errors import Unreadable, UserError
from gdbcuda.live.process.auxiliary import auxiliary
from gdbcuda.live.process.memory import InferiorMemory
from gdbcuda.live.process.objects.loaded_objects import images
from gdbcuda.memory import read_string
from gdbcuda.memory.pages import PagedMemory

POINTER = 8
LONGEST_STRING = 128 << 10  # bytes: MAX_ARG_STRLEN (execve(2))
MOST_VARIABLES = 65536
MOST_STRINGS = 4 << 20  # bytes of all, as the process was started


def current() -> list[tuple[int, bytes]]:
    """The pointers of ``environ`` and the strings they point to; UserError where the process has none yet."""
    memory, found = PagedMemory(InferiorMemory()), []  # side by side as they are: a page or two
    start = array_address()
    for index in range(MOST_VARIABLES):
        pointer = struct.unpack("<Q", memory.read(start + index * POINTER, POINTER))[0]
        if pointer == 0:
            break
        found.append((pointer, read_string(memory, pointer, LONGEST_STRING)[0]))
    return found


def environ_address() -> int:
    """The variable that ld.so binds everyone's ``environ`` to: the program's copy, else libc's own."""
    for one in images():
        found = one.lookup("environ")
        if found is not None:
            return found.address
    raise UserError("libc's environ is not known here: has the program got as far as main, and is it dynamic?")


def array_address() -> int:
    address = struct.unpack("<Q", InferiorMemory().read(environ_address(), POINTER))[0]
    if not address:
        raise UserError("the process has no environment yet: has it got as far as main?")
    return int(address)


def get(name: str) -> str | None:
    prefix = name.encode() + b"="
    found = next((text for _, text in current() if text.startswith(prefix)), None)
    return found[len(prefix) :].decode(errors="replace") if found is not None else None


def initial(name: str) -> str | None:
    """The value that the process was started with, as ld.so saw it; None if there was none, or it is not known.

    The kernel puts the strings of the environment behind those of the arguments, and the program's file name last
    (fs/exec.c; getauxval(3): AT_RANDOM lies below all of them, AT_EXECFN is that name)."""
    vector = auxiliary()
    start, end = vector.get("AT_RANDOM", 0), vector.get("AT_EXECFN", 0)
    if not 0 < end - start < MOST_STRINGS:
        return None
    try:
        strings = InferiorMemory().read(start, end - start).split(b"\0")
    except Unreadable:
        return None
    prefix = name.encode() + b"="
    found = next((text for text in reversed(strings) if text.startswith(prefix)), None)
    return found[len(prefix) :].decode(errors="replace") if found is not None else None
