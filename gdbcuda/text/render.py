"""Tables, colour and highlighted C, as text: nothing here prints.

tabulate and pygments are imported when they are first needed (both cost gdb's start some 20 ms) and may be
missing: then tables are plain columns and code stays as it is. Whether colour is wanted (NO_COLOR, a pipe, an
IDE) is for the caller to decide.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Callable

from gdbcuda.text.patterns import pattern
from gdbcuda.text.printable import coloured, visible, visible_in_colour, visible_without_colour

# Roles to SGR codes of ECMA-48, the sixteen colours only: they follow the user's terminal theme.
ROLES = {
    "ok": "32",
    "warning": "33",
    "error": "1;31",
    "note": "36",
    "function": "1;33",
    "number": "36",
    "dim": "2",
    "title": "1",
    "layer-app": "32",
    "layer-runtime": "34",
    "layer-hook": "1;35",
    "layer-driver": "36",
    "layer-system": "2",
}
ESCAPE = pattern(r"\x1b\[[0-9;]*m")
FOLD = pattern(r"\s*(?:[-+] )?(#\d+\s+)?")  # what a folded line stays behind
STAYS = pattern(r"  [^\s(\d#]|    (?:\$|\(gdb\)) ")
WORD = pattern(r"\s*\S+(?: [um]?s\b)?")  # 12.3 us stays together
HEADER_PADDING = "  "  # tabulate makes a column two wider than its title
MOST_TABULATED = 1000  # rows; of 160,000 tabulate takes 12 s, `columns` 3
NARROWEST = 16  # columns; narrower than that, wrapped text is hard to read
SCREEN = 0  # a width: as wide as the terminal is, if there is one
GAP = 2


def colour(text: str, role: str, enabled: bool) -> str:
    """``text``, its control characters shown, in the colour of one of `ROLES`, where colour is wanted; KeyError for an
    unknown role. It is a colour once `printable.screened` has seen it."""
    return coloured(text, ROLES[role]) if enabled and text else visible(text)


def plain(text: str) -> str:
    """``text`` without colour escapes."""
    return ESCAPE.sub("", text)


def visible_width(text: str) -> int:
    """How many columns the longest line of ``text`` takes."""
    return max(map(len, plain(text).split("\n")))


def wrap(text: str, width: int) -> str:
    """``text`` in lines of at most ``width`` columns, broken at blanks where it can be; loses its colour."""
    import textwrap  # 3 ms of gdb's start

    lines = plain(text).split("\n")
    return "\n".join(part for line in lines for part in textwrap.wrap(line, width) or [""])


def fold(text: str, width: int | None) -> str:
    """Lines of ``text`` in at most ``width`` columns, broken at blanks, what follows further in; colour stays.

    Behind a number (#12) as far in as what stands behind it. None: as wide as it is."""
    if width is None or visible_width(text) <= width:
        return text
    return "\n".join(folded for line in text.split("\n") for folded in folds(line, width))


def folds(line: str, width: int) -> list[str]:
    if visible_width(line) <= width:
        return [line]
    start = FOLD.match(plain(line))
    indent = min(start.end() if start and start.group(1) else (start.end() if start else 0) + GAP, width // 3)
    lines, current = [], ""
    for word in WORD.findall(line):
        if current.strip() and visible_width(current + word) > width:
            lines.append(current)
            current, word = " " * indent, word.lstrip()
        current += word
    return [*lines, current]


TOLD: list[Callable[[], int]] = []  # who may have been told another width than the terminal's; 0 where it was not


def terminal_width() -> int:
    """Columns of the terminal, COLUMNS first, 80 where nobody knows."""
    import shutil  # it loads three compressors

    return next(filter(None, (ask() for ask in TOLD)), 0) or shutil.get_terminal_size().columns


def screen() -> int | None:
    """Columns to fit into; None where nobody looks at a terminal: a pipe, a file, an IDE."""
    return terminal_width() if os.isatty(1) else None


def fitted(text: str) -> str:
    """In lines as wide as the terminal, broken at blanks. A word two columns in begins a command to be typed, or a
    value, and so does a prompt in a page of the manual: that line stays. So does JSON."""
    width = screen()
    if width is None or text.lstrip()[:1] in ("{", "["):
        return text
    return "\n".join(line if STAYS.match(line) else fold(line, width) for line in text.split("\n"))


def fold_to_screen(text: str) -> str:
    """All of it: nothing there is to be typed."""
    return fold(text, screen())


@contextlib.contextmanager
def as_wide_as_it_is(is_wanted: bool = True) -> Iterator[None]:
    """Within it no terminal is too narrow."""

    def without_end() -> int:
        return sys.maxsize

    if is_wanted:
        TOLD.insert(0, without_end)
    try:
        yield
    finally:
        if is_wanted:
            TOLD.remove(without_end)


def table(
    rows: Sequence[Sequence[object]],
    headers: Sequence[str],
    *,
    colour: bool = False,
    lines: bool = False,
    width: int | None = SCREEN,
) -> str:
    """Aligned columns under ``headers``; a column of numbers goes to the right. Cells hold text of others, so control
    characters are shown in them; with ``colour`` our colours stay, with ``lines`` the ends of lines.

    With a ``width`` the widest columns wrap until the table fits into it; what wraps loses its colour. If they would
    be narrower than `NARROWEST`, what is the same in each row stands above. Where that is not enough, each row becomes
    lines of its own, title and cell. None: as wide as it is."""
    width = screen() if width == SCREEN else width
    numeric = [is_numeric([row[i] for row in rows]) for i in range(len(headers))]
    shown = visible_in_colour if colour else visible_without_colour
    cells = [["\n".join(map(shown, str(cell).split("\n") if lines else [str(cell)])) for cell in row] for row in rows]
    if width is not None:
        widths = fit([*cells, [title + HEADER_PADDING for title in headers]], width)
        if sum(widths) + GAP * (len(widths) - 1) > width and cells:
            same = [column for column in range(len(headers)) if len({row[column] for row in cells}) == 1]
            if len(cells) > 1 and same and len(same) < len(headers):
                return without_columns(same, cells, headers, colour=colour, width=width)
            return records(cells, headers, width)
        cells = [[wrap(c, w) if visible_width(c) > w else c for c, w in zip(row, widths)] for row in cells]
        headers = [wrap(title, max(w - len(HEADER_PADDING), 1)) for title, w in zip(headers, widths)]
    titles = ["\n".join(coloured(line, ROLES["title"]) for line in title.split("\n")) if colour else title
              for title in headers]  # fmt: skip
    return aligned(cells, titles, numeric)


def aligned(cells: list[list[str]], titles: list[str], numeric: list[bool]) -> str:
    """By tabulate, where that is there, and not a matter of seconds."""
    if len(cells) > MOST_TABULATED:
        return columns([titles, *cells], numeric)
    try:
        from tabulate import tabulate
    except ImportError:
        return columns([titles, *cells], numeric)
    sides = ["right" if number else "left" for number in numeric] if cells else None
    return str(tabulate(cells, titles, tablefmt="simple", disable_numparse=True, colalign=sides))


def is_numeric(cells: Sequence[object]) -> bool:
    """Numbers, and perhaps rows without one."""
    filled = [cell for cell in cells if cell != ""]
    return bool(filled) and all(isinstance(cell, (int, float)) for cell in filled)


def rows_of_cells(rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns without titles, of cells that are visible; a line is as long as it is."""
    try:
        from tabulate import tabulate
    except ImportError:
        widths = [max(map(visible_width, column)) for column in zip(*rows)]
        lines = ["  ".join(map(_padded, row, widths, [False] * len(row))) for row in rows]
    else:
        lines = str(tabulate(rows, tablefmt="plain", disable_numparse=True)).split("\n")
    return "\n".join(line.rstrip() for line in lines)


def natural_width(rows: Sequence[Sequence[str]], headers: Sequence[str], without: Sequence[int] = ()) -> int:
    """Columns that a table takes where nothing in it wraps; ``without`` some of its columns."""
    titles = [title + HEADER_PADDING for title in headers]
    widths = [max(map(visible_width, cells)) for at, cells in enumerate(zip(*rows, titles)) if at not in without]
    return sum(widths) + GAP * (len(widths) - 1)


def without_columns(
    same: Sequence[int], cells: Sequence[Sequence[str]], headers: Sequence[str], *, colour: bool, width: int
) -> str:
    """What is in every row stands above the table once."""
    above = "; ".join(f"{headers[i]}: {' '.join(cells[0][i].split())}" for i in same if cells[0][i])
    left = [i for i in range(len(headers)) if i not in same]
    rest = table([[row[i] for i in left] for row in cells], [headers[i] for i in left], colour=colour, lines=True,
                 width=width)  # fmt: skip
    folded = fold(f"In each row: {above}", width) if above else ""
    first = folded if visible_width(folded) <= width else wrap(folded, width)
    return "\n".join([*([first] if above else []), rest])


def records(rows: Sequence[Sequence[str]], headers: Sequence[str], width: int) -> str:
    """One cell a line behind its title, a blank line between rows; empty cells are left out."""
    indent = min(max(map(len, headers)) + GAP, width // 2)
    blocks = []
    for row in rows:
        lines = []
        for title, cell in zip(headers, row):
            fits = visible_width(cell) <= width - indent
            shown = (cell if fits else wrap(cell, max(width - indent, NARROWEST))).replace("\n", "\n" + " " * indent)
            above = "" if len(title) < indent else wrap(title, max(width, NARROWEST)) + "\n"
            lines += [f"{above}{'' if above else title:<{indent}}{shown}"] if cell else []
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def fit(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Column widths that add up to ``width`` with a gap between them, the widest giving way first."""
    widths = [max(map(visible_width, column)) for column in zip(*rows)]
    spare = width - GAP * (len(widths) - 1)
    while sum(widths) > spare and max(widths) > NARROWEST:
        widest = widths.index(max(widths))
        widths[widest] -= 1
    return widths


def columns(rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> str:
    """What tabulate does, faster: the first row is the header, cells may have several lines."""
    widths = [max(visible_width(title) + len(HEADER_PADDING), *map(visible_width, cells), 0)
              for title, *cells in zip(*rows)]  # fmt: skip
    lines = [line for row in rows for line in zip_longest(*(cell.split("\n") for cell in row), fillvalue="")]
    lines.insert(max(cell.count("\n") for cell in rows[0]) + 1, tuple("-" * width for width in widths))
    return "\n".join("  ".join(map(_padded, line, widths, numeric)).rstrip() for line in lines)


def _padded(cell: str, width: int, right: bool) -> str:
    blank = " " * (width - visible_width(cell))
    return blank + cell if right else cell + blank
