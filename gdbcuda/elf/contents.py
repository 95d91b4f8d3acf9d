"""The content of a section that may be compressed, without ever holding more of it than is useful."""

from __future__ import annotations

import zlib

from gdbcuda.elf.layout import SHF_COMPRESSED, Section
from gdbcuda.elf.records import Records
from gdbcuda.errors import UserError
from gdbcuda.files.reading import Source

# Of a compressed section only the beginning is unpacked: enough for tens of thousands of symbols' debug info.
MOST_UNPACKED = 24 << 20
_CHUNK = 1 << 20
_COMPRESSIONS = {"ELFCOMPRESS_ZLIB": "zlib", "ELFCOMPRESS_ZSTD": "zstd", 2: "zstd"}


class Contents:
    """Bytes of one section: ``size`` when unpacked, of which ``readable`` can be had."""

    def __init__(self, source: Source, section: Section, records: Records) -> None:
        self.name = section.name
        self.compression = _compression(section, records)  # "", "zlib", "zstd"
        self._source = source
        self._section = section
        self._unpacked = b""
        self.size = section.size
        if self.compression:
            self.size, self._unpacked = _unpack(source, section, records, self.compression)
        self.readable = len(self._unpacked) if self.compression else section.size

    def read(self, offset: int, size: int) -> bytes:
        """At most ``size`` bytes at ``offset``, fewer at the end: the caller knows what it needs."""
        size = max(0, min(size, self.readable - offset))
        if self.compression:
            return self._unpacked[offset : offset + size]
        return self._source.read(self._section.offset + offset, size, self.name) if size else b""


def _compression(section: Section, records: Records) -> str:
    if section.flags & SHF_COMPRESSED:
        header = records.at("Elf_Chdr", section.offset, f"the compression header of {section.name}")
        return _COMPRESSIONS.get(header.ch_type, "unknown")
    if section.name.startswith(".zdebug"):
        return "zlib-gnu"
    return ""


def _unpack(source: Source, section: Section, records: Records, compression: str) -> tuple[int, bytes]:
    """(size of all, the beginning); of a compression that Python lacks nothing is read."""
    if compression == "zlib-gnu":  # "ZLIB" and the size as 8 big-endian bytes
        head = source.read(section.offset, 12, section.name)
        return int.from_bytes(head[4:], "big"), _inflate(source, section, 12)
    header = records.at("Elf_Chdr", section.offset, section.name)
    if compression != "zlib":
        return int(header.ch_size), b""
    return int(header.ch_size), _inflate(source, section, records.size("Elf_Chdr"))


def _inflate(source: Source, section: Section, skip: int) -> bytes:
    unpacker = zlib.decompressobj()
    pieces: list[bytes] = []
    total = 0
    for at in range(skip, section.size, _CHUNK):
        packed = source.read(section.offset + at, min(_CHUNK, section.size - at), section.name)
        try:
            pieces.append(unpacker.decompress(packed, MOST_UNPACKED - total))
        except zlib.error as error:
            raise UserError(f"{source.name}: corrupt: {section.name} cannot be unpacked ({error})") from None
        total += len(pieces[-1])
        if unpacker.eof or total >= MOST_UNPACKED:
            break
    return b"".join(pieces)
