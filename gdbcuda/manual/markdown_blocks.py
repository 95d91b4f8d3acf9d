"""The blocks of a page of Markdown. Known is what the pages use. (CommonMark: "Leaf blocks", "Container blocks"; GitHub
Flavored Markdown: "Tables".)"""

from __future__ import annotations

import re
from collections.abc import Iterator

FENCE, INDENT = "```", "    "
ITEM = re.compile(r"(?:[-*]|\d+\.) ")
CELLS = re.compile(r"(?<!\\)\|")  # between two cells


def blocks(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The kind of each (heading, paragraph, item, code, table) and its lines, without what marks code."""
    at = 0
    while at < len(lines):
        kind = kind_of(lines[at])
        end = at + 1
        while end < len(lines) and not is_end(kind, lines[end]):
            end += 1
        if kind == "fence":
            yield "code", lines[at + 1 : end]
            end += 1
        elif kind:
            yield kind, [line[len(INDENT) :] for line in lines[at:end]] if kind == "code" else lines[at:end]
        at = end


def kind_of(line: str) -> str:
    """ "" of a blank line."""
    if line.startswith(FENCE):
        return "fence"
    if line.startswith(INDENT):
        return "code"
    if line.startswith("#"):
        return "heading"
    if line.startswith("|"):
        return "table"
    return "item" if ITEM.match(line) else "paragraph" if line.strip() else ""


def is_end(kind: str, line: str) -> bool:
    """Whether the block does not go on with this line."""
    if kind == "fence":
        return line.startswith(FENCE)
    if kind in ("code", "table"):
        return kind_of(line) != kind
    return kind in ("heading", "") or kind_of(line) not in ("paragraph", "code")


def rows_of(block: list[str]) -> list[list[str]]:
    """The cells of a table, its heads first; the line below them is left out."""
    lines = [CELLS.split(line.strip().strip("|")) for line in (block[0], *block[2:])]
    return [[cell.strip().replace("\\|", "|") for cell in line] for line in lines]
