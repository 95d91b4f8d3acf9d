"""Which of the user's variables gdb's own Python is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gdbcuda.errors import UserError
from gdbcuda.shell.gdb_words import gdb_words
from gdbcuda.text.error_lines import line

PRINTS = "echo gdb has Python"
NEEDS_HOME = 'test "$PYTHONHOME" && ' + PRINTS


@pytest.fixture
def gdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GDBCUDA_GDB", str(tmp_path / "gdb"))
    return tmp_path / "gdb"


def is_there(gdb: Path, does: str) -> None:
    gdb.write_text(f"#!/bin/sh\n{does}\n")
    gdb.chmod(0o755)


def test_the_program_gets_what_gdb_is_not_told(gdb: Path) -> None:
    is_there(gdb, PRINTS)
    given = {"PATH": os.environ["PATH"], "PYTHONHOME": "/other", "PYTHONOPTIMIZE": "2", "PYTHONPATH": "/mine"}
    assert gdb_words(given) == [
        "/usr/bin/env", "-u", "PYTHONOPTIMIZE", "-u", "PYTHONHOME", str(gdb),
        "-iex", "set environment PYTHONOPTIMIZE 2", "-iex", "set environment PYTHONHOME /other",
    ]  # fmt: skip
    assert gdb_words({"PYTHONPATH": "/mine"}) == [str(gdb)]


def test_a_gdb_that_finds_its_python_by_it_keeps_it(gdb: Path) -> None:
    is_there(gdb, NEEDS_HOME)
    assert gdb_words({"PATH": os.environ["PATH"], "PYTHONHOME": "/opt/gdb"}) == [str(gdb)]


def test_our_own_python_with_the_home_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = ModuleNotFoundError("No module named 'subprocess'", name="marshal")
    monkeypatch.setenv("PYTHONHOME", "/other")
    assert line(lacking, "how", "help").startswith("PYTHONHOME=/other is of another Python than gdbcuda's. ")
    monkeypatch.delenv("PYTHONHOME")
    assert "fault of gdbcuda" in line(lacking, "how", "help")


def test_a_gdb_that_is_nowhere(gdb: Path) -> None:
    with pytest.raises(UserError, match="GDBCUDA_GDB names it"):
        gdb_words()


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [(("--version",), 0, "gdbcuda "), (("log", "summary", "none"), 2, ""), (("help", "python"), 0, "Python programs")],
)
def test_a_prompt_is_asked_for_in_the_programs_python_alone(words: tuple[str, ...], status: int, said: str) -> None:
    """PYTHONINSPECT=1 in front of the command: ours ends as ever."""
    line = [sys.executable, "-m", "gdbcuda", *words]
    done = subprocess.run(line, env={**os.environ, "PYTHONINSPECT": "1"}, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, cwd=Path(__file__).parents[2])  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (status, int(status == 2)), done.stderr
    assert done.stdout.startswith(said)
