"""The prototype of a function that debug info defines, where its arguments are at its entry as the ABI puts them.

That is not known of a function that was inlined somewhere, or whose convention the compiler has changed: clang says so.
(DWARF 5, 3.3.1 to 3.3.8; System V ABI, x86-64 supplement 3.2.3.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Callable, NamedTuple

from gdbcuda.elf.dwarf.compile_units import Dwarf, tag_of, text_of
from gdbcuda.elf.dwarf.function_names import DW_INL_INLINED, ELSEWHERE, EntryWalk, is_defined, referred
from gdbcuda.elf.dwarf.sections import TooMuch

MOST_STEPS = 12  # typedefs and the like on the way to a type
DW_CC_NOCALL = 3
UNSIGNED, SIGNED, BOOLEAN, FLOAT, CHARACTERS = (7, 8), (5, 6), 2, 4, (6, 8)  # DW_ATE_...
INTEGERS = {1: ("signed char", "unsigned char"), 2: ("short", "unsigned short"), 4: ("int", "unsigned int"),
            8: ("long", "unsigned long")}  # fmt: skip
FLOATS = {4: "float", 8: "double"}
BETWEEN = ("typedef", "const_type", "volatile_type", "restrict_type", "atomic_type")
POINTERS = ("pointer_type", "reference_type", "rvalue_reference_type")
TAGGED = {"structure_type": "struct", "class_type": "struct", "union_type": "union", "enumeration_type": "enum"}


class Prototype(NamedTuple):
    """C spellings: of the result, and (name, spelling) of each parameter."""

    result: str
    parameters: tuple[tuple[str, str], ...]


def prototypes(dwarf: Dwarf, is_meant: Callable[[str], bool], is_known: Callable[[str], bool]) -> set[Prototype | None]:
    """Of the functions whose names in the symbol table are meant; None among them: of one it is not known.
    ``is_known``: spellings of types that the caller has, others are told by their base."""
    walk = PrototypeWalk(dwarf, is_known)
    found: set[Prototype | None] = set()
    try:
        for first in dwarf.first_entries():
            if tag_of(first) == "compile_unit":
                found.update(walk.meant(first, is_meant))
    except TooMuch:
        found.add(None)
    return found


class PrototypeWalk(EntryWalk):
    def __init__(self, dwarf: Dwarf, is_known: Callable[[str], bool]) -> None:
        super().__init__(dwarf)
        self.is_known = is_known

    def meant(self, first: Any, is_meant: Callable[[str], bool]) -> Iterator[Prototype | None]:
        for entry in self.children(first):
            if is_defined(entry) and is_meant(self.name(entry, MOST_STEPS)):
                yield self.prototype(entry)

    def prototype(self, entry: Any) -> Prototype | None:
        entries = [entry, *self.origins(entry)]
        inlined = [self.number(one, "DW_AT_inline") for one in entries]
        conventions = [self.number(one, "DW_AT_calling_convention") for one in entries]
        if any(one in DW_INL_INLINED for one in inlined) or DW_CC_NOCALL in conventions:
            return None
        result = self.type_of(entries)
        parameters = [self.parameter(child) for child in self.children(entry) if tag_of(child) == "formal_parameter"]
        if result is None or any(not name or spelling is None for name, spelling in parameters):
            return None
        return Prototype(result, tuple((name, spelling or "") for name, spelling in parameters))

    def origins(self, entry: Any) -> Iterator[Any]:
        """The entries that say the rest of it: of an inlined function, of a declaration in a class."""
        for _ in range(MOST_STEPS):
            place = next(filter(None, (referred(entry, one) for one in ELSEWHERE)), 0)
            if not place:
                return
            entry = self.entry(*self.of_place(place))
            yield entry

    def number(self, entry: Any, attribute: str) -> int:
        found = entry.attributes.get(attribute)
        return found.value if found is not None and isinstance(found.value, int) else 0

    def parameter(self, entry: Any) -> tuple[str, str | None]:
        entries = [entry, *self.origins(entry)]
        return next(filter(None, (text_of(one, "name") for one in entries)), ""), self.type_of(entries)

    def type_of(self, entries: list[Any]) -> str | None:
        """None where it cannot be told; "void" without one."""
        place = next(filter(None, (referred(one, "DW_AT_type") for one in entries)), 0)
        return self.spelling(place, MOST_STEPS)

    def spelling(self, place: int, steps: int) -> str | None:
        if not place:
            return "void"
        if not steps:
            return None
        entry = self.entry(*self.of_place(place))
        kind, name = tag_of(entry), text_of(entry, "name")
        if kind == "typedef" and self.is_known(name):
            return name
        if kind in BETWEEN:
            return self.spelling(referred(entry, "DW_AT_type"), steps - 1)
        if kind in POINTERS:
            return self.pointer(referred(entry, "DW_AT_type"), steps - 1)
        if kind == "base_type":
            return base_type(self.number(entry, "DW_AT_encoding"), self.number(entry, "DW_AT_byte_size"))
        tagged = f"{TAGGED[kind]} {name}" if kind in TAGGED else ""
        if tagged and self.is_known(tagged):
            return tagged
        return INTEGERS.get(self.number(entry, "DW_AT_byte_size"), (None,))[0] if kind == "enumeration_type" else None

    def pointer(self, place: int, steps: int) -> str:
        target = self.spelling(place, steps) if self.is_readable(place) else None
        if target in ("char", "signed char"):
            return "const char *"
        return f"{target} *" if target is not None and self.is_known(f"{target} *") else "void *"

    def is_readable(self, place: int) -> bool:
        return not place or tag_of(self.entry(*self.of_place(place))) != "subroutine_type"


def base_type(encoding: int, size: int) -> str | None:
    if encoding == BOOLEAN:
        return "_Bool"
    if encoding == FLOAT:
        return FLOATS.get(size)
    if size not in INTEGERS or encoding not in UNSIGNED + SIGNED:
        return None
    return "char" if encoding == CHARACTERS[0] else INTEGERS[size][encoding in UNSIGNED]
