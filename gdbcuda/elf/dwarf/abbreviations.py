"""Abbreviations: which attributes an entry of .debug_info has (DWARF 5, section 7.5.3).

pyelftools reads all of a table before the first entry of its unit: 10 ms for one of C++ (6 KB), and gcc gives the
first entry a late number. So declarations are passed over here, and those that are asked for are read by pyelftools.
"""

from __future__ import annotations

from typing import Any

from elftools.common.utils import struct_parse
from elftools.dwarf.abbrevtable import AbbrevDecl

_parse: Any = struct_parse  # typed in some versions of pyelftools only
_declared: Any = AbbrevDecl
_IMPLICIT_CONST = 0x21  # the one form whose value is in the declaration


class Abbreviations:
    """The content of .debug_abbrev, also as a stream for pyelftools."""

    def __init__(self, data: bytes, structs: Any, stream: Any) -> None:
        self.data = data
        self.structs = structs
        self.stream = stream
        self._tables: dict[int, Declarations] = {}

    def table(self, offset: int) -> Declarations:
        if offset not in self._tables:
            self._tables[offset] = Declarations(self, offset)
        return self._tables[offset]


class Declarations:
    """What pyelftools calls an AbbrevTable. IndexError and KeyError for what is corrupt."""

    def __init__(self, all: Abbreviations, offset: int) -> None:
        self._all = all
        self._at = offset  # how far the declarations are known
        self._offsets: dict[int, int] = {}
        self._read: dict[int, Any] = {}

    def get_abbrev(self, code: int) -> Any:
        if code not in self._read:
            layout = self._all.structs.Dwarf_abbrev_declaration
            declaration = _parse(layout, self._all.stream, self._find(code))
            self._read[code] = _declared(code, declaration)
        return self._read[code]

    def _find(self, code: int) -> int:
        data = self._all.data
        while code not in self._offsets:
            found, self._at = _uleb(data, self._at)
            if not found:
                raise KeyError(code)
            self._offsets.setdefault(found, self._at)
            self._at = _passed(data, _uleb(data, self._at)[1] + 1)
        return self._offsets[code]


def _passed(data: bytes, at: int) -> int:
    """Where the attributes of a declaration end, with two zeros."""
    name = form = 1
    while name or form:
        name, at = _uleb(data, at)
        form, at = _uleb(data, at)
        if form == _IMPLICIT_CONST:
            at = _uleb(data, at)[1]
    return at


def _uleb(data: bytes, at: int) -> tuple[int, int]:
    """(number, where it ends)"""
    result, shift = data[at] & 0x7F, 7
    while data[at] & 0x80 and shift < 70:
        at += 1
        result |= (data[at] & 0x7F) << shift
        shift += 7
    return result, at + 1
