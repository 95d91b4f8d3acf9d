"""Which CPython is in a process, from the symbols that its executable or libpython exports."""

from __future__ import annotations

from typing import Callable, Optional

from gdbcuda.cpython import debug_offsets
from gdbcuda.cpython.layouts import KNOWN, Layout
from gdbcuda.cpython.thread_frames import Interpreter
from gdbcuda.errors import Unreadable
from gdbcuda.memory import Memory

RUNTIME, VERSION = "_PyRuntime", "Py_Version"
SIZES = {656: (3, 9), 672: (3, 10)}  # bytes of _PyRuntime, where nothing else tells the version
Find = Callable[[str], Optional[tuple[int, int]]]  # address and size of an exported symbol


def interpreter(memory: Memory, find: Find) -> Interpreter | None:
    """Of the object whose symbols ``find`` knows; None where it has no CPython, or one that we do not know."""
    found = find(RUNTIME)
    if found is None:
        return None
    try:
        layout = layout_of(memory, *found, find)
    except Unreadable:
        return None
    return Interpreter(found[0], layout) if layout is not None else None


def layout_of(memory: Memory, runtime: int, size: int, find: Find) -> Layout | None:
    published = debug_offsets.version_of(memory.read(runtime, 24))
    if published is not None:
        table_size = debug_offsets.SIZE.get(published)
        return debug_offsets.layout(memory.read(runtime, table_size), published) if table_size else None
    number = find(VERSION)
    if number is None:
        return KNOWN.get(SIZES.get(size, (0, 0)))
    hexadecimal = int.from_bytes(memory.read(number[0], 4), "little")
    return KNOWN.get((hexadecimal >> 24, hexadecimal >> 16 & 255))
