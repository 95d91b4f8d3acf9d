"""Files of /proc on the machine of the process under debug, of any process there.

Of this machine they are opened; at the far end of a link gdbserver reads them. (proc(5); gdb manual: "Host I/O
Packets", "File Transfer".)
"""

from __future__ import annotations

import os
from contextlib import suppress

import gdb

from gdbcuda.live.host import gdb_cli
from gdbcuda.live.process import packets
from gdbcuda.live.process.running import is_thread_running
from gdbcuda.live.process.state import connection, is_remote
from gdbcuda.live.process.thread_status import open_far, read_far

MOST_BYTES = 16 << 20  # 65,530 mappings, as many as Linux allows, with names of 200 characters


def are_there() -> bool:
    """False for a core file, and for a far end that reads no files, or has no /proc."""
    return connection() != "core" and text(f"/proc/{gdb.selected_inferior().pid}/stat") is not None


def text(path: str) -> str | None:
    """None where there is no such file, or it cannot be had."""
    if connection() == "core":
        return None
    raw = far(path) if is_remote() else near(path)
    return raw.decode(errors="replace") if raw is not None else None


def near(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read(MOST_BYTES)
    except OSError:
        return None


def far(path: str) -> bytes | None:
    if packets.CAN_SEND:
        return by_packets(path)
    if gdb_cli.is_possible() and not is_thread_running():
        return by_command(path)
    return None


def by_packets(path: str) -> bytes | None:
    number, found = open_far(path), b""
    if not number:
        return None
    while len(found) < MOST_BYTES:
        piece = read_far(number, len(found))
        if not piece:
            break
        found += piece
    packets.send(f"vFile:close:{number}")
    return found


def by_command(path: str) -> bytes | None:
    import tempfile  # it loads three compressors

    with tempfile.TemporaryDirectory() as folder, suppress(gdb.error, OSError):
        gdb_cli.execute(f"remote get {path} {folder}/file")
        return near(f"{folder}/file")
    return None


def names_in(folder: str) -> list[str]:
    """[] at the far end of a link, which lists no folders."""
    if is_remote() or connection() == "core":
        return []
    try:
        return os.listdir(folder)
    except OSError:
        return []


def link(path: str) -> str:
    """What a symbolic link leads to, "" where that cannot be had."""
    if connection() == "core":
        return ""
    if is_remote():
        answer = packets.send(f"vFile:readlink:{path.encode().hex()}") if packets.CAN_SEND else b""
        return packets.unescaped(answer.partition(b";")[2]).decode(errors="replace") if answer[:1] == b"F" else ""
    try:
        return os.readlink(path)
    except OSError:
        return ""
