"""The objects of a process as the dynamic loader sees them, read from its memory alone.

Program headers from AT_PHDR, from them PT_DYNAMIC, DT_DEBUG, ``r_debug`` and the chain of ``link_map``: the exact
search order, with each object's dynamic symbols, whatever files exist on this machine. 64-bit little-endian.
(System V gABI, chapter 5 "Dynamic Section" and "Hash Table"; <link.h>; GNU hash sections.)
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from gdbcuda.errors import Unreadable
from gdbcuda.linkage.hash_tables import GnuTable, HashTable, SysvTable
from gdbcuda.memory import Memory, string_at

PT_LOAD, PT_DYNAMIC, PT_NOTE, PT_PHDR, PT_GNU_EH_FRAME, PT_GNU_RELRO = 1, 2, 4, 6, 0x6474E550, 0x6474E552
DT_NULL, DT_HASH, DT_STRTAB, DT_SYMTAB, DT_DEBUG, DT_GNU_HASH = 0, 4, 5, 6, 21, 0x6FFFFEF5
DT_FLAGS_1, DF_1_NODELETE = 0x6FFFFFFB, 8
SYMBOL = struct.Struct("<IBBHQQ")  # Elf64_Sym: name, info, other, shndx, value, size
STT_TLS, STT_GNU_IFUNC = 6, 10
MOST_OBJECTS, MOST_ENTRIES, MOST_NOTES = 4096, 512, 4096
FEW_STRINGS = 16  # bytes: no string table begins with so many zeros


class LoadedSymbol(NamedTuple):
    """A dynamic symbol; ``address`` is where it is in the process, ``size`` in bytes. ``is_indirect``: there is what
    says which code it stands for (STT_GNU_IFUNC)."""

    name: str
    address: int
    size: int
    is_indirect: bool = False


class Image:
    """One loaded object. ``base`` is link_map's l_addr, ``name`` its l_name ("" for the program), ``handle`` where
    the link_map itself is (what glibc's dlopen returns), ``headers`` (address, count) of its program headers."""

    def __init__(self, memory: Memory, name: str, base: int, dynamic: int, handle: int = 0,
                 headers: tuple[int, int] | None = None) -> None:
        self.memory, self.name, self.base, self.dynamic, self.handle = memory, name, base, dynamic, handle
        self._headers = headers
        self.lacking = ""  # why nothing of its contents is known (a core file without the object's file)

    @cached_property
    def entries(self) -> dict[int, int]:
        """Tag -> value of the dynamic section, first of each; addresses are as found there (see `address`)."""
        found: dict[int, int] = {}
        for index in range(MOST_ENTRIES):
            tag, value = struct.unpack("<qQ", self.memory.read(self.dynamic + 16 * index, 16))
            if tag == DT_NULL:
                break
            found.setdefault(tag & (1 << 64) - 1 if tag < 0 else tag, value)
        return found

    def address(self, tag: int) -> int:
        """The address that a dynamic entry names; 0 if absent. glibc has relocated most entries in place, not all."""
        value = self.entries.get(tag, 0)
        return value if value >= self.base or value == 0 else value + self.base

    @cached_property
    def segments(self) -> list[tuple[int, int, int]]:
        """(start, end, flags) of each mapped segment, PF_X is 1, PF_W 2; [] where the headers are not in memory."""
        return [(self.base + start, self.base + start + size, flags)
                for kind, flags, _, start, _, _, size, _ in self._program_headers() if kind == PT_LOAD]

    @cached_property
    def build_id(self) -> str | None:
        """As ``readelf -n`` prints it, from memory; None without one."""
        from gdbcuda.elf.build_ids import build_id, split_notes  # gdb can start without it

        places = [(self.base + row[3], row[6]) for row in self._program_headers() if row[0] == PT_NOTE]
        try:
            found = [split_notes(self.memory.read(start, min(size, MOST_NOTES)), "<") for start, size in places]
        except Unreadable:
            return None
        return build_id(chain.from_iterable(found))

    @cached_property
    def file_parts(self) -> list[tuple[int, int, int, int]]:
        """(address, offset in the file, bytes, PT_...) of each mapped segment and note."""
        return [(self.base + row[3], row[2], row[5], row[0])
                for row in self._program_headers() if row[0] in (PT_LOAD, PT_NOTE)]  # fmt: skip

    @cached_property
    def zero_tails(self) -> list[int]:
        """Ends of the segments that the loader fills up with zeros: where a .bss ends. Not what lld fills up to the end
        of what is read-only after the relocation (.relro_padding)."""
        rows = self._program_headers()
        read_only = [(row[3], row[3] + row[6]) for row in rows if row[0] == PT_GNU_RELRO]
        ends = [row[3] + row[6] for row in rows if row[0] == PT_LOAD and row[6] > row[5]]
        return [self.base + end for end in ends if not any(start < end <= last for start, last in read_only)]

    @cached_property
    def unwind_table(self) -> int | None:
        """The address of its .eh_frame_hdr."""
        rows = (row for row in self._program_headers() if row[0] == PT_GNU_EH_FRAME)
        return next((self.base + row[3] for row in rows), None)

    def _program_headers(self) -> list[tuple[int, ...]]:
        """Each an Elf64_Phdr; [] where they are not in memory."""
        try:
            address, count = self._headers or header_table(self.memory, self.base)
            return list(struct.iter_unpack("<IIQQQQQQ", self.memory.read(address, 56 * min(count, MOST_ENTRIES))))
        except Unreadable:
            return []

    @property
    def is_nodelete(self) -> bool:
        try:
            return bool(self.entries.get(DT_FLAGS_1, 0) & DF_1_NODELETE)
        except Unreadable:
            return False

    def has_contents(self) -> bool:
        """False where its read-only parts are zeros, as in a core file whose reader has not found the object's file."""
        try:
            return any(self.memory.read(self.address(DT_STRTAB), FEW_STRINGS))
        except Unreadable:
            return False

    def lose_contents(self, why: str) -> None:
        """What the dynamic section leads to is not to be believed: from now on it has no symbols."""
        self.lacking = why
        self.__dict__.pop("_hash_table", None)
        self.__dict__["entries"] = {tag: value for tag, value in self.entries.items() if tag == DT_DEBUG}

    def holds(self, address: int) -> bool:
        return any(start <= address < end for start, end, _ in self.segments)

    def lookup(self, name: str) -> LoadedSymbol | None:
        """The object's own definition of the name, found the loader's way; None if it has none."""
        return next((symbol for _, symbol in self.matches(name)), None)

    def matches(self, name: str) -> Iterator[tuple[int, LoadedSymbol]]:
        """Every definition of the name (one a symbol version), with its index in the dynamic symbols."""
        for index in self._hash_table.indices(name):
            found = self._symbol(index)
            if found is not None and found.name == name:
                yield index, found

    @cached_property
    def _hash_table(self) -> HashTable:
        is_gnu = DT_GNU_HASH in self.entries
        return (GnuTable if is_gnu else SysvTable)(self.memory, self.address(DT_GNU_HASH if is_gnu else DT_HASH))

    def _symbol(self, index: int) -> LoadedSymbol | None:
        """None for an undefined symbol, or a thread-local one (its value is an offset)."""
        raw = self.memory.read(self.address(DT_SYMTAB) + SYMBOL.size * index, SYMBOL.size)
        name, info, _, section, value, size = SYMBOL.unpack(raw)
        if section == 0 or info & 15 == STT_TLS:
            return None
        text, kind = string_at(self.memory, self.address(DT_STRTAB) + name), info & 15
        return LoadedSymbol(text, self.base + value, size, kind == STT_GNU_IFUNC)


def images(memory: Memory, headers: int, count: int) -> list[Image]:
    """The program's images in search order, the program first; [] for a static program or before the loader ran.

    ``headers`` and ``count`` are AT_PHDR and AT_PHNUM of the auxiliary vector (getauxval(3))."""
    try:
        start = program_dynamic(memory, headers, count)
        debug = debug_address(memory, start)
        first = struct.unpack("<Q", memory.read(debug + 8, 8))[0] if debug else 0
        found = list(link_maps(memory, first, (headers, count)))
        if found and found[0].dynamic == start:
            found[0].name = ""  # musl's loader gives it the name that it was started by
        return found
    except Unreadable:
        return []


def debug_address(memory: Memory, dynamic: int | None) -> int:
    """Where the loader's ``r_debug`` is, by the program's dynamic section; 0 in a static program, which has none, and
    before the loader has said it."""
    return Image(memory, "", 0, dynamic).entries.get(DT_DEBUG, 0) if dynamic is not None else 0


def header_table(memory: Memory, base: int) -> tuple[int, int]:
    """(address, count) of the program headers of a shared object, from the ELF header at its base."""
    header = memory.read(base, 64)
    if header[:4] != b"\x7fELF":
        raise Unreadable(base, 64)
    return base + struct.unpack_from("<Q", header, 32)[0], struct.unpack_from("<H", header, 56)[0]


def object_at(memory: Memory, base: int) -> Image:
    """A shared object that the loader may not have in its list."""
    rows = program_rows(memory, *header_table(memory, base))
    return Image(memory, "", base, next((base + row[3] for row in rows if row[0] == PT_DYNAMIC), base))


def program_dynamic(memory: Memory, headers: int, count: int) -> int | None:
    """Address of the program's dynamic section."""
    rows = list(program_rows(memory, headers, count))
    bias = program_bias(rows, headers)
    return next((bias + row[3] for row in rows if row[0] == PT_DYNAMIC), None)


def mapped(memory: Memory, headers: int, count: int) -> list[tuple[int, int]]:
    """(start, end) of each segment of the program, whether it is dynamic or not."""
    rows = list(program_rows(memory, headers, count))
    bias = program_bias(rows, headers)
    return [(bias + row[3], bias + row[3] + row[6]) for row in rows if row[0] == PT_LOAD]


def program_rows(memory: Memory, headers: int, count: int) -> Iterator[tuple[int, ...]]:
    """Each an Elf64_Phdr."""
    return struct.iter_unpack("<IIQQQQQQ", memory.read(headers, 56 * min(count, MOST_ENTRIES)))


def program_bias(rows: list[tuple[int, ...]], headers: int) -> int:
    """How far the program is from where it was linked to be: its table says where the table itself was to be."""
    return next((headers - row[3] for row in rows if row[0] == PT_PHDR), 0)


def link_maps(memory: Memory, address: int, headers: tuple[int, int] | None = None) -> Iterator[Image]:
    """The chain from there on; ``headers`` are those of the first, which for the program need not be at its base."""
    for _ in range(MOST_OBJECTS):
        if not address:
            return
        base, name, dynamic, following = struct.unpack("<QQQQ", memory.read(address, 32))
        yield Image(memory, string_at(memory, name) if name else "", base, dynamic, address, headers)
        address, headers = following, None
