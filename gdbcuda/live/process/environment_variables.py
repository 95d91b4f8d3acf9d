"""The environment of the process: as it is now, and as the process was started. (environ(7).)"""

from __future__ import annotations

import struct

from gdbcuda.errors import Unreadable, UserError
from gdbcuda.linkage import environment
from gdbcuda.live.process.auxiliary_vector import auxiliary
from gdbcuda.live.process.memory import InferiorMemory, in_pages
from gdbcuda.live.process.objects.loaded_objects import images

MOST_STRINGS = 4 << 20  # bytes of all, as the process was started


def current() -> list[tuple[int, bytes]]:
    """The pointers of ``environ`` and the strings they point to; UserError where the process has none yet."""
    return environment.strings(in_pages(InferiorMemory()), array_address())  # side by side: a page or two


def environ_address() -> int:
    found = environment.variable_address(images())
    if found is None:
        raise UserError("libc's environ is not known here: has the program got as far as main, and is it dynamic?")
    return found


def array_address() -> int:
    address = struct.unpack("<Q", InferiorMemory().read(environ_address(), environment.POINTER))[0]
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
