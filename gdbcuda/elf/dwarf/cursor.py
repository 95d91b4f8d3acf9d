"""Reading the numbers and strings of DWARF one after the other (DWARF 5, section 7.6 and 7.5.6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from elftools.dwarf.enums import ENUM_DW_FORM

from gdbcuda.errors import UserError


def names_by_number(names: Mapping[str, object], prefix: str) -> dict[int, str]:
    """pyelftools' table of constants the other way round, without the prefix."""
    return {number: name[len(prefix) :] for name, number in names.items() if isinstance(number, int)}


FORM_NAMES = names_by_number(ENUM_DW_FORM, "DW_FORM_")

# Bytes of each form that has a fixed size.
_FIXED = {
    "data1": 1, "data2": 2, "data4": 4, "data8": 8, "data16": 16, "flag": 1,
    "flag_present": 0, "implicit_const": 0,
    "ref1": 1, "ref2": 2, "ref4": 4, "ref8": 8, "ref_sup4": 4, "ref_sup8": 8, "ref_sig8": 8,
    "strx1": 1, "strx2": 2, "strx3": 3, "strx4": 4, "addrx1": 1, "addrx2": 2, "addrx3": 3, "addrx4": 4,
}  # fmt: skip
_OFFSETS = frozenset(("strp", "line_strp", "sec_offset", "strp_sup", "GNU_strp_alt", "GNU_ref_alt", "ref_addr"))
_LENGTH_BYTES = {"block1": 1, "block2": 2, "block4": 4}
_ULEBS = frozenset(
    (
        "udata",
        "sdata",
        "ref_udata",
        "strx",
        "addrx",
        "loclistx",
        "rnglistx",
        "GNU_str_index",
        "GNU_addr_index",
    )
)


class Cursor:
    """A place in ``data``; every reader moves it. UserError, with ``what``, at the end of the data."""

    def __init__(self, data: bytes, little_endian: bool, what: str, at: int = 0) -> None:
        self.data = data
        self.at = at
        self._order = "little" if little_endian else "big"
        self.what = what

    def take(self, size: int) -> bytes:
        end = self.at + size
        if size < 0 or end > len(self.data):
            raise UserError(f"{self.what}: corrupt or cut off")
        piece = self.data[self.at : end]
        self.at = end
        return piece

    def uint(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little" if self._order == "little" else "big")

    def uleb(self) -> int:
        """An unsigned LEB128 number; the bits of a signed one, since only its length matters here."""
        result = shift = 0
        while True:
            byte = self.uint(1)
            result |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return result
            if shift > 70:
                raise UserError(f"{self.what}: corrupt: a number without an end")

    def string(self) -> bytes:
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise UserError(f"{self.what}: corrupt: a string without an end")
        piece = self.data[self.at : end]
        self.at = end + 1
        return piece

    def form(self, form: int, offset_size: int, address_size: int) -> tuple[str, int | bytes]:
        """(name of the form, value): a number, or the bytes of a string or block."""
        name = FORM_NAMES.get(form, "")
        while name == "indirect":
            name = FORM_NAMES.get(self.uleb(), "")
        if name in _FIXED:
            return name, self.uint(_FIXED[name])
        if name in _OFFSETS:
            return name, self.uint(offset_size)
        if name in _ULEBS:
            return name, self.uleb()
        return name, self._variable(name, address_size)

    def forms(
        self, attributes: Iterable[tuple[str, int]], offset_size: int, address_size: int
    ) -> dict[str, tuple[str, int | bytes]]:
        """The attributes of one entry: name -> (form, value)."""
        return {name: self.form(form, offset_size, address_size) for name, form in attributes}

    def _variable(self, name: str, address_size: int) -> int | bytes:
        if name == "string":
            return self.string()
        if name == "addr":
            return self.uint(address_size)
        if name in _LENGTH_BYTES:
            return self.take(self.uint(_LENGTH_BYTES[name]))
        if name in ("block", "exprloc"):
            return self.take(self.uleb())
        raise UserError(f"{self.what}: an attribute form that is not known")
