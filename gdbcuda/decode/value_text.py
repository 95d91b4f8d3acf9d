"""The words in which values are shown; all lengths are capped here."""

from __future__ import annotations

from typing import Any, NamedTuple

from gdbcuda.text.printable import visible

STRING_LIMIT = 200  # characters of a string
ELEMENT_LIMIT = 16  # elements of an array, bytes of a binary block
ELLIPSIS = "…"
_ESCAPES = {ord("\\"): "\\\\", ord('"'): '\\"'}


class Decoded(NamedTuple):
    """A value for people, and for programs: ``data`` is made of what JSON knows.

    Numbers are numbers; named ones (enums, flags) their names; addresses and handles "0x…", NULL is None;
    structs are objects, what a pointer points to is {"address": …, "value": …}; nan and inf are strings.
    """

    text: str
    data: Any


def address(value: int) -> Decoded:
    """A pointer or handle by itself."""
    return Decoded(f"{value:#x}", f"{value:#x}") if value else Decoded("NULL", None)


def quoted(raw: bytes, is_whole: bool = True) -> Decoded:
    """A string in C's notation; ``is_whole``: nothing of it is missing at the end of ``raw``."""
    text = raw[: 4 * STRING_LIMIT].decode("utf-8", "surrogateescape")
    if len(text) > STRING_LIMIT or not is_whole:
        return Decoded(f'"{escaped(text[:STRING_LIMIT])}"{ELLIPSIS}', as_json(text[:STRING_LIMIT]) + ELLIPSIS)
    return Decoded(f'"{escaped(text)}"', as_json(text))


def as_json(text: str) -> str:
    """Bytes that are no UTF-8 as the four characters \\xff: JSON and UTF-8 have no other way to write them."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def escaped(text: str) -> str:
    return visible(text.translate(_ESCAPES))


def binary(raw: bytes, size: int | None = None) -> Decoded:
    """Bytes in hex, the first few; ``size`` is how many there are in all, if ``raw`` has not got them all."""
    size = len(raw) if size is None else size
    data = raw.hex()
    if size <= ELEMENT_LIMIT:
        return Decoded(f"0x{data}" if raw else "[]", data)
    return Decoded(f"0x{raw[:ELEMENT_LIMIT].hex()}{ELLIPSIS} ({size} bytes)", data)


def in_brackets(parts: list[Decoded], count: int) -> Decoded:
    """An array of which ``parts`` are shown, and that has ``count`` elements in all."""
    texts = [part.text for part in parts]
    if count > len(parts):
        texts.append(f"{ELLIPSIS} ({count} in all)")
    return Decoded(f"[{', '.join(texts)}]", [part.data for part in parts])
