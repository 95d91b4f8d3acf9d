"""The dynamic section of a loaded object and its strings. (System V gABI, chapter 5, "Dynamic Section".)"""

from __future__ import annotations

import struct
from functools import cached_property

from gdbcuda.linkage.image import DT_STRTAB, Image
from gdbcuda.memory import string_at

DT_NEEDED, DT_STRSZ, DT_SONAME, DT_RPATH, DT_SYMBOLIC, DT_RUNPATH, DT_FLAGS = 1, 10, 14, 15, 16, 29, 30
DF_SYMBOLIC = 2
MOST_ENTRIES, MOST_BYTES = 4096, 4 << 20


class LoadedDynamic:
    """What the loader was told about the object."""

    def __init__(self, image: Image) -> None:
        self.image = image

    def value(self, tag: int) -> int:
        """The value of an entry; 0 if there is none."""
        return self.image.entries.get(tag, 0)

    def address(self, tag: int) -> int:
        return self.image.address(tag)

    def words(self, address: int, count: int) -> tuple[int, ...]:
        return struct.unpack(f"<{count}I", self.image.memory.read(address, 4 * count))

    def string(self, offset: int) -> str:
        """One string of the table; the page it is in is fetched."""
        return string_at(self.image.memory, self.address(DT_STRTAB) + offset)

    @cached_property
    def strings(self) -> bytes:
        """The whole table in one read, for those who want many; b"" where it is too large for that."""
        size = self.value(DT_STRSZ)
        return self.image.memory.read(self.address(DT_STRTAB), size) if 0 < size <= MOST_BYTES else b""

    def may_have_string(self, part: str) -> bool:
        return not self.strings or part.encode() in self.strings

    @cached_property
    def needed(self) -> tuple[str, ...]:
        """The libraries it names, in order. (The image keeps one entry of each tag; this one has several.)"""
        found = []
        for index in range(0 if self.image.lacking else MOST_ENTRIES):
            tag, value = struct.unpack("<QQ", self.image.memory.read(self.image.dynamic + 16 * index, 16))
            if tag == 0:
                break
            if tag == DT_NEEDED:
                found.append(self.string(value))
        return tuple(found)

    @cached_property
    def soname(self) -> str:
        return self.string(self.value(DT_SONAME)) if DT_SONAME in self.image.entries else ""

    @cached_property
    def run_path(self) -> tuple[str, str]:
        """("DT_RUNPATH" or "DT_RPATH", the directories); ("", "") without either."""
        for tag, name in ((DT_RUNPATH, "DT_RUNPATH"), (DT_RPATH, "DT_RPATH")):
            if tag in self.image.entries:
                return name, self.string(self.value(tag))
        return "", ""

    @property
    def is_symbolic(self) -> bool:
        """Linked with -Bsymbolic: its own definitions answer its own references."""
        return DT_SYMBOLIC in self.image.entries or bool(self.value(DT_FLAGS) & DF_SYMBOLIC)
