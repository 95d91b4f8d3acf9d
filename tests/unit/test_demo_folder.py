"""The folder of gdbcuda demo DIR, and what it says of it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from gdbcuda.errors import UserError
from gdbcuda.shell.demo import cli, folder


@pytest.fixture
def is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "require_tools", lambda: None)
    monkeypatch.setattr(folder, "make", lambda *_, output: 0)


def test_a_clone_fills_it_too(is_made, tmp_path: Path) -> None:
    """A clone's sources are beside the package, a wheel's in it."""
    where = tmp_path / "my dir"
    folder.built(where, "demo")
    assert (where / "shim" / "Makefile").is_file() and (where / "gdbcuda" / "api" / "notes.txt").is_file()
    assert {one.name for one in (where / "shim" / "build").iterdir()} == {".lock", "make.log"}


def test_what_it_says_can_be_typed_and_shown(is_made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = tmp_path / "my;\x1b[31mdir"
    assert cli.run(cli.DemoOptions(dir=str(where), build_only=True)) == 0
    told = capsys.readouterr().out
    assert "\x1b" not in told and "my;\\x1b[31mdir/shim/build ..." in told
    program = next(line for line in told.splitlines() if line.startswith("A program")).partition(":")[2]
    assert len(shlex.split(program)) == 5  # LD_LIBRARY_PATH=... gdb -x FILE PROGRAM


def test_a_home_that_cannot_be_written_into(is_made, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"^cannot build .*: not a directory; set XDG_CACHE_HOME to a"):
        folder.built(tmp_path / "file" / "demo", "demo")
