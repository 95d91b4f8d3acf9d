"""Text of others on a terminal."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdbcuda.text import render
from gdbcuda.text.printable import coloured, screened, visible, visible_in_colour

ANY = st.text(st.characters(exclude_categories=()))  # with lone surrogates
CONTROLS = ("Cc", "Cf", "Cs", "Zl", "Zp")  # what moves, paints, hides or turns round


@pytest.mark.parametrize(("text", "shown"), [
    ("cuInit", "cuInit"), ("größe 数 \N{GRINNING FACE}", "größe 数 \N{GRINNING FACE}"), ("", ""),
    ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"), ("a\nb\tc\rd\0e\x7f", r"a\nb\tc\rd\x00e\x7f"),
    ("\x9b31m\x85\x90", r"\x9b31m\x85\x90"), ("\u202eevil\u2066\u200e\u061c", r"\u202eevil\u2066\u200e\u061c"),
    ("\u2028\u2029\u200b\ufeff\xad", r"\u2028\u2029\u200b\ufeff\xad"), ("\U000e0041", r"\U000e0041"),
    ("lib\udcff.so", r"lib\xff.so"), ("\ud83d", r"\ud83d"), ("back\\slash", "back\\slash"),
])  # fmt: skip
def test_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(ANY)
def test_nothing_of_it_controls_a_terminal(text: str) -> None:
    shown = visible(text)
    assert not [c for c in shown if unicodedata.category(c) in CONTROLS]
    assert screened(shown) == shown == visible_in_colour(shown)
    shown.encode()


@given(st.lists(ANY), ANY)
def test_lines_tabs_and_our_colours_stay(parts: list[str], painted: str) -> None:
    """And the colours of others do not."""
    text = "\n".join(["\t".join(parts), coloured(painted, "1;31")])
    shown = screened(text)
    assert shown.endswith(f"\x1b[1;31m{visible(painted)}\x1b[0m")
    rest = shown.removesuffix(f"\x1b[1;31m{visible(painted)}\x1b[0m")
    assert not [c for c in rest if unicodedata.category(c) in CONTROLS and c not in "\n\t"]


@given(st.lists(st.tuples(ANY, ANY), min_size=1), st.booleans(), st.sampled_from([None, 30, 80]))
def test_in_a_table_the_lines_are_ours(rows: list[tuple[str, str]], colour: bool, width: int | None) -> None:
    cells = [(one, render.colour(other, "ok", colour)) for one, other in rows]
    shown = screened(render.table(cells, ["one", "other"], colour=colour, width=width))
    plain = re.sub(r"\x1b\[[0-9;]+m", "", shown) if colour else shown
    assert not [c for c in plain if unicodedata.category(c) in CONTROLS and c != "\n"]
    if width is None:
        assert shown.count("\n") == 1 + len(rows)


def test_colours_take_no_room_in_a_table() -> None:
    rows = [("cuInit", "hook"), ("cuMemAlloc_v2", "driver")]
    plain = render.table(rows, ["function", "layer"], width=None)
    painted = [(render.colour(one, "function", True), other) for one, other in rows]
    shown = screened(render.table(painted, ["function", "layer"], colour=True, width=None))
    assert re.sub(r"\x1b\[[0-9;]+m", "", shown) == plain and shown != plain
    assert len(render.wrap(painted[1][0], 40)) == len("cuMemAlloc_v2")
