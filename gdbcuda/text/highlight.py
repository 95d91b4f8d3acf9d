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
LONGEST = 1000  # characters of a line in colour: of some lines C's lexer takes the square of their length
NUMBER = re.compile(r"(?<![\w.])(?:0x[0-9a-f]+|[0-9]+(?:\.[0-9]+)?)(?![\w.])")
STAND_IN = "0x5a5a5a5a5a5a5a5a"  # for a number


def highlighted(text: str, language: str, enabled: bool) -> str:
    """One or more lines; as they are where no colour is wanted."""
    words = ((role_of(kind), word) for kind, word in lexed(text, language)) if enabled else ()
    alike = groupby(words, key=itemgetter(0))  # a text in quotes comes as three
    return "".join(painted("".join(word for _, word in some), role) for role, some in alike) or text


def highlighted_line(text: str, enabled: bool) -> str:
    """A line of C, visible, as there may be a million of; quick where only numbers tell them apart."""
    if not enabled or len(text) > LONGEST:
        return text
    numbers = NUMBER.findall(text)
    between = highlighted_shape(NUMBER.sub(STAND_IN, text))
    if len(between) != len(numbers) + 1:  # somebody has written our stand-in
        return highlighted(text, C, True)
    return "".join(chain.from_iterable(zip_longest(between, numbers, fillvalue="")))


@lru_cache(1024)
def highlighted_shape(shape: str) -> list[str]:
    """What is between the numbers."""
    return highlighted(shape, C, True).split(STAND_IN)


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
