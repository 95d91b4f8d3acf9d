"""C and JSON in our colours, by what pygments takes each of their words for. Without pygments: as they are."""

from __future__ import annotations

from itertools import groupby
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


def highlighted(text: str, language: str, enabled: bool) -> str:
    """One or more lines; as they are where no colour is wanted."""
    if not enabled:
        return text
    try:
        from pygments.lexers import CLexer, JsonLexer
    except ImportError:
        return text
    lexer: Any = {C: CLexer, JSON: JsonLexer}[language](ensurenl=False, stripnl=False)
    words = ((role_of(kind), word) for kind, word in lexer.get_tokens(text))
    alike = groupby(words, key=itemgetter(0))  # a text in quotes comes as three
    return "".join(painted("".join(word for _, word in some), role) for role, some in alike)


def role_of(kind: Any) -> str:
    return next((ROLES[str(one)] for one in reversed(kind.split()) if str(one) in ROLES), "")


def painted(word: str, role: str) -> str:
    """Line by line: a comment may have several."""
    if not role:
        return word
    return "\n".join(colour(line, role, True) if line.strip() else visible(line) for line in word.split("\n"))
