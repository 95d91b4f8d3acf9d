"""Names of the functions that debug info defines: for a file that lost .symtab and kept its debug info."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from elftools.dwarf.die import DIE

from gdbcuda.elf.dwarf.compile_units import Dwarf, tag_of, text_of
from gdbcuda.elf.dwarf.sections import TooMuch

__all__ = ["TooMuch", "defined_functions", "inlined_functions"]

# A second of work or two. What is larger is told as not looked at.
MOST_ENTRIES = 60_000
_LARGEST_UNIT = 32 << 20

_read: Any = DIE  # typed in some versions of pyelftools only
_NAMES = ("linkage_name", "MIPS_linkage_name", "name")
ELSEWHERE = ("DW_AT_abstract_origin", "DW_AT_specification")  # the entry that has the name: inlined, LTO, C++
MOST_STEPS = 4
DW_INL_INLINED = (1, 3)  # whether that was asked for or not


def defined_functions(dwarf: Dwarf) -> Iterator[str]:
    """Every function with code, by its name in the symbol table; TooMuch when the limit is reached."""
    walk = EntryWalk(dwarf)
    for first in dwarf.first_entries():
        if tag_of(first) == "compile_unit":
            yield from walk.functions(first)


def inlined_functions(dwarf: Dwarf) -> Iterator[str]:
    """What the compiler has put into its callers, as people write it; TooMuch when the limit is reached."""
    walk = EntryWalk(dwarf)
    for first in dwarf.first_entries():
        if tag_of(first) == "compile_unit":
            yield from (text_of(entry, "name") for entry in walk.children(first) if is_inlined(entry))


class EntryWalk:
    """One entry after the other, none kept: pyelftools's own walk keeps all, and follows siblings in circles."""

    def __init__(self, dwarf: Dwarf) -> None:
        self._info = dwarf.info
        self._left = MOST_ENTRIES

    def functions(self, first: Any) -> Iterator[str]:
        """The names of the functions among the children of a unit's first entry."""
        return (self.name(entry, MOST_STEPS) for entry in self.children(first) if is_defined(entry))

    def children(self, first: Any) -> Iterator[Any]:
        unit = first.cu
        end = unit.cu_offset + unit.size
        if unit.size > _LARGEST_UNIT or end > self._info.debug_info_sec.size:
            raise TooMuch
        at, depth = first.offset + first.size, int(first.has_children)
        while depth > 0 and at < end:
            entry = self.entry(unit, at)
            at, deeper = behind(entry)
            if depth == 1 and not entry.is_null():
                yield entry
            depth += deeper

    def entry(self, unit: Any, at: int) -> Any:
        self._left -= 1
        if not self._left:
            raise TooMuch
        with self._info.told():
            return _read(cu=unit, stream=self._info.debug_info_sec.stream, offset=at)

    def name(self, entry: Any, steps: int) -> str:
        own = next((name for name in (text_of(entry, each) for each in _NAMES) if name), "")
        if own or not steps:
            return own
        places = (place for each in ELSEWHERE if (place := referred(entry, each)))
        return next((self.name(self.entry(*self.of_place(place)), steps - 1) for place in places), "")

    def of_place(self, place: int) -> tuple[Any, int]:
        """The unit that has this place, and the place."""
        with self._info.told():
            return self._info.get_CU_containing(place), place


def is_defined(entry: Any) -> bool:
    has_code = "DW_AT_low_pc" in entry.attributes or "DW_AT_ranges" in entry.attributes
    return entry.tag == "DW_TAG_subprogram" and has_code


def is_inlined(entry: Any) -> bool:
    how = entry.attributes.get("DW_AT_inline")
    return tag_of(entry) == "subprogram" and how is not None and how.value in DW_INL_INLINED


def behind(entry: Any) -> tuple[int, int]:
    """(where the next entry is, how much deeper); a sibling reference jumps over children, never back."""
    at = entry.offset + entry.size
    if entry.is_null():
        return at, -1
    sibling = referred(entry, "DW_AT_sibling")
    if sibling >= at:
        return sibling, 0
    return at, int(entry.has_children)


def referred(entry: Any, attribute: str) -> int:
    """The place of an entry that an attribute names; 0 for one in another file."""
    found = entry.attributes.get(attribute)
    if found is None or not isinstance(found.raw_value, int):
        return 0
    if found.form == "DW_FORM_ref_addr":
        return int(found.raw_value)
    in_unit = found.form in ("DW_FORM_ref1", "DW_FORM_ref2", "DW_FORM_ref4", "DW_FORM_ref8", "DW_FORM_ref_udata")
    return int(entry.cu.cu_offset + found.raw_value) if in_unit else 0
