"""The pictures of README show what comes today. `scripts/pictures` makes them again."""

from __future__ import annotations

import json
from pathlib import Path

import pictures
import pytest
from readme_sessions import masked
from scenario import GDB, version
from test_readme_sessions import MADE_WITH

pytestmark = [
    pytest.mark.skipif(GDB != "gdb", reason="the pictures are made with this machine's own gdb"),
    pytest.mark.skipif(not version().startswith(MADE_WITH), reason="other gdbs word things differently"),
]
STALE = "the picture is stale: scripts/pictures makes it again"


def test_the_session_is_what_a_terminal_shows(shim: Path) -> None:
    session = pictures.played()
    drawn = pictures.words_of_svg((pictures.PICTURES / "session.svg").read_text())
    came = pictures.words_of_svg(pictures.svg(session))
    assert masked(drawn).split() == masked(came).split(), STALE
    assert "\x1b[1;31mCUDA_ERROR_OUT_OF_MEMORY (2)\x1b[0m" in session


def test_all_of_the_session_is_drawn() -> None:
    text = "$ x\n\x1b[31mred\x1b[m <&> " + "long " * 40 + "\n  end\n"
    assert pictures.words_of_svg(pictures.svg(text)).split() == ["$", "x", "red", "<&>", *["long"] * 40, "end"]


def test_the_report_is_drawn_from_the_same_facts_by_the_same_page(shim: Path) -> None:
    drawn = json.loads(pictures.text_of((pictures.PICTURES / "report.png").read_bytes()))
    assert drawn == pictures.facts(pictures.reported()), STALE


def test_a_picture_carries_its_facts() -> None:
    picture = (pictures.PICTURES / "report.png").read_bytes()
    assert pictures.text_of(pictures.with_text(picture, "other")) == "other"
