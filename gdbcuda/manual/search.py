"""Where a word stands in the manual, and in other texts that have headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gdbcuda.data_classes import dataclass, field
from gdbcuda.manual.inline import unmarked
from gdbcuda.manual.markdown_blocks import ITEM, blocks, rows_of
from gdbcuda.manual.pages import Page, pages
from gdbcuda.text.sentences import counted, meant

MOST_LINES = 3  # under one heading
MOST_MATCHES = 6  # with a line of each, and where the others are, they fit a screen
SENTENCE = re.compile(r"(?<=[.?!]) (?=[A-Z`*])")


@dataclass
class Match:
    """``shown_by``: the command that shows the text. The heading may have the word itself, and no line of it."""

    shown_by: str
    heading: str
    lines: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        more = len(self.lines) - MOST_LINES
        lines = [*self.lines[:MOST_LINES], f"({more} more)" if more > 0 else ""]
        return "\n  ".join([f"{self.shown_by}: {self.heading}", *filter(None, lines)])

    @property
    def short(self) -> str:
        return "\n  ".join([f"{self.shown_by}: {self.heading}", *self.lines[:1]])


def in_pages(word: str, help_command: str) -> list[Match]:
    """In the order of the pages."""
    found = []
    for page in pages().values():
        lines = [(heading, unmarked(line, help_command)) for heading, line in lines_of(page)]
        found += matches(word, f"{help_command} {page.topic}", lines)
    return found


def lines_of(page: Page) -> Iterator[tuple[str, str]]:
    """Its sentences and rows, each with the heading that it is under; then what its sessions show."""
    heading, sessions = "", []
    for kind, block in blocks(page.text.splitlines()):
        if kind == "heading":
            heading = block[0].lstrip("# ")
        elif kind == "code":
            sessions += [(heading, line.strip()) for line in block]
        else:
            yield from ((heading, line) for line in sentences(kind, block))
    yield from sessions


def sentences(kind: str, block: list[str]) -> list[str]:
    if kind == "table":
        return ["  ".join(row) for row in rows_of(block)]
    text = " ".join(line.strip() for line in block)
    return SENTENCE.split(ITEM.sub("", text, count=1) if kind == "item" else text)


def matches(word: str, shown_by: str, lines: Iterable[tuple[str, str]]) -> list[Match]:
    """Of the lines, each with its heading; upper and lower case are one."""
    found: dict[str, Match] = {}
    word = word.casefold()
    for heading, line in lines:
        if word in heading.casefold():
            found.setdefault(heading, Match(shown_by, heading))
        if word in line.casefold():
            found.setdefault(heading, Match(shown_by, heading)).lines.append(line)
    return list(found.values())


def shown(word: str, found: list[Match]) -> list[str]:
    """A word that stands everywhere is told by the best places: headings that have it, then where it stands most."""
    if len(found) <= MOST_MATCHES:
        return [*map(str, found)]
    whole = re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE)
    best = sorted(found, key=lambda one: (not whole.search(one.heading), -sum(map(bool, map(whole.search, one.lines)))))
    return [*(one.short for one in best[:MOST_MATCHES]), others(best[MOST_MATCHES:])]


def others(found: list[Match]) -> str:
    """The commands that show them, without what is shown: "3 more places: cuda-help check, log; help cuda-log"."""
    commands: dict[str, dict[str, None]] = {}
    for one in found:
        command, _, topic = one.shown_by.partition("help ")
        commands.setdefault(command + "help", {})[topic] = None
    told = "; ".join(f"{command} {', '.join(topics)}" for command, topics in commands.items())
    return f"{counted(len(found), 'more place')}: {told}"


def answer(word: str, found: list[Match], topics: Iterable[str]) -> str:
    """What a help command says of a word that is no topic. It may be a topic misspelt."""
    nearest = meant(word, topics)
    said = f"{word!r} is no topic" + (", and nothing here speaks of it" if not found else "")
    return "\n".join([said + (nearest or (":" if found else "")), *shown(word, found)])
