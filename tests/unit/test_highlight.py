"""C and JSON in colour: the words that are meant, nothing lost, nothing of a stranger's let through."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdbcuda.text import render
from gdbcuda.text.highlight import JSON, C, highlighted, highlighted_line
from gdbcuda.text.printable import screened, visible


@pytest.mark.parametrize(("text", "language", "word", "role"), [
    ("bytesize > 1073741824 && dptr != 0", C, "1073741824", "number"),
    ('symbol == "cuMem*"', C, '"cuMem*"', "ok"),
    ("sizeof(int) == 4", C, "sizeof", "note"),
    ('{"calls": 3, "name": "cuInit"}', JSON, '"calls"', "title"),
    ('{"calls": 3, "name": "cuInit"}', JSON, "3", "number"),
])  # fmt: skip
def test_a_word_has_its_colour(text: str, language: str, word: str, role: str) -> None:
    assert render.colour(word, role, True) in highlighted(text, language, True)
    assert highlighted(text, language, False) == text


@given(st.text(), st.sampled_from([C, JSON]))
def test_nothing_is_lost(text: str, language: str) -> None:
    text = visible(text)
    assert render.plain(highlighted(text, language, True)) == text


ANY = st.recursive(st.none() | st.integers() | st.text(),
                   lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside))  # fmt: skip


@given(ANY)
def test_json_stays_json(data: object) -> None:
    text = json.dumps(data, indent=2)
    assert json.loads(render.plain(screened(highlighted(text, JSON, True)))) == data


NUMBERS = st.integers(0, 1 << 64).flatmap(lambda n: st.sampled_from([str(n), hex(n), f"{n}.5"]))
PIECES = st.sampled_from(["cuMemAlloc_v2(", "dptr=", " -> ", ", ", ")", '"a 3 ', '"', " [", " GiB]", "x", "NULL", " ",
                          "5757575757575757575", "_5757575757575757575", "//", "/*", "'"])  # fmt: skip


@given(st.lists(NUMBERS | PIECES | st.text()), st.sampled_from([C, JSON]))
def test_nothing_is_lost_of_a_line_of_a_log(words: list[str], language: str) -> None:
    """Whatever somebody has put into a name or a string."""
    text = visible("".join(words))
    assert render.plain(highlighted_line(text, language, True)) == text
    assert highlighted_line(text, language, False) == text


@pytest.mark.parametrize(("word", "role"), [
    ("cuMemAlloc_v2", "function"), ("0x7ffff3c00000", "number"), ("4096", "number"), ("4.00", "number"),
    ('"a 3 b"', "ok"),
])  # fmt: skip
def test_a_call_is_c(word: str, role: str) -> None:
    """With numbers of other lengths it is known by its shape."""
    for line in ('cuMemAlloc_v2(dptr=0x7 -> 0x7ffff3c00000, bytesize=4096 [4.00 KiB], name="a 3 b")',
                 'cuMemAlloc_v2(dptr=0x55555 -> 0x7ffff3c00000, bytesize=4096 [4.00 KiB], name="a 3 b")'):  # fmt: skip
        shown = highlighted_line(line, C, True)
        assert render.colour(word, role, True) in shown
        assert shown == highlighted(line, C, True)


def test_a_line_of_json() -> None:
    for line in ('{"start": 0.25, "dptr": "0x7ff", "name": "cuInit"}', '{"start": 1, "dptr": "0x7", "name": "cuInit"}'):
        assert highlighted_line(line, JSON, True) == highlighted(line, JSON, True)


@pytest.mark.parametrize("language", [C, JSON])
def test_a_long_line_is_left_as_it_is(language: str) -> None:
    line = "(" * 100_000
    assert highlighted_line(line, language, True) == line
