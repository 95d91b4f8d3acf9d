"""`gdbcuda completion`: bash itself, with the script that it prints."""

from __future__ import annotations

import contextlib
import io
import shlex
import subprocess

import pytest

from gdbcuda.ide.ide_plan import names
from gdbcuda.manual.pages import pages
from gdbcuda.shell import cli
from gdbcuda.shell.observers.options import WAYS

ASK = """{script}
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_gdbcuda
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def script() -> str:
    with contextlib.redirect_stdout(io.StringIO()) as text:
        assert cli.main(["completion"]) == 0
    return text.getvalue()


def offered(script: str, *words: str) -> list[str]:
    asked = ASK.format(script=script, words=" ".join(map(shlex.quote, ("gdbcuda", *words))))
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_commands(script: str) -> None:
    assert offered(script, "c") == ["check", "conform", "completion"]
    assert set(offered(script, "")) == {*cli.MODULES, "gdb", "path"}
    assert offered(script, "--v") == ["--version"]


def test_what_is_behind_a_command(script: str) -> None:
    assert offered(script, "log", "su") == ["summary"]
    assert offered(script, "log", "show", "calls.jsonl", "--f") == ["--function", "--failed"]
    assert offered(script, "check", "--qu") == ["--quiet"]
    assert offered(script, "help", "") == list(pages())


def test_what_a_word_may_be(script: str) -> None:
    assert offered(script, "ide", "") == [*names()]
    assert offered(script, "ide", "vscode", "--prog") == ["--program", "--program-there"]
    assert offered(script, "trace", "--with", "") == [*WAYS]
    assert offered(script, "log", "show", "calls.jsonl", "--color", "a") == ["always", "auto"]


@pytest.mark.parametrize(
    "words", [["ide", "vim", ""], ["check", ""], ["log", "show", ""], ["gdb", ""], ["run", "--", "--"]]
)
def test_where_bash_offers_files(script: str, words: list[str]) -> None:
    """They are bash's own; what stands behind -- is the program's."""
    assert offered(script, *words) == []
