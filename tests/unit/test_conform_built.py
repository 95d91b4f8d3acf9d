"""What `gdbcuda conform` runs is made again when its sources are newer: after a git pull, say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gdbcuda.files.places import PACKAGE
from gdbcuda.shell.demo import folder

PROGRAM = "contract/linked"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone whose program is as new as the API table."""
    monkeypatch.setattr(folder, "CLONE", tmp_path)
    monkeypatch.setattr(folder, "clone_or_cache", lambda: tmp_path)
    now = max(path.stat().st_mtime for path in (PACKAGE / "api").rglob("*") if path.is_file())
    for path in (tmp_path / "shim/standin/driver/memory.c", tmp_path / "shim/build" / PROGRAM):
        path.parent.mkdir(parents=True)
        path.write_text("")
        os.utime(path, (now, now))
    return tmp_path


def test_it_is_old_when_a_source_is_newer(made: Path) -> None:
    assert not folder.is_old(made, PROGRAM)
    later = (made / "shim/build" / PROGRAM).stat().st_mtime + 1
    os.utime(made / "shim/standin/driver/memory.c", (later, later))
    assert folder.is_old(made, PROGRAM)


def test_what_is_built_is_no_source(made: Path) -> None:
    later = (made / "shim/build" / PROGRAM).stat().st_mtime + 1
    other = made / "shim/build/generated.c"
    other.write_text("")
    os.utime(other, (later, later))
    assert not folder.is_old(made, PROGRAM)
