"""Tables with one line for each row, in a narrow terminal."""

from __future__ import annotations

import pytest

from gdbcuda.text import fitting, render

KERNEL = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1> >(int)"
TITLES = ("on the GPU", "count", "in all", "mean", "longest", "bytes")
ROWS = [(KERNEL, 120, "2.00 ms", "16.6 us", "22.8 us", ""), ("copy DtoH", 4, "1.00 ms", "250 us", "300 us", "16 MiB")]


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "screen", lambda: 76)


def test_names_are_shortened_before_anything_wraps(narrow: None) -> None:
    text = fitting.table([row[:3] for row in ROWS], TITLES[:3])
    assert len(text.splitlines()) == 4 and render.visible_width(text) <= 76
    assert "vectorized_elementwise_kernel<...>" in text


def test_columns_go_in_their_order_and_are_named(narrow: None) -> None:
    text = fitting.table(ROWS, TITLES, (4, 3))
    assert render.visible_width(text) <= 76 and len(text.splitlines()) == 5
    assert text.splitlines()[-1] == "(longest: in a wider terminal, or --json)"
    assert "22.8 us" not in text and "16.6 us" in text


def test_where_nobody_looks_at_a_terminal_it_is_as_wide_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "screen", lambda: None)
    assert KERNEL in fitting.table(ROWS, TITLES, (4, 3))
