"""Compilation units: what was compiled, from where, how; and the functions that they define.

pyelftools reads them. Only the first entry of each unit is read for the units, so that gigabytes cost milliseconds.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from gdbcuda.elf.contents import Contents
from gdbcuda.elf.records import text

MOST_UNITS = 2048
_UNNAMED = {"GNU_dwo_name": 0x2130}  # a number in older versions of pyelftools
# pyelftools 0.29, which Debian 12's gdb may find, leaves the kind of a DWARF 5 unit a number, and stops in front of
# what these kinds have behind the others' header: the id of a .dwo file, or a signature and the place of a type.
_OF_TYPES = (2, 6)
_WITH_ID = (4, 5)
OF_GO = "Go cmd/"
PART_OF_CRATE = "/@/"  # what rustc writes behind a file's name: "src/lib.rs/@/hook.9e57086c99649a35-cgu.0"


class Unit(NamedTuple):
    """One unit of .debug_info. Texts are "" where the unit does not have them."""

    tag: str  # "compile_unit"
    version: int
    name: str  # source file as given to the compiler; Go's names the package
    directory: str  # where the compiler ran
    producer: str  # compiler, and gcc's command-line options
    split: str  # the .dwo file

    @property
    def is_package(self) -> bool:
        return self.producer.startswith(OF_GO)


class Dwarf:
    """The debug sections of one file, by their plain names (".debug_info")."""

    def __init__(self, name: str, sections: Mapping[str, Contents], little_endian: bool, bits: int) -> None:
        self.sections = sections
        self._made_of = name, sections, little_endian, bits

    @cached_property
    def info(self) -> Any:
        """pyelftools, which is loaded when debug info is really read."""
        from gdbcuda.elf.dwarf.sections import Info

        return Info(*self._made_of)

    def units(self) -> Iterator[Unit]:
        """The first units (MOST_UNITS, or what is unpacked of them); UserError where they are corrupt."""
        if ".debug_info" not in self.sections:
            return
        from gdbcuda.elf.dwarf.sections import TooMuch

        with contextlib.suppress(TooMuch):
            yield from map(_unit, self.first_entries())

    def first_entries(self) -> Iterator[Any]:
        """The first entry of each unit but those of types, as a DIE of pyelftools; TooMuch where it has read enough."""
        units = self.info.iter_CUs()
        for _ in range(MOST_UNITS):
            with self.info.told():
                entry = _first_entry(next(units, None))
            if entry is None:
                return
            if tag_of(entry) not in ("type_unit", "None"):  # None: a unit without entries
                yield entry


def _first_entry(unit: Any) -> Any:
    """None behind the last unit."""
    if unit is None:
        return None
    kind = unit.header.get("unit_type")
    if kind in _WITH_ID:
        unit.cu_die_offset += 8
    if kind in _OF_TYPES:
        unit.cu_die_offset += 8 + unit.dwarf_format() // 8
    return unit.get_top_DIE()


def _unit(entry: Any) -> Unit:
    return Unit(
        tag=tag_of(entry),
        version=entry.cu["version"],
        name=text_of(entry, "name").partition(PART_OF_CRATE)[0],
        directory=text_of(entry, "comp_dir"),
        producer=text_of(entry, "producer"),
        split=text_of(entry, "dwo_name") or text_of(entry, "GNU_dwo_name"),
    )


def tag_of(entry: Any) -> str:
    return str(entry.tag).replace("DW_TAG_", "", 1)


def text_of(entry: Any, attribute: str) -> str:
    """ "" where the text lies in another file or beyond what is unpacked."""
    found = entry.attributes.get("DW_AT_" + attribute) or entry.attributes.get(_UNNAMED.get(attribute))
    return text(found.value) if found and isinstance(found.value, bytes) else ""
