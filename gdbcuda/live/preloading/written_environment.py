"""Environment variables of the running process, changed by writing memory alone.

No inferior call: it could deadlock on a lock that the stopped thread holds, and some gdbs cannot make one. The new
string (and, for a new variable, a copy of the pointer array) goes into zero bytes behind an object's .bss, in the
tail of its last page, where nothing else lives. (environ(7); gdb manual: "Inferiors In Python".)
"""

from __future__ import annotations

import struct

import gdb

from gdbcuda.api import vendor
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.linkage.environment import POINTER
from gdbcuda.live import process
from gdbcuda.live.host import gdb_cli
from gdbcuda.live.host.expressions import quoted
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.process import environment_variables
from gdbcuda.memory import PAGE

_used: PerInferior[dict[int, int]] = PerInferior(dict)  # end of a .bss -> bytes of the page's tail that are ours


class NoSpareBytes(UserError):
    """The spare bytes do not suffice."""


def put(name: str, value: str) -> None:
    """Sets NAME=VALUE for the process's next getenv; calls its setenv only where the spare bytes do not suffice."""
    try:
        put_by_memory(name, value)
    except NoSpareBytes as problem:
        if not call_setenv(name, value):
            raise UserError(f"{problem}, and setenv cannot be called; set the variable and run again") from None


def call_setenv(name: str, value: str) -> bool:
    """False where it cannot be called. (gdb calls malloc for the strings, and gdb 10 may know only 32 bits of its
    address, see ``target.whole``: the process would be left at a SIGSEGV.)"""
    try:
        if not process.object_of(int(gdb_cli.evaluated("(unsigned long)&malloc"))):
            return False
        gdb_cli.evaluated(f"((int(*)(char*,char*,int))setenv)({quoted(name)}, {quoted(value)}, 1)")
    except gdb.error:
        return False
    return True


def put_by_memory(name: str, value: str) -> None:
    known, prefix = environment_variables.current(), name.encode() + b"="
    text = prefix + value.encode() + b"\0"
    index = next((i for i, (_, old) in enumerate(known) if old.startswith(prefix)), None)
    if index is not None:
        write(environment_variables.array_address() + index * POINTER, struct.pack("<Q", store(text)))
        return
    pointers = [pointer for pointer, _ in known]
    array = store(bytes(POINTER * (len(known) + 2)), keep=True)
    write(array, struct.pack(f"<{len(known) + 2}Q", *pointers, store(text), 0))
    write(environment_variables.environ_address(), struct.pack("<Q", array))


def write(address: int, data: bytes) -> None:
    try:
        gdb.selected_inferior().write_memory(address, data)
    except gdb.error:
        raise UserError(f"the process's memory at {address:#x} cannot be written") from None


def store(data: bytes, keep: bool = False, align: int = 16) -> int:
    """Address of ``data`` in spare zero bytes of the process; ``keep`` reserves the room without writing it.

    From the end of the page downwards: the loader's first allocations, if any, grow up from the .bss."""
    used = _used()
    for end in bss_ends():
        page_end = end + -end % PAGE
        address = page_end - used.get(end, 0) - len(data) & -align
        if address >= end and is_zero(address, len(data)):
            used[end] = page_end - address
            if not keep:
                write(address, data)
            return address
    raise NoSpareBytes(f"no spare {len(data)} bytes in the process")


def is_zero(address: int, size: int) -> bool:
    try:
        return not any(process.InferiorMemory().read(address, size))
    except Unreadable:
        return False


def bss_ends() -> list[int]:
    """Ends of the .bss of the objects that are never unloaded, ld.so's and the program's last. (The kernel begins the
    heap at a page of its own behind that one: fs/binfmt_elf.c, set_brk.)"""
    images = sorted(process.lasting_images(), key=lambda one: (not one.name, vendor.is_loader(one.name)))
    return [end for one in images for end in one.zero_tails]
