"""The words of a condition, one by one: numbers, strings with their escapes, places, and where each stands."""

from __future__ import annotations

from typing import Any

import pytest

from gdbcuda import api, condition
from gdbcuda.condition import arithmetic
from gdbcuda.condition.grammar.lexer import INT_MAX, Integer, Text, Token, tokens
from gdbcuda.condition.to_python import RecordedText
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.machine import abi

TABLE = api.load()


def literal(word: str) -> Any:
    first, end = tokens(word)
    assert (first.kind, first.text, first.column, end.kind) == ("literal", word, 1, "end")
    return first.value


@pytest.mark.parametrize(("word", "value"), [
    ("0", Integer(0)), ("7", Integer(7)), ("7u", Integer(7, True)), ("7UL", Integer(7, True)), ("7ll", Integer(7)),
    ("7llu", Integer(7, True)), ("0x10", Integer(16)), ("0XfF", Integer(255)), ("0x10u", Integer(16, True)),
    ("2K", Integer(2048)), ("1.5K", Integer(1536)), ("1.5", 1.5), ("1.5f", 1.5), ("2e3", 2000.0), ("1.5e1F", 15.0),
    ("0.3K", 307.2), ("1GiB", Integer(1 << 30)),
    (str(INT_MAX), Integer(INT_MAX)), (str(INT_MAX + 1), Integer(INT_MAX + 1, True)),
])  # fmt: skip
def test_a_number(word: str, value: object) -> None:
    assert literal(word) == value


@pytest.mark.parametrize("word", ["1f", "1b", "1.5X", "1_000", "0xg", "12abc"])
def test_no_number(word: str) -> None:
    with pytest.raises(UserError, match=f'column 5: "{word}" is not a number; sizes are written 512, 4K, 1G or 1GiB'):
        tokens(f"x > {word}")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("1e309", '"1e309" is too large'),
        ("1e308K", '"1e308K" is too large'),
        ("010", "would be octal in C"),
        (str(1 << 64), "does not fit in 64 bits"),
        ("0x1ffffffffffffffff", "does not fit in 64 bits"),
        (f"{1 << 63}K", "does not fit in 64 bits"),
    ],
)
def test_a_number_out_of_reach(word: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        tokens(word)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('"cu"', Text("cu")),
        ('""', Text("")),
        ('"cuMem*"', Text("cuMem", True)),
        ('"*"', Text("", True)),
        (r'"a\nb\tc\0"', Text("a\nb\tc\0")),
        (r'"\"\\\*"', Text('"\\*')),
        (r'"\x"', Text("x")),
    ],
)
def test_a_string(written: str, value: Text) -> None:
    assert literal(written) == value


@pytest.mark.parametrize(
    ("written", "place", "is_quoted"),
    [
        ("caller in hook", "hook", False),
        ("caller in lib.so+0x10", "lib.so+0x10", False),
        ('caller in "a b"', "a b", True),
        (r'caller in "a\"b\\c\td"', 'a"b\\c\td', True),
    ],
)
def test_a_place(written: str, place: str, is_quoted: bool) -> None:
    assert tokens(written)[-2] == Token("place", place, 11, is_quoted=is_quoted)


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("Pool<unsigned long, A<B<3> > >::grow(int, long)||x", "Pool<unsigned long, A<B<3> > >::grow(int, long)"),
        ("(anonymous namespace)::hidden && x", "(anonymous namespace)::hidden"),
        ("Op::operator new[] && x", "Op::operator new[]"),
        ("Op::operator unsigned long&& x", "Op::operator unsigned long"),
        ("operator< && x > 3", "operator<"),
        ("std::operator<< <char> && x", "std::operator<<"),
        ("app && x<3 && y>4", "app"),
        ("app&&x", "app"),
    ],
)
def test_a_name_of_cplusplus_is_a_place_unquoted(written: str, place: str) -> None:
    found = tokens(f"caller in {written}")
    assert found[1] == Token("place", place, 11) and found[2].text in ("&&", "||", "<")


def test_words_have_their_columns() -> None:
    found = [(one.kind, one.text, one.column) for one in tokens("a>=1 &&\tb_1 ||!c->d")]
    assert found == [
        ("name", "a", 1), ("operator", ">=", 2), ("literal", "1", 4), ("operator", "&&", 6), ("name", "b_1", 9),
        ("operator", "||", 13), ("operator", "!", 15), ("name", "c", 16), ("operator", "->", 17), ("name", "d", 19),
        ("end", "the end", 20)]  # fmt: skip


@pytest.mark.parametrize(
    ("op", "left", "right", "result"),
    [
        ("/", 7, -2, -3),
        ("/", -7, 2, -3),
        ("/", -7, -2, 3),
        ("/", 7, 2, 3),
        ("/", 0, -2, 0),
        ("/", 7, 0, 0),
        ("%", 7, -2, 1),
        ("%", -7, 2, -1),
        ("%", -7, -2, -1),
        ("%", 7, 0, 0),
        ("%", 8, 2, 0),
    ],
)
def test_division_is_towards_zero(op: str, left: int, right: int, result: int) -> None:
    assert arithmetic.arithmetic(op, left, right, arithmetic.SIGNED) == result


@pytest.mark.parametrize(("divisor", "quotient"), [
    ("2", "{dev} / 2l"), ("-2", "{dev} / (-2l)"), ("0", "0l == 0 ? 0l : 0l == -1 ? -{dev} : {dev} / 0l"),
    ("-1", "(-1l) == 0 ? 0l : (-1l) == -1 ? -{dev} : {dev} / (-1l)")])  # fmt: skip
def test_gdb_divides_only_where_it_can(divisor: str, quotient: str) -> None:
    """By a number that is neither 0 nor -1 as it is written; else behind a question."""
    function = TABLE.functions["cuDeviceTotalMem_v2"]
    native = condition.parse(f"dev / {divisor} == 1", TABLE, [function]).to_gdb(function, abi.locate(function))
    assert native.terms == (f"(({quotient.format(dev='(long)(int)($rsi & 0xffffffff)')}) == 1)",)


def test_a_recorded_text_is_an_address_too() -> None:
    found = condition.parse("symbol == 4096", TABLE, [TABLE.functions["cuGetProcAddress_v2"]])
    assert found.evaluate({"symbol": RecordedText("cuInit", 4096)})
    assert not found.evaluate({"symbol": RecordedText("cuInit", 8)})
    with pytest.raises(Unreadable):
        found.evaluate({"symbol": RecordedText("cuInit", None)})
