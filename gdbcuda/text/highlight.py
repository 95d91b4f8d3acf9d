"""C and JSON in our colours, by what pygments takes each of their words for. Without pygments: as they are.

Pygments takes 0.2 ms for a call. So a line of a log is looked at without its numbers: what is left is the same for many
lines, and known after the first of them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain, groupby, zip_longest
from operator import itemgetter
from typing import Any

from gdbcuda.text.patterns import pattern
from gdbcuda.text.printable import visible
from gdbcuda.text.render import colour

C, JSON = "c", "json"
# The roles of `render.ROLES` by kind of word; a kind that is not here has that of the kind above it. (pygments.token)
ROLES = {
    "Token.Comment": "dim",
    "Token.Keyword": "note",
    "Token.Literal.Number": "number",
    "Token.Literal.String": "ok",
    "Token.Name.Function": "function",
    "Token.Name.Tag": "title",  # a key of JSON
}
LONGEST = {C: 1000, JSON: 20_000}  # characters of a line in colour: C's lexer may take the square of a line's length
NUMBER = pattern(r"(?<![\w.])(?:0x[0-9a-f]+|[0-9]+(?:\.[0-9]+)?)(?![\w.])")
STAND_IN = "5757575757575757575"  # for a number
PAGE_STYLES = ("default", "monokai")  # of pygments, on light and on dark


def highlighted(text: str, language: str, enabled: bool) -> str:
    """One or more lines; as they are where no colour is wanted."""
    words = ((role_of(kind), word) for kind, word in lexed(text, language)) if enabled else ()
    alike = groupby(words, key=itemgetter(0))  # a text in quotes comes as three
    return "".join(painted("".join(word for _, word in some), role) for role, some in alike) or text


def highlighted_line(text: str, language: str, enabled: bool) -> str:
    """A visible line, as there may be a million of; quick where only numbers tell them apart."""
    if not enabled or len(text) > LONGEST[language]:
        return text
    numbers = NUMBER.findall(text)
    between = highlighted_shape(shape_of(text), language)
    if len(between) != len(numbers) + 1:  # somebody has written our stand-in
        return highlighted(text, language, True)
    return "".join(chain.from_iterable(zip_longest(between, numbers, fillvalue="")))


def shape_of(line: str) -> str:
    """The line without its numbers."""
    return NUMBER.sub(STAND_IN, line)


@lru_cache(1024)
def highlighted_shape(shape: str, language: str) -> list[str]:
    """What is between the numbers."""
    return highlighted(shape, language, True).split(STAND_IN)


def classes(shape: str) -> list[tuple[str, int]]:
    """For a page: pygments' short name of each piece, "" for what has no colour, and its length as JavaScript counts;
    0 for a number. [] without pygments, and of a line that is too long."""
    words = lexed(shape, C) if len(shape) <= LONGEST[C] else []
    pieces = [(class_of(kind), part) for kind, word in words for part in re.split(f"({STAND_IN})", word) if part]
    return [(name, 0 if part == STAND_IN else len(part.encode("utf-16-le")) // 2) for name, part in pieces]


def class_of(kind: Any) -> str:
    from pygments.token import STANDARD_TYPES

    return next((STANDARD_TYPES[one] for one in reversed(kind.split()) if one in STANDARD_TYPES and role_of(one)), "")


def style_sheet() -> str:
    """Of a page's `classes`, on light and on dark; "" without pygments."""
    try:
        from pygments.styles import get_style_by_name
        from pygments.token import STANDARD_TYPES
    except ImportError:
        return ""
    light, dark = (get_style_by_name(name) for name in PAGE_STYLES)
    rules = [(short, *(one.style_for_token(kind)["color"] for one in (light, dark)))
             for kind, short in STANDARD_TYPES.items() if role_of(kind)]  # fmt: skip
    return "\n".join(f"  .{short} {{ color: light-dark(#{one}, #{other}); }}" for short, one, other in rules
                     if one and other)  # fmt: skip


def lexed(text: str, language: str) -> list[tuple[Any, str]]:
    """The words with their kinds (pygments.token); [] without pygments."""
    try:
        from pygments.lexers import CLexer, JsonLexer
        from pygments.token import Name
    except ImportError:
        return []
    lexer: Any = {C: CLexer, JSON: JsonLexer}[language](ensurenl=False, stripnl=False)
    words = list(lexer.get_tokens(text))
    behind = [word for _, word in words[1:]] + [""]
    return [(Name.Function if kind is Name and next_one == "(" else kind, word)
            for (kind, word), next_one in zip(words, behind)]  # fmt: skip


def role_of(kind: Any) -> str:
    return next((ROLES[str(one)] for one in reversed(kind.split()) if str(one) in ROLES), "")


def painted(word: str, role: str) -> str:
    """Line by line: a comment may have several."""
    if not role:
        return word
    return "\n".join(colour(line, role, True) if line.strip() else visible(line) for line in word.split("\n"))
