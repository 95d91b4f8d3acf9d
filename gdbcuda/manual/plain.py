"""A page as it is read in a terminal: the blocks of its Markdown as text."""

from __future__ import annotations

import re
import textwrap

from gdbcuda.data_classes import dataclass
from gdbcuda.manual.inline import unmarked
from gdbcuda.manual.markdown_blocks import INDENT, ITEM, blocks, rows_of
from gdbcuda.manual.pages import pages
from gdbcuda.text import render

TYPED = re.compile(INDENT + r"(\$|\(gdb\)) ")
WIDEST = 100  # columns of running text: longer lines are hard to read


@dataclass(frozen=True)
class Terminal:
    """``width``: its columns, None where nobody looks at one. ``help_command`` is what shows another page there."""

    help_command: str
    width: int | None = None
    is_coloured: bool = False

    @property
    def columns(self) -> int:
        """Of running text and tables, into a pipe too: that leads to a pager."""
        return min(self.width or render.terminal_width(), WIDEST)


def listed(terminal: Terminal) -> str:
    """All topics, each with what its page answers."""
    rows = [(page.topic, page.answers) for page in pages().values()]
    return render.table(rows, ("topic", "answers"), colour=terminal.is_coloured, width=terminal.columns)


def shown(text: str, terminal: Terminal) -> str:
    """Markdown as text, a blank line between two blocks but between the items of a list."""
    lines: list[str] = []
    before = ""
    for kind, block in blocks(text.splitlines()):
        if before and not kind == before == "item":
            lines.append("")
        lines.append(SHOWN[kind](block, terminal))
        before = kind
    return "\n".join(lines)


def heading(block: list[str], terminal: Terminal) -> str:
    """Underlined as deep as it is: = for the page's title, - for the others."""
    marks, _, title = block[0].partition(" ")
    lines = render.wrap(unmarked(title, terminal.help_command), terminal.columns).split("\n")
    under = ("=" if marks == "#" else "-") * max(map(len, lines))
    return "\n".join([*(render.colour(line, "title", terminal.is_coloured) for line in lines), under])


def paragraph(block: list[str], terminal: Terminal, further: str = "") -> str:
    text = unmarked(" ".join(line.strip() for line in block), terminal.help_command)
    wrapped = textwrap.wrap(text, terminal.columns, subsequent_indent=further, break_on_hyphens=False,
                            break_long_words=False)  # fmt: skip
    return "\n".join(wrapped)


def item(block: list[str], terminal: Terminal) -> str:
    mark = ITEM.match(block[0])
    return paragraph(block, terminal, " " * (mark.end() if mark else 0))


def code(block: list[str], terminal: Terminal) -> str:
    """On a terminal its lines are folded, but for what is to be typed; into a pipe they are as wide as they are."""
    lines = [INDENT + line if line else "" for line in block]
    return "\n".join(code_line(line, terminal.width) for line in lines)


def code_line(line: str, width: int | None) -> str:
    if width is not None and not line.strip(" -"):
        return line[:width]  # below a table's titles
    return line if is_typed(line) else render.fold(line, width)


def is_typed(line: str) -> bool:
    return TYPED.match(line) is not None


def table(block: list[str], terminal: Terminal) -> str:
    rows = [[unmarked(cell, terminal.help_command, is_quoting=False) for cell in row] for row in rows_of(block)]
    return render.table(rows[1:], rows[0], width=terminal.columns)


SHOWN = {"heading": heading, "paragraph": paragraph, "item": item, "code": code, "table": table}
