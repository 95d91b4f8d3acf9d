"""The dynamic symbols of a loaded object. (System V gABI, "Symbol Table", "Hash Table"; GNU hash sections.)

A small object's are read at once, in three blocks. Of a large one (a framework's library has 200,000) only the
undefined ones are, which come first; definitions are looked up by name, the loader's way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from functools import cached_property, lru_cache
from typing import NamedTuple

from gdbcuda.linkage.dynamic_section import LoadedDynamic
from gdbcuda.linkage.image import DT_GNU_HASH, DT_HASH, DT_STRTAB, DT_SYMTAB, STT_GNU_IFUNC, STT_TLS, SYMBOL
from gdbcuda.linkage.kept_answers import by_names
from gdbcuda.linkage.version_tables import LoadedVersions

MOST_SYMBOLS = 2_000_000
FEW_SYMBOLS = 30_000
FEW_NAMES = 100  # each that is looked up costs about as much as reading ten symbols
Entry = tuple[int, int, int, int, int, int]  # name, info, other, section, value, size


class Definition(NamedTuple):
    """A symbol that an object exports. ``version`` "" without one; not ``default`` is name@VERSION; ``number``
    is its place among the dynamic symbols. ``is_indirect`` as of a `LoadedSymbol`."""

    name: str
    address: int
    size: int
    version: str
    default: bool
    number: int
    is_indirect: bool = False


def is_definition(entry: Entry) -> bool:
    """Binding 0 is local; the value of a thread-local one is an offset."""
    return entry[3] != 0 and entry[1] >> 4 != 0 and entry[1] & 15 != STT_TLS


@lru_cache(maxsize=16)
def encoded(names: frozenset[str]) -> dict[bytes, str]:
    """The names by what stands for them in a table."""
    return {name.encode(errors="replace"): name for name in names}


class Symbols:
    def __init__(self, dynamic: LoadedDynamic) -> None:
        self.dynamic, self.versions = dynamic, LoadedVersions(dynamic)
        self._are_read = False  # all of them, in blocks

    @cached_property
    def extent(self) -> tuple[int, int]:
        """(index of the first symbol that can be found by name, number of symbols), from the hash table."""
        table = self.dynamic.address(DT_GNU_HASH)
        if table:
            return self._gnu_extent(table)
        table = self.dynamic.address(DT_HASH)
        return (0, min(self.dynamic.words(table, 2)[1], MOST_SYMBOLS)) if table else (0, 0)

    def _gnu_extent(self, table: int) -> tuple[int, int]:
        buckets, first, bloom, _ = self.dynamic.words(table, 4)
        start = table + 16 + 8 * bloom
        last = max(self.dynamic.words(start, min(buckets, MOST_SYMBOLS)), default=0)
        if last < first:  # it exports nothing, and the table does not say how much it refers to
            return self._until_strings(), self._until_strings()
        while last < MOST_SYMBOLS and not self.dynamic.words(start + 4 * (buckets + last - first), 1)[0] & 1:
            last += 1
        return first, last + 1

    def _until_strings(self) -> int:
        """Every linker puts the strings right behind the symbols."""
        size = self.dynamic.address(DT_STRTAB) - self.dynamic.address(DT_SYMTAB)
        return min(size // SYMBOL.size, MOST_SYMBOLS) if size > 0 else 0

    @property
    def is_large(self) -> bool:
        return self.extent[1] > FEW_SYMBOLS

    def _name(self, offset: int) -> str:
        strings = self.dynamic.strings
        if not strings:
            return self.dynamic.string(offset)
        end = strings.find(b"\0", offset)
        return strings[offset : end if end >= 0 else None].decode(errors="replace")

    def _entries(self, first: int, last: int) -> Iterator[Entry]:
        start = self.dynamic.address(DT_SYMTAB) + SYMBOL.size * first
        data = self.dynamic.image.memory.read(start, SYMBOL.size * max(last - first, 0))
        return SYMBOL.iter_unpack(data)

    @cached_property
    def _all(self) -> dict[str, list[tuple[int, Entry]]]:
        """By name, with the index of each."""
        found: dict[str, list[tuple[int, Entry]]] = {}
        for index, entry in enumerate(self._entries(*self.extent), self.extent[0]):
            if is_definition(entry):
                found.setdefault(self._name(entry[0]), []).append((index, entry))
        return found

    def _definition(self, name: str, index: int, entry: Entry) -> Definition:
        is_indirect = entry[1] & 15 == STT_GNU_IFUNC
        address = self.dynamic.image.base + entry[4]
        return Definition(name, address, entry[5], *self.versions.of(index), index, is_indirect)

    def find(self, name: str) -> list[Definition]:
        """The object's definitions of the name, one a version."""
        if self._are_read:
            return [self._definition(name, *one) for one in self._all.get(name, ())]
        matches = self.dynamic.image.matches(name)
        return [Definition(name, s.address, s.size, *self.versions.of(index), index, s.is_indirect)
                for index, s in matches]  # fmt: skip

    def name_address(self, definition: Definition) -> int:
        """Where the name stands in memory, NUL-terminated."""
        entry = next(self._entries(definition.number, definition.number + 1))
        return self.dynamic.address(DT_STRTAB) + entry[0]

    @by_names
    def defined(self, names: Set[str]) -> dict[str, list[Definition]]:
        """Those of the names that the object exports."""
        if self.is_large or not self.dynamic.strings:
            return {name: found for name, found in ((name, self.find(name)) for name in names) if found}
        self._are_read = True
        return self._among(names)

    def _among(self, names: Set[str]) -> dict[str, list[Definition]]:
        found: dict[str, list[Definition]] = {}
        base, version_of = self.dynamic.image.base, self.versions.between(*self.extent)
        for name, index, entry in self._named(names):
            if index >= self.extent[0] and is_definition(entry):
                is_indirect = entry[1] & 15 == STT_GNU_IFUNC
                one = Definition(name, base + entry[4], entry[5], *version_of(index), index, is_indirect)
                found.setdefault(name, []).append(one)
        return found

    @by_names
    def _named(self, names: Set[str]) -> list[tuple[str, int, Entry]]:
        """Who asks for those that it defines asks for those that it refers to as well: all are gone through once."""
        return [*self._having(encoded(frozenset(names)), 0, self.extent[1])]

    def _having(self, wanted: Mapping[bytes, str], first: int, last: int) -> Iterator[tuple[str, int, Entry]]:
        """Nearly all have names that nobody wants: nothing is made of those."""
        strings, asked, end = self.dynamic.strings, wanted.get, self.dynamic.strings.find
        for index, entry in enumerate(self._entries(first, last), first):
            name = asked(strings[entry[0] : end(b"\0", entry[0])])
            if name is not None:
                yield name, index, entry

    def exported(self, names: Set[str]) -> frozenset[str]:
        """Those of the names that the object exports, and no more about them. Few are looked up, many read at once."""
        if len(names) <= FEW_NAMES:
            return frozenset(name for name in names if self.dynamic.image.lookup(name))
        if self.dynamic.strings:
            wanted = encoded(frozenset(names))
            return frozenset(name for name, _, row in self._having(wanted, *self.extent) if is_definition(row))
        rows = (row for row in self._entries(*self.extent) if is_definition(row))
        return frozenset(self._name(row[0]) for row in rows) & names

    @by_names
    def undefined(self, names: Set[str]) -> dict[int, str]:
        """Index -> name of those that the object refers to and does not define.

        They come first, but for those whose address is the program's PLT entry (psABI, "Function Addresses"): a
        program is never large."""
        first, count = self.extent
        last = first if self.is_large and first else count
        if self.dynamic.strings:
            found = self._named(names) if last == count else self._having(encoded(frozenset(names)), 0, last)
            return {index: name for name, index, row in found if row[0] and not row[3]}
        rows = enumerate(self._entries(0, last))
        named = ((index, self._name(row[0])) for index, row in rows if row[0] and not row[3])
        return {index: name for index, name in named if name in names}

    @cached_property
    def by_address(self) -> dict[int, tuple[str, ...]]:
        """Exported names by address, several where a function has aliases; {} for a large object."""
        found: dict[int, tuple[str, ...]] = {}
        base = self.dynamic.image.base
        for name, rows in ({} if self.is_large else self._all).items():
            for address in {base + entry[4] for _, entry in rows}:
                found[address] = (*found.get(address, ()), name)
        return found
