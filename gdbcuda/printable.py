"""Text that others have written (a program, a file's name, a log) on a terminal: control characters are shown.

`visible` is for a name or a value, where it is put into a line: nothing of it can end the line, paint, or turn round
what stands behind it. `screened` is for whole texts where they leave us, a net behind it: lines, tabs and our own
colours stay. What Python calls printable may pass; escapes, C1 controls, the marks that turn the direction of writing,
other invisible characters and lone surrogates are shown by their numbers. (ECMA-48; Unicode Standard Annex 9.)
"""

from __future__ import annotations

import re

SGR = re.compile(r"(\x1b\[[0-9;]*m)")  # colours, as render.colour and pygments write them
_NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_UNDECODED = range(0xDC80, 0xDD00)  # bytes that are no UTF-8, as surrogateescape has them


def visible(text: str) -> str:
    """``text`` in printable characters alone."""
    return text if text.isprintable() else "".join(c if c.isprintable() else shown(c) for c in text)


def shown(character: str) -> str:
    """``\\x1b`` for an escape, as C and Python write it."""
    point = ord(character)
    if point in _UNDECODED:
        point -= 0xDC00
    number = f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
    return _NAMED.get(character, number)


def screened(text: str, colour: bool = False) -> str:
    """``text`` with its lines and tabs, and with ``colour`` with its colours; all else is `visible`."""
    return "\n".join(line if line.isprintable() else _screened(line, colour) for line in text.split("\n"))


def _screened(line: str, colour: bool) -> str:
    parts = SGR.split(line) if colour else [line]
    return "".join(part if at % 2 else "\t".join(map(visible, part.split("\t"))) for at, part in enumerate(parts))
