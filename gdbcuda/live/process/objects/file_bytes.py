"""What an object's file has at an address of the process: code that differs was changed by somebody meanwhile.

The file as the process sees it, in a container too; only if it is still the one that was loaded: a rebuild replaces it.
(proc(5): /proc/PID/root; ELF gABI, "Program Loading", "Note Section".)
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import gdb

from gdbcuda.errors import Unreadable, UserError
from gdbcuda.linkage.image import PT_NOTE, Image
from gdbcuda.live.process.caching import until_objects_change
from gdbcuda.live.process.memory import InferiorMemory
from gdbcuda.live.process.objects.loaded_objects import images, objfile_of
from gdbcuda.live.process.state import connection, program, strip_prefix


def differs_from_file(address: int, size: int) -> bool:
    """False where it is not known."""
    own = code_in_file(address, size)
    try:
        return bool(own) and own != InferiorMemory().read(address, size)
    except Unreadable:
        return False


def code_in_file(address: int, size: int) -> bytes:
    """b"" where it is not known."""
    owner = next((one for one in images() if one.holds(address)), None)
    if owner is None or connection() != "native":
        return b""
    try:
        return bytes_in_file(owner, address, size)
    except (OSError, Unreadable):
        return b""


@until_objects_change
def function_sizes(owner: Image) -> Mapping[int, int]:
    """By address, of all functions of its symbol table, which no process has in its memory; {} where it has none, or
    is another file by now."""
    from gdbcuda import elf  # 20 ms, and few ask

    path = path_of(owner) if connection() == "native" else read_by_gdb(owner)
    try:
        file = elf.open(path) if path else None
        found = file.symtab.function_sizes() if file and file.build_id == owner.build_id else {}
    except UserError:
        return {}
    return {owner.base + address: size for address, size in found.items()}


def read_by_gdb(owner: Image) -> str:
    """A file of this machine; "" where gdb reads it at the far end of a link, or nothing tells that it is the same."""
    objfile = objfile_of(owner.name or strip_prefix(program()))
    name = (objfile.filename if objfile is not None else "") or ""
    return name if owner.build_id and strip_prefix(name) == name else ""


def path_of(owner: Image) -> str:
    """As the process sees it."""
    return f"/proc/{gdb.selected_inferior().pid}/root{os.path.abspath(owner.name or strip_prefix(program()))}"


def bytes_in_file(owner: Image, address: int, size: int) -> bytes:
    """OSError where the file is another one by now, or cannot be read."""
    name = owner.name or strip_prefix(program())
    file = os.open(path_of(owner), os.O_RDONLY | os.O_CLOEXEC)
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
