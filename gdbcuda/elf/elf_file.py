"""One ELF file, everything asked for lazily but what a reader cannot do without."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from functools import cached_property

from gdbcuda.elf import build_ids, separate, symbol_versions, symbols
from gdbcuda.elf.code.questions import FileCode
from gdbcuda.elf.contents import Contents
from gdbcuda.elf.dwarf.compile_units import Dwarf
from gdbcuda.elf.dynamic import read_dynamic
from gdbcuda.elf.file_header import read_header
from gdbcuda.elf.layout import Addresses, Section, read_sections, read_segments
from gdbcuda.elf.relocations import Relocation, read_relocations
from gdbcuda.elf.symbols import Symbol, SymbolTable
from gdbcuda.files.reading import PathOrBytes, Source, open_source

_DF_1_PIE = 0x08000000
_SHF_EXECINSTR = 4
_LARGEST_KEPT = 8 << 20
_MOST_KEPT = 16


class Elf:
    """A file that has an ELF header, segments and sections that make sense.

    UserError, one line beginning with the file's name, comes from whatever turns out to be corrupt later.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.path = source.name
        self.header, self._records = read_header(source)
        self.machine = self.header.machine
        self.segments = read_segments(source, self.header, self._records)
        self.sections = read_sections(source, self.header, self._records)
        self.addresses = Addresses(source, self.segments)
        self.dynamic = read_dynamic(source, self.segments, self.sections, self._records, self.addresses)
        self.needed = self.dynamic.texts("DT_NEEDED")
        self.soname = "".join(self.dynamic.texts("DT_SONAME")[:1])

    @cached_property
    def kind(self) -> str:
        """ "shared", "pie", "executable", "relocatable", "core", "debug file" or "unknown"."""
        if self.is_debug_file:
            return "debug file"
        if self.header.type != "shared":
            return self.header.type
        # libc.so.6 can be started and is a library all the same: it has a soname
        started = self.interpreter and not self.soname
        return "pie" if started or self.dynamic.has_flag("DT_FLAGS_1", _DF_1_PIE) else "shared"

    @property
    def is_debug_file(self) -> bool:
        """Made by ``objcopy --only-keep-debug``: the sections with code take no room in the file."""
        code = [section for section in self.sections if section.flags & _SHF_EXECINSTR]
        return bool(code) and not any(section.in_file for section in code)

    @cached_property
    def interpreter(self) -> str:
        """The loader that the program asks for; "" for a library or a static program."""
        segment = next((segment for segment in self.segments if segment.type == "PT_INTERP"), None)
        if segment is None:
            return ""
        data = self.source.read(segment.offset, min(segment.file_size, 4096), "the loader's name")
        return data.partition(b"\0")[0].decode("utf-8", "backslashreplace")

    @cached_property
    def build_id(self) -> str | None:
        return build_ids.build_id(build_ids.read_notes(self.source, self.segments, self.sections, self._records))

    def section(self, name: str) -> Section | None:
        """The first section of that name."""
        return next((section for section in self.sections if section.name == name), None)

    def contents(self, name: str) -> Contents | None:
        """What is in a section; None where there is none, or nothing of it in this file."""
        section = self.section(name)
        return Contents(self.source, section, self._records) if section and section.in_file else None

    # symbols

    @cached_property
    def versions(self) -> symbol_versions.Versions:
        return symbol_versions.read_versions(
            self.source, self.dynamic, self.addresses, self._records, self._dynamic_symbol_count
        )

    @cached_property
    def _dynamic_symbol_count(self) -> int:
        return symbols.count_dynamic(self.source, self.dynamic, self.sections, self.addresses, self._records)

    @cached_property
    def dynamic_symbols(self) -> SymbolTable:
        """What the loader sees, with versions."""
        count, records = self._dynamic_symbol_count, self._records
        return symbols.dynamic_table(self.source, self.dynamic, self.addresses, records, count, self.versions)

    @cached_property
    def symtab(self) -> SymbolTable:
        """.symtab: all symbols; empty in a stripped file."""
        return symbols.section_table(self.source, self.sections, "SHT_SYMTAB", self._records)

    @cached_property
    def exported(self) -> Mapping[str, Symbol]:
        """What other objects find by name; of several versions the default one."""
        found: dict[str, Symbol] = {}
        for symbol in self.dynamic_symbols.defined():
            if symbol.exported and (symbol.default or symbol.name not in found):
                found[symbol.name] = symbol
        return found

    @cached_property
    def undefined(self) -> Mapping[str, Symbol]:
        """What the loader has to find in other objects."""
        return {symbol.name: symbol for symbol in self.dynamic_symbols.undefined() if symbol.name}

    @cached_property
    def hidden_functions(self) -> Mapping[str, Symbol]:
        """Functions of .symtab that nobody finds by name: static ones, and those of hidden visibility."""
        exported = self.exported
        return {
            symbol.name: symbol
            for symbol in self.symtab.defined()
            if symbol.is_function and symbol.name not in exported
        }

    def relocations(self) -> list[Relocation]:
        """The loader's relocations that name a symbol."""
        found = read_relocations(self.dynamic, self.addresses, self._records)
        return [relocation for relocation in found if relocation.symbol]

    @cached_property
    def code(self) -> FileCode:
        slots = {place.address: self.dynamic_symbols[place.symbol].name for place in self.relocations()}
        return FileCode(self.machine, self.addresses, slots)

    @cached_property
    def constructors(self) -> list[str]:
        """Names of the functions in .init_array, but the compiler's own; [] where no names are known."""
        start, size = self.dynamic.value("DT_INIT_ARRAY"), self.dynamic.value("DT_INIT_ARRAYSZ") or 0
        if start is None:
            return []
        places = range(start, start + min(size, 1 << 16), self.header.bits // 8)
        found = read_relocations(self.dynamic, self.addresses, self._records)
        relocated = {each.address: self._value(each) for each in found if each.address in places}
        targets = {relocated[place] if place in relocated else self._word(place) for place in places}
        named = {symbol.value: symbol.name for symbol in self.symtab.defined() if symbol.is_function}
        return [named[target] for target in sorted(targets) if named.get(target, "frame_dummy") != "frame_dummy"]

    def _value(self, relocation: Relocation) -> int:
        """What the loader writes for the address of a function of this file."""
        symbol = relocation.symbol
        return relocation.addend + (self.dynamic_symbols[symbol].value if symbol else 0)

    def _word(self, address: int) -> int:
        """What DT_RELR relocates has its value in the place itself."""
        data = self.addresses.read(address, self.header.bits // 8, "a constructor")
        return int.from_bytes(data, "little" if self.header.little_endian else "big")

    # debug info

    @cached_property
    def dwarf(self) -> Dwarf:
        """The debug sections of this file, compressed or not; ``dwarf.sections`` is empty without any."""
        found: dict[str, Contents] = {}
        for section in self.sections:
            name = section.name.replace(".zdebug", ".debug", 1)
            if name.startswith(".debug") and section.in_file and name.removesuffix(".dwo") not in found:
                found[name.removesuffix(".dwo")] = Contents(self.source, section, self._records)
        return Dwarf(self.path, found, self.header.little_endian, self.header.bits)

    @cached_property
    def debuglink(self) -> separate.DebugLink | None:
        contents = self.contents(".gnu_debuglink")
        return separate.read_debuglink(contents, self._records.endian) if contents else None


def open_elf(path_or_bytes: PathOrBytes) -> Elf:
    """The ELF file at a path, or in bytes. UserError, one line, when it is none or is corrupt.

    A small file that has not changed is opened and read once: one command asks for the same hook library five times.
    """
    if isinstance(path_or_bytes, bytes):
        return Elf(open_source(path_or_bytes))
    path = os.fspath(path_or_bytes)
    state = _state(path)
    if not state:
        return Elf(open_source(path))
    file = _opened(path, state)
    vars(file).pop("dwarf", None)  # it may be read only so often, for each who opens the file
    return file


def _state(path: str) -> tuple[int, ...]:
    """It differs after each change. () for what is not kept: a file that cannot be asked, or takes much memory."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return ()
    own = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return own if found.st_size <= _LARGEST_KEPT else ()


@functools.lru_cache(maxsize=_MOST_KEPT)
def _opened(path: str, state: tuple[int, ...]) -> Elf:
    return Elf(open_source(path))
