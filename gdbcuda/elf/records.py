"""ELF records (file header, section header, dynamic entry ...) parsed by pyelftools, bounds checked here.

pyelftools knows the layouts of both classes and byte orders and the names of the constants; its own file
reader is not used, because it follows counts and sizes of the file without a limit.
"""

from __future__ import annotations

import functools
from typing import Any

from elftools.construct import ConstructError
from elftools.elf.structs import ELFStructs

from gdbcuda.errors import UserError
from gdbcuda.files.reading import Source
from gdbcuda.text.printable import visible

Record = Any  # a pyelftools Container: fields by the names of the ELF specification (e_type, sh_name ...)


class Records:
    """The record layouts of one file."""

    def __init__(self, source: Source, bits: int, little_endian: bool) -> None:
        self.source = source
        self.bits = bits
        self.endian = "<" if little_endian else ">"
        self.structs = _layouts(bits, little_endian)

    def know_machine(self, header: Record) -> None:
        """Names of section types, segment types and dynamic tags depend on the machine."""
        self.structs = _layouts(self.bits, self.endian == "<", (_name(header.e_type), _name(header.e_machine)))

    def at(self, layout: str, offset: int, what: str) -> Record:
        """The record ``layout`` ("Elf_Shdr") at a file offset."""
        data = self.source.read(offset, self.size(layout), what)
        return self.parse(layout, data, what)

    def parse(self, layout: str, data: bytes, what: str) -> Record:
        """The record ``layout`` at the beginning of ``data``."""
        try:
            return getattr(self.structs, layout).parse(data)
        except ConstructError:
            raise UserError(f"{self.source.name}: truncated or corrupt: {what} is incomplete") from None

    def size(self, layout: str) -> int:
        """Bytes of one record."""
        return int(getattr(self.structs, layout).sizeof())


@functools.lru_cache(maxsize=16)
def _layouts(bits: int, little_endian: bool, of: tuple[str | None, str | None] | None = None) -> Any:
    """Of all such files: pyelftools makes them anew each time, in 2 ms. ``of`` is a type of file and its machine."""
    make: Any = ELFStructs  # typed in some versions of pyelftools only
    structs = make(little_endian=little_endian, elfclass=bits)
    structs.create_basic_structs()
    if of:
        structs.create_advanced_structs(*of)
    return structs


def _name(value: object) -> str | None:
    """pyelftools leaves a constant that it does not know as a number."""
    return value if isinstance(value, str) else None


def text(data: bytes) -> str:
    """A name from a file: any bytes, never an exception, printable on a terminal."""
    return visible(data.decode("utf-8", "surrogateescape"))


def string_at(strings: bytes, offset: int) -> str | None:
    """The NUL-terminated string of a string table, or None where it does not hold one."""
    if not 0 <= offset < len(strings):
        return None
    end = strings.find(b"\0", offset)
    return text(strings[offset:end]) if end >= 0 else None
