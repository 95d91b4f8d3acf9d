"""C and JSON in colour: the words that are meant, nothing lost, nothing of a stranger's let through."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdbcuda.text import render
from gdbcuda.text.highlight import JSON, C, highlighted
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
