"""Packets that we send ourselves, where gdb has no other way to ask the far end of a link inside its events.

(gdb manual: "Connections In Python", send_packet; "Overview" of the remote protocol.)
"""

from __future__ import annotations

import re

import gdb

from gdbcuda.live.host import gdb_cli

CAN_SEND = hasattr(gdb, "RemoteTargetConnection")  # gdb 12
ESCAPE = 0x7D  # the next byte is meant, exclusive-or 0x20


def send(packet: str) -> bytes:
    """The answer; b"" where the far end does not know the packet, is gone, or runs."""
    try:
        connection = gdb.selected_inferior().connection
        if not isinstance(connection, gdb.RemoteTargetConnection):
            return b""
        return bytes(connection.send_packet(packet) or b"")
    except (gdb.error, AttributeError, ValueError):
        return b""


def ask(packet: str) -> bytes:
    """The same in a command, where every gdb has a way."""
    if CAN_SEND:
        return send(packet)
    try:
        found = re.search('received: "(.*)"', gdb_cli.execute(f"maintenance packet {packet}"))
    except gdb.error:
        return b""
    return found[1].encode() if found else b""


def unescaped(packet: bytes) -> bytes:
    found, raw = bytearray(), iter(packet)
    for byte in raw:
        found.append(next(raw, 0) ^ 0x20 if byte == ESCAPE else byte)
    return bytes(found)
