"""The lines that the shell's commands print to be typed next: they can be, wherever we are installed."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from gdbcuda.files import places
from gdbcuda.shell.demo import cli as demo
from gdbcuda.shell.new_hook import cli as new_hook

WITH_BLANKS = "a user's clone"


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of a name with blanks, with our command, to which PATH does not lead."""
    folder = tmp_path / WITH_BLANKS
    folder.mkdir()
    (folder / "gdbcuda").touch(mode=0o755)
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(sys, "argv", [str(folder / "gdbcuda")])
    for module in (demo, new_hook):
        monkeypatch.setattr(module, "sourced_file", lambda: folder / "gdbcuda.py")
    return folder


def test_our_own_command(ours: Path) -> None:
    assert shlex.split(places.own_command()) == [str(ours / "gdbcuda")]


def test_behind_the_demo_and_new_hook(ours: Path) -> None:
    for said in (demo.next_steps(ours), new_hook.next_steps(Path(WITH_BLANKS), "x")):
        words = [word for line in said.splitlines() if ": " in line for word in shlex.split(line.partition(": ")[2])]
        assert f"{ours}/gdbcuda" in words and f"{ours}/gdbcuda.py" in words, said


def test_a_folder_s_name_controls_no_terminal(ours: Path) -> None:
    assert "\x1b" not in new_hook.next_steps(Path("x\x1b[31m"), "x")
