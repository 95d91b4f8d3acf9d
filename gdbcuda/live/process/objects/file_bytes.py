"""What an object's file has at an address of the process: code that differs was changed by somebody meanwhile.

The file as the process sees it, in a container too; only if it is still the one that was loaded: a rebuild replaces it.
(proc(5): /proc/PID/root; ELF gABI, "Program Loading", "Note Section".)
"""

from __future__ import annotations

import os

import gdb

from gdbcuda.errors import Unreadable
from gdbcuda.linkage.image import PT_NOTE, Image
from gdbcuda.live.process.memory import InferiorMemory
from gdbcuda.live.process.objects.loaded_objects import images
from gdbcuda.live.process.state import connection, program, strip_prefix


def differs_from_file(address: int, size: int) -> bool:
    """False where it is not known."""
    owner = next((one for one in images() if one.holds(address)), None)
    if owner is None or connection() != "native":
        return False
    try:
        return bytes_in_file(owner, address, size) != InferiorMemory().read(address, size)
    except (OSError, Unreadable):
        return False


def bytes_in_file(owner: Image, address: int, size: int) -> bytes:
    """OSError where the file is another one by now, or cannot be read."""
    name = owner.name or strip_prefix(program())
    file = os.open(f"/proc/{gdb.selected_inferior().pid}/root{os.path.abspath(name)}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        memory = InferiorMemory()
        for start, offset, length, kind in owner.file_parts:
            if kind == PT_NOTE and os.pread(file, length, offset) != memory.read(start, length):
                raise OSError(f"{name} is not the file that was loaded")
        found = next(os.pread(file, size, offset + address - start) for start, offset, length, kind in owner.file_parts
                     if kind != PT_NOTE and start <= address and address + size <= start + length)  # fmt: skip
    except StopIteration:
        raise OSError(f"{address:#x} is not in {name}") from None
    finally:
        os.close(file)
    return found
