"""The decisions: each has its symptom, the gdb that shows it, and a test that holds it and is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "tests" / "decisions").glob("*.md"))
DECISIONS = [text for page in PAGES for text in re.split(r"^## ", page.read_text(), flags=re.MULTILINE)[1:]]
CONTRIBUTING, ROOMS = ROOT / "CONTRIBUTING.md", ROOT / "gdbcuda" / "ROOMS.md"
FIELDS = re.compile(r"^- Symptom: (.+)\n- gdb: (.+)\n- Test: (.+)\Z", re.MULTILINE | re.DOTALL)
PATH = re.compile(r"`(\.?\w[\w./-]*(?:/|\.py|\.md|\.txt|\.json|\.sh))`")
FOLDERS = (ROOT, ROOT / "gdbcuda", ROOT / "gdbcuda" / "live", ROOT / "tests")  # a path may begin in any of these
each = pytest.mark.parametrize("text", DECISIONS, ids=[text.split("\n")[0] for text in DECISIONS])


def fields(text: str) -> tuple[str, str, str]:
    found = FIELDS.search(text.rstrip())
    assert found, f"it lacks one of: Symptom, gdb, Test:\n{text}"
    return found[1], found[2], found[3]


def test_there_are_decisions_and_no_two_of_one_name() -> None:
    names = [text.split("\n")[0] for text in DECISIONS]
    assert len(names) > 80 and len(set(names)) == len(names)


@each
def test_it_has_a_symptom_and_a_gdb(text: str) -> None:
    _, gdb, _ = fields(text)
    assert re.match(r"none\b|(Debian's )?(cuda-gdb )?\d\d", gdb), gdb


@each
def test_what_holds_it_is_there(text: str) -> None:
    held = fields(text)[2]
    assert "`" in held
    for named in re.findall(r"`([^`]+)`", held):
        file, _, function = named.partition("::")
        path = ROOT / file.split()[0]
        assert path.is_file(), named
        assert not function or re.search(rf"^(async )?def {function}\(", path.read_text(), re.MULTILINE), named
        assert file.split()[0] != "scripts/bench" or is_measurement(file.split()[1]), named


def is_measurement(name: str) -> bool:
    return f"\ndef {name.replace('-', '_')}()" in (ROOT / "scripts" / "bench.py").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_contributing_leads_to_the_page(page: Path) -> None:
    assert f"tests/decisions/{page.name}" in CONTRIBUTING.read_text()


@pytest.mark.parametrize("page", [CONTRIBUTING, ROOMS, *PAGES], ids=lambda page: page.stem)
def test_every_file_named_is_there(page: Path) -> None:
    named = PATH.findall(page.read_text())
    assert [one for one in named if "NN-" not in one and not any((folder / one).exists() for folder in FOLDERS)] == []
