"""The auxiliary vector of the process: what the kernel has told it at its start.

(getauxval(3); proc(5): /proc/PID/auxv; gdb manual: "General Query Packets", qXfer:auxv:read.)
"""

from __future__ import annotations

import re
import struct
from typing import Callable

import gdb

from gdbcuda.errors import Unreadable
from gdbcuda.live.host import gdb_cli
from gdbcuda.live.process import packets
from gdbcuda.live.process.caching import until_objects_change
from gdbcuda.live.process.memory import InferiorMemory
from gdbcuda.live.process.state import connection, is_remote

NAMES = {3: "AT_PHDR", 5: "AT_PHNUM", 7: "AT_BASE", 9: "AT_ENTRY", 23: "AT_SECURE", 25: "AT_RANDOM", 31: "AT_EXECFN"}
AT_NULL, LOADER_FUNCTION = 0, "__tls_get_addr"
ENTRY, POINTER = struct.Struct("<QQ"), struct.Struct("<Q")
MOST_BYTES, MOST_ENTRIES, MOST_POINTERS = 0x1000, 24, 1 << 16


@until_objects_change
def auxiliary() -> dict[str, int]:
    """AT_... entries of the auxiliary vector; {} where the target has none."""
    if connection() == "core":
        return by_command(gdb_cli.execute_where_nothing_goes_on)
    if not is_remote():
        return entries(by_kernel())
    if packets.CAN_SEND:
        return entries(by_packet())
    return by_command(gdb_cli.execute) if gdb_cli.is_possible() else entries(by_stack())


def by_kernel() -> bytes:
    try:
        with open(f"/proc/{gdb.selected_inferior().pid}/auxv", "rb") as file:
            return file.read(MOST_BYTES)
    except OSError:
        return b""


def by_packet() -> bytes:
    answer = packets.send(f"qXfer:auxv:read::0,{MOST_BYTES:x}")
    return packets.unescaped(answer[1:]) if answer[:1] in (b"l", b"m") else b""


def entries(raw: bytes) -> dict[str, int]:
    found = {}
    for kind, value in ENTRY.iter_unpack(raw[: len(raw) // ENTRY.size * ENTRY.size]):
        if kind == AT_NULL:
            break
        if kind in NAMES:
            found[NAMES[kind]] = value
    return found


def by_stack() -> bytes:
    """From the process's first stack: argc, arguments, NULL, environment, NULL, and then the vector.
    (System V ABI, x86-64 supplement 3.4.1; ld.so keeps the address of argc.)"""
    memory = InferiorMemory()
    try:
        (at,) = POINTER.unpack(memory.read(loader_variable("__libc_stack_end"), POINTER.size))
        (count,) = POINTER.unpack(memory.read(at, POINTER.size))
        at += POINTER.size * (2 + min(count, MOST_POINTERS))
        for _ in range(MOST_POINTERS):
            at += POINTER.size
            if not any(memory.read(at - POINTER.size, POINTER.size)):
                break
        return memory.read(at, MOST_ENTRIES * ENTRY.size)
    except (gdb.error, Unreadable):
        return b""


def loader_variable(name: str) -> int:
    """Its address. (gdb 10 says only 32 bits of it in objects with sections that its BFD does not know, such as
    .relr.dyn; of functions it says all.)"""
    low = int(gdb_cli.evaluated(f"(unsigned long)&{name}")) & 0xFFFFFFFF
    places = gdb.decode_line(LOADER_FUNCTION)[1]
    if not places:
        raise gdb.error(f"no {LOADER_FUNCTION} here")
    near = places[0].pc
    return int(near + ((low - near + (1 << 31)) & 0xFFFFFFFF) - (1 << 31))


def by_command(execute: Callable[[str], str]) -> dict[str, int]:
    try:
        shown = execute("info auxv")
    except gdb.error:
        return {}
    rows = re.findall(r'(AT_\w+).*?\s(0x[0-9a-f]+|\d+)(?: ".*")?$', shown, re.MULTILINE)
    return {name: int(value, 0) for name, value in rows}
