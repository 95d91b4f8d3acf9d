"""Text of a condition to tokens, each with its column so that an error can point at it."""

from __future__ import annotations

import re

from gdbcuda.data_classes import dataclass
from gdbcuda.errors import UserError
from gdbcuda.text.cplusplus import NAMED_OPERATOR, UNNAMED
from gdbcuda.text.units import multiplier

MOST_TOKENS = 400
INT_MAX, UINT_MAX = (1 << 63) - 1, (1 << 64) - 1
OPERATORS = ("<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "->", *"+-*/%<>&|^~!()=.[]?:,")
_TOKEN = re.compile(
    r"(?P<blank>\s+)"
    r"|(?P<number>0[xX]\w*|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?\w*)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r'|"(?P<text>(?:[^"\\]|\\.)*)"'
    r"|(?P<operator>" + "|".join(map(re.escape, OPERATORS)) + ")"
)
_NUMBER = re.compile(r"(?P<digits>0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?P<suffix>[a-zA-Z]*)")
# Behind "caller in": a name, as gdb's own break takes it; anything else is quoted, as for gdb too.
_TEMPLATE = r"""<(?:[^<>"']|<(?:[^<>"']|<[^<>"']*>)*>)*>"""
_OPERATOR = rf"""{NAMED_OPERATOR.pattern}|\boperator[^\w\s()\[\]"'&|!]+"""
_OF_NAME = rf"""{re.escape(UNNAMED)}|{_OPERATOR}|{_TEMPLATE}|(?!{_TEMPLATE})<|[^\s"'()&|!<]"""
BARE_PLACE = re.compile(rf"""(?:{_OF_NAME})+(?:\([^()"']*\))*""")
_PLACE = re.compile(rf"""\s+(?P<place>{BARE_PLACE.pattern}|"(?:[^"\\]|\\.)*"|'[^']*')""")
_ESCAPES = {"n": "\n", "t": "\t", "0": "\0"}


@dataclass(frozen=True)
class Integer:
    """A 64-bit literal; ``unsigned`` where C's ``u`` suffix or its size says so."""

    value: int
    unsigned: bool = False


@dataclass(frozen=True)
class Text:
    """A string literal; ``prefix`` where it ended in a star."""

    value: str
    prefix: bool = False


@dataclass(frozen=True)
class Token:
    """``kind``: "literal" (with its value), "name", "place" (behind ``caller in``), "operator" or "end"; ``column``
    counts from 1."""

    kind: str
    text: str
    column: int
    value: Integer | float | Text | None = None
    is_quoted: bool = False


def tokens(text: str) -> list[Token]:
    """The tokens of a condition and an "end" token; `UserError` for what is none."""
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _PLACE.match(text, at) if _is_caller_in(found) else None
        if match is not None:
            found[-1] = _place(match)
            at = match.end()
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            raise UserError(_not_a_token(text, at))
        if match.lastgroup != "blank":
            found.append(_token(match))
        at = match.end()
    if len(found) > MOST_TOKENS:
        raise UserError(f"the condition is too long: {len(found)} words and signs, at most {MOST_TOKENS}")
    return [*found, Token("end", "the end", len(text) + 1)]


def _is_caller_in(found: list[Token]) -> bool:
    return [token.text for token in found[-2:]] == ["caller", "in"] and found[-1].kind == "name"


def _place(match: re.Match[str]) -> Token:
    word, column = match["place"], match.start("place") + 1
    if word[0] not in "\"'":
        return Token("place", word, column)
    inside = re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), word[1:-1], flags=re.DOTALL)
    return Token("place", inside, column, is_quoted=True)


def _not_a_token(text: str, at: int) -> str:
    if text[at] == '"':
        return f"column {at + 1}: the string has no closing quote"
    if text[at] == "'":
        return f'column {at + 1}: strings are written in double quotes: "cuInit"'
    return f'column {at + 1}: "{text[at]}" has no meaning in a condition'


def _token(match: re.Match[str]) -> Token:
    word, column = match[0], match.start() + 1
    if match.lastgroup == "number":
        return Token("literal", word, column, _number(word, column))
    if match.lastgroup == "text":
        return Token("literal", word, column, _text(match["text"], column))
    return Token(str(match.lastgroup), word, column)


def _number(word: str, column: int) -> Integer | float:
    match = _NUMBER.fullmatch(word)
    suffix = match["suffix"].lower() if match else ""
    is_fraction = match is not None and suffix == "f" and not match["digits"].isdecimal()
    factor = 1 if is_fraction or suffix in ("u", "l", "ul", "ll", "ull", "lu", "llu") else multiplier(suffix)
    if match is None or factor is None or suffix == "b":
        raise UserError(f'column {column}: "{word}" is not a number; sizes are written 512, 4K, 1G or 1GiB')
    digits = match["digits"]
    if digits[:2] in ("0x", "0X"):
        return _integer(int(digits, 16) * factor, "u" in suffix, word, column)
    if digits.isdecimal():
        if len(digits) > 1 and digits[0] == "0":
            raise UserError(f'column {column}: "{word}" would be octal in C; write it without the leading 0')
        return _integer(int(digits) * factor, "u" in suffix, word, column)
    value = float(digits) * factor
    if value == float("inf"):
        raise UserError(f'column {column}: "{word}" is too large')
    return _integer(int(value), False, word, column) if factor > 1 and value == int(value) else value


def _integer(value: int, unsigned: bool, word: str, column: int) -> Integer:
    if value > UINT_MAX:
        raise UserError(f'column {column}: "{word}" does not fit in 64 bits')
    return Integer(value, unsigned or value > INT_MAX)


def _text(inside: str, column: int) -> Text:
    """Escapes are \\" \\\\ \\* \\n \\t \\0; a bare star is only allowed, and means "anything", at the end."""
    value, prefix = "", False
    for part in re.findall(r"\\.|[^\\]", inside, re.DOTALL):
        if prefix:
            raise UserError(f'column {column}: * ends a string, as in "cuMem*"; as a character it is \\*')
        prefix = part == "*"
        value += "" if prefix else _ESCAPES.get(part[1:], part[1:]) if part[0] == "\\" else part
    return Text(value, prefix)
