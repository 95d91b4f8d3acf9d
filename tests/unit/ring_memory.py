"""What a program writes of the recorder: the address of its state, then address, size and bytes of each part of it."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from gdbcuda.memory import DictMemory
from gdbcuda.rings import ring


def segments(raw: bytes) -> Iterator[tuple[int, bytes]]:
    at = 8
    while at < len(raw):
        address, size = struct.unpack_from("<QQ", raw, at)
        yield address, raw[at + 16 : at + 16 + size]
        at += 16 + size


def reader(raw: bytes) -> ring.RingReader:
    return ring.RingReader(DictMemory(dict(segments(raw))), int.from_bytes(raw[:8], "little"))
