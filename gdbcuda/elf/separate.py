"""Debug info in a file of its own: .gnu_debuglink and build-id, searched where gdb searches.

gdb manual, "Debugging Information in Separate Files".
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from gdbcuda.elf.contents import Contents
from gdbcuda.elf.records import text
from gdbcuda.files.reading import Source

DEBUG_DIRECTORY = "/usr/lib/debug"
_CHUNK = 1 << 20


class DebugLink(NamedTuple):
    name: str
    crc: int  # zlib's CRC-32 of the whole debug file


def read_debuglink(contents: Contents, endian: str) -> DebugLink | None:
    """The content of .gnu_debuglink: a name, padding to 4 bytes, a CRC."""
    data = contents.read(0, 4096)
    name, ended, _ = data.partition(b"\0")
    at = (len(name) + 4) & ~3
    if not ended or at + 4 > len(data):
        return None
    return DebugLink(text(name), struct.unpack_from(endian + "I", data, at)[0])


def candidates(path: str, build_id: str | None, link: DebugLink | None, sysroot: str = "") -> Iterator[str]:
    """Where gdb would look, in its order, below ``sysroot`` for the system's debug directory."""
    debug = sysroot.rstrip("/") + DEBUG_DIRECTORY
    if build_id and len(build_id) > 2:
        yield f"{debug}/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
    if link and link.name and "/" not in link.name:
        directory = os.path.dirname(os.path.realpath(path))
        yield f"{directory}/{link.name}"
        yield f"{directory}/.debug/{link.name}"
        inside = directory
        if sysroot and directory.startswith(sysroot):
            inside = directory[len(sysroot.rstrip("/")) :]
        yield f"{debug}{inside}/{link.name}"


def crc(source: Source) -> int:
    """zlib's CRC-32 of a file."""
    value = 0
    for at in range(0, source.size, _CHUNK):
        value = zlib.crc32(source.read(at, min(_CHUNK, source.size - at), "the debug file"), value)
    return value
