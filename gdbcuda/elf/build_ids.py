"""Notes: the build-id, by which a file, its debug file and what is loaded are known to belong together."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from gdbcuda.elf.layout import Section, Segment
from gdbcuda.elf.records import Records
from gdbcuda.errors import UserError
from gdbcuda.files.reading import Source

_LARGEST = 1 << 20
_NT_GNU_BUILD_ID = 3


class Note(NamedTuple):
    owner: str  # "GNU"
    type: int
    data: bytes


def read_notes(
    source: Source, segments: tuple[Segment, ...], sections: tuple[Section, ...], records: Records
) -> Iterator[Note]:
    """All notes, by segment where there are segments (a stripped file), else by section (a debug file)."""
    places = {(section.offset, section.size) for section in sections if section.type == "SHT_NOTE"}
    if not places:
        places = {(segment.offset, segment.file_size) for segment in segments if segment.type == "PT_NOTE"}
    for offset, size in sorted(places):
        if size > _LARGEST:
            raise UserError(f"{source.name}: corrupt: notes of {size} bytes")
        yield from split_notes(source.read(offset, size, "the notes"), records.endian)


def split_notes(data: bytes, endian: str) -> Iterator[Note]:
    at = 0
    while at + 12 <= len(data):
        owner_size, size, kind = struct.unpack_from(endian + "III", data, at)
        content = at + 12 + _aligned(owner_size)
        owner = data[at + 12 : at + 12 + owner_size].rstrip(b"\0").decode("latin-1")
        yield Note(owner, kind, data[content : content + size])
        at = content + _aligned(size)


def _aligned(size: int) -> int:
    return (size + 3) & ~3


def build_id(notes: Iterator[Note]) -> str | None:
    """In lower-case hex, as ``readelf -n`` and ``file`` print it; None without one."""
    ids = (note.data.hex() for note in notes if note.owner == "GNU" and note.type == _NT_GNU_BUILD_ID)
    return next(ids, None)
