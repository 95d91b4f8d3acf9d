"""Libraries of shim/sample/wrong, each with one mistake: `gdbcuda conform` finds it, and says each of its sentences.

A line "conform: CASE: what is broken" in the comment of a library's source says what is found in it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conform_hooks import MADE_SMALL, SAID, found_in
from shim_support import ROOT

from gdbcuda.contract.life.situations import SITUATIONS

WRONG = ROOT / "shim/sample/wrong"
SOURCES = {str(path.relative_to(WRONG).with_suffix("")): path for path in sorted(WRONG.rglob("*.c"))}
ELSEWHERE = "nothing, gdbcuda check says it"
LIMIT = 256 << 20
WHAT = {"Broken": 0, "Wrong": 1, "found": 0}  # which argument is the sentence


def promised(name: str) -> list[str]:
    return SAID.findall(SOURCES[name].read_text())


def case_of(line: str) -> str:
    return line.partition(": ")[0]


@pytest.mark.parametrize("name", [name for name in SOURCES if name != MADE_SMALL])
def test_what_its_comment_says_is_found(shim: Path, tmp_path: Path, shared: Path, name: str) -> None:
    lines = [line for line in promised(name) if line != ELSEWHERE]
    cases = [case_of(line) for line in lines if case_of(line) != "start"] or ["transparent"] * bool(lines)
    environment = [f"QUOTA={LIMIT}", f"QUOTA_REGION={tmp_path / 'region'}"]
    library = shim / "sample/wrong" / f"{name}.so"
    found = found_in(library, cases, environment, LIMIT, shared) if lines else []
    assert set(lines) <= set(found), found
    others = [line for line in found if line not in lines and not line.startswith("books/")]
    assert not others, "the comment does not say that"


def test_each_says_what_is_wrong_and_what_finds_it() -> None:
    for name, path in SOURCES.items():
        assert path.read_text().startswith("/* WRONG: ") and "\n   Shows: " in path.read_text(), name
        assert promised(name), f"{name}.c has no line 'conform: CASE: what is broken'"


def sentences() -> Iterator[tuple[str, str]]:
    """Where each thing is said that may be broken, and a pattern of it."""
    for path in sorted((ROOT / "gdbcuda/contract").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            for text in said_by(node):
                pattern = patterned(text)
                if len(re.findall(r"[a-z]{2,}", re.sub(r"\.\+", " ", pattern))) > 1:
                    yield f"{path.name}:{node.lineno}", pattern


def said_by(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        yield from node.args[WHAT[name] :][:1] if name in WHAT else []
        yield from (one.value for one in node.keywords if one.arg == "what" and name == "_replace")
    if isinstance(node, (ast.Yield, ast.Return)) and isinstance(node.value, ast.Tuple):
        yield node.value.elts[0]


def patterned(text: ast.expr) -> str:
    if isinstance(text, ast.JoinedStr):
        return "".join(re.escape(str(one.value)) if isinstance(one, ast.Constant) else ".+" for one in text.values)
    return re.escape(text.value) if isinstance(text, ast.Constant) and isinstance(text.value, str) else ""


def test_each_sentence_is_said_of_one() -> None:
    said = [line for name in SOURCES for line in promised(name)]
    found = dict(sentences())
    assert len(found) > 45
    missing = {where: one for where, one in found.items() if not any(re.search(one, line) for line in said)}
    assert not missing, "no library of shim/sample/wrong fails this check"


def test_each_situation_ends_badly_for_one() -> None:
    cases = {case_of(line) for name in SOURCES for line in promised(name)}
    assert {f"life/{one.name}" for one in SITUATIONS} <= cases
