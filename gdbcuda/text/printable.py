"""Text that others have written (a program, a file's name, a log) on a terminal: control characters are shown.

`visible` is for a name or a value, where it is put into a line: nothing of it can end the line, paint, or turn round
what stands behind it. `screened` is for whole texts where they leave us, a net behind it: lines, tabs and our own
colours stay. What Python calls printable may pass; escapes, C1 controls, the marks that turn the direction of writing,
other invisible characters and lone surrogates are shown by their numbers. (ECMA-48; Unicode Standard Annex 9.)

Our colours are told from those of others by a number that nobody outside of this process knows; they lose it last.
"""

from __future__ import annotations

import os

from gdbcuda.text.patterns import pattern

_OURS = str(int.from_bytes(os.urandom(4), "little"))  # a first parameter of SGR, so that all know it for no text
OUR_COLOUR = pattern(rf"(\x1b\[{_OURS};[0-9;]*m)")
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


def typed(word: object) -> str:
    """A path, or another word, as it is typed in a shell."""
    import shlex

    return shlex.quote(visible(str(word)))


def coloured(text: str, code: str) -> str:
    """``text``, visible, in the colour of that SGR code."""
    return f"\x1b[{_OURS};{code}m{visible(text)}\x1b[{_OURS};0m"


def visible_in_colour(text: str) -> str:
    """What `visible` does, of text in which there are colours of ours."""
    return "".join(part if at % 2 else visible(part) for at, part in enumerate(OUR_COLOUR.split(text)))


def visible_without_colour(text: str) -> str:
    return visible(OUR_COLOUR.sub("", text))


def screened(text: str) -> str:
    """``text`` as it may go to a terminal, with its lines, tabs and colours of ours."""
    return "\n".join(line if line.isprintable() else _screened(line) for line in text.split("\n"))


def _screened(line: str) -> str:
    return "\t".join(map(visible_in_colour, line.split("\t"))).replace(f"\x1b[{_OURS};", "\x1b[")
