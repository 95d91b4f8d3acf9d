"""A condition that gdb reads: that of a function that is not in the table of the API.

Of a breakpoint that is pending gdb says nothing until the function is loaded, and then drops the condition. What it
will not take is told before: a number, the syntax, a name that neither the program nor the hook library has anywhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import gdb

from gdbcuda.errors import UserError
from gdbcuda.live import layers, process
from gdbcuda.live.host import gdb_cli
from gdbcuda.text import units
from gdbcuda.text.patterns import pattern
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import some

if TYPE_CHECKING:
    from gdbcuda.elf import Elf

TEXT = pattern(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')
OPTION = pattern(r"[\w)\]]\s+--([a-z][a-z-]*)(?:\s+\w+)?\s*$")
SIZE = pattern(r"(?<![\w.])(\d+)([kKmMgGtTpP](?:[iI]?[bB])?)\b")
NAME = pattern(r"(?<![\w$])[A-Za-z_]\w*")
MEMBERS = pattern(r"(?:(?:\.|->|::)\s*~?[A-Za-z_]\w*)+")
CAST = pattern(r"\(\s*[A-Za-z_][\w\s]*\)\s*[\w(]|\*\s*\)|\b(?:struct|union|enum|class|sizeof)\b")
OF_C = frozenset(("struct", "union", "enum", "class", "const", "volatile", "sizeof", "this"))
OF_OURS = frozenset(("caller", "nth", "every", "after", "thread"))
HAVE_NAMES = (".debug_str", ".debug_info", ".debug_macro", ".strtab", ".dynstr")
NAME_ENDS = ("\0", " ", "(")  # of a macro the definition follows
ELSEWHERE = b".dwo\0"  # split debug info
MOST_BYTES = 64 << 20  # of one section: in what is larger every name may be


def refuse_unreadable(text: str, symbols: Sequence[str]) -> None:
    """UserError for what gdb will not take. Of functions that it knows already it tells itself."""
    if option := OPTION.search(text):
        raise UserError(f"--{option[1]} belongs in front of if, with the other options")
    if not text or all(process.decoded(symbol) for symbol in symbols):
        return
    plain = in_bytes(TEXT.sub("0", text))
    unknown = [name for name in dict.fromkeys(NAME.findall(MEMBERS.sub("", plain))) if not is_known(name)]
    ours = [name for name in unknown if name in OF_OURS]
    if ours:
        which = f"{some(ours)}: only beside conditions on parameters that are known"
        raise UserError(f"{which} (gdb reads this condition; --from says who calls)")
    if unknown:
        hooks = some([os.path.basename(file) for file in layers.named_hooks()])
        raise UserError(f"no {some(unknown)} in {hooks}, nor in the program (gdb reads this condition)")
    refuse_form(plain)


def in_bytes(text: str) -> str:
    """gdb has no sizes like 1G."""
    parts = TEXT.split(text)
    texts = [*TEXT.findall(text), ""]
    return "".join(SIZE.sub(size_in_bytes, part) + kept for part, kept in zip(parts, texts))


def size_in_bytes(size: re.Match[str]) -> str:
    return str(int(size[1]) * (units.multiplier(size[2]) or 1))


def refuse_form(text: str) -> None:
    """Numbers and syntax: with a number for each name, which gdb knows only when the function is loaded."""
    form = text if CAST.search(text) else NAME.sub("0", MEMBERS.sub("", text))
    try:
        gdb_cli.evaluated(f"sizeof ({form})")  # which calls nothing and reads nothing
    except gdb.error as problem:
        if "Invalid number" in str(problem):
            raise UserError(f"{problem} (gdb reads this condition)") from None
        if form != text and "syntax error" in str(problem):
            raise UserError(f"{visible(text)}: a syntax error for gdb, which reads this condition") from None


def is_known(name: str) -> bool:
    """To gdb, or in a string of a hook library's that may be a name."""
    if name in OF_C or not layers.named_hooks():
        return True
    try:
        gdb_cli.evaluated(f"sizeof ({name})")
        return True
    except gdb.error:
        return any(may_have(file, name) or is_beside(file, name) for file in layers.named_hooks())


def may_have(file: str, name: str) -> bool:
    """True as well where that cannot be known."""
    strings = strings_of(file)
    return strings is None or any(f"{name}{end}".encode() in one for one in strings for end in NAME_ENDS)


def is_beside(file: str, name: str) -> bool:
    """Does a library export it that the hook library or the program needs?"""
    from gdbcuda import elf

    files = [one for one in (file, process.strip_prefix(process.program())) if os.path.isfile(one)]
    try:
        found = (elf.Libraries(elf.open(one), elf.Root()).found for one in files)
        return any(name in one.exported for libraries in found for one in libraries.values())
    except UserError:
        return True


@process.until_objects_change
def strings_of(file: str) -> tuple[bytes, ...] | None:
    """All names of the file's symbols and debug info; None where it is not here, or has its names elsewhere too."""
    from gdbcuda import elf

    try:
        whole = elf.open(file)
        found = [one for each in (whole, *elf.debug_files(whole)) for one in in_sections(each)]
    except UserError:
        return None
    return None if None in found or any(ELSEWHERE in one for one in found if one) else tuple(filter(None, found))


def in_sections(file: Elf) -> Iterator[bytes | None]:
    """None of what is too large, or cannot be unpacked whole."""
    yield None if file.section(".gnu_debugaltlink") else b""
    for contents in filter(None, map(file.contents, HAVE_NAMES)):
        is_whole = contents.readable == contents.size <= MOST_BYTES
        yield contents.read(0, contents.size) if is_whole else None
