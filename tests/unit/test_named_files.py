"""The hook library and the program that a command of the shell is given: what is wrong is told before anything runs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gdbcuda.errors import UserError
from gdbcuda.files import places
from gdbcuda.shell import cli
from gdbcuda.shell.trace import starting

GIVES_HOOK = {
    "ab": ["ab", "--hook", "HOOK", "--", "true"],
    "trace": ["trace", "--hook", "HOOK", "--", "true"],
    "strace": ["trace", "--with", "strace", "--hook", "HOOK", "--", "true"],
    "run": ["run", "--hook", "HOOK", "--", "true"],
    "fail": ["fail", "--hook", "HOOK", "cuMemAlloc", "with", "2", "--", "true"],
}
WRONG = {
    "missing": "cannot read {}: no such file or directory",
    "folder": "{}: is a directory; a shared library or a program is needed",
    "empty": "{}: the file is empty",
    "text": r"{}: is not an ELF file (begins with 'hello\n')",
}
STARTS = {
    "missing": "no such file or directory",
    "folder": "it is a folder",
    "text": "it is not executable",
}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("hello\n")
    return tmp_path


@pytest.mark.parametrize("command", GIVES_HOOK)
@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_hook_library(files: Path, capsys: pytest.CaptureFixture[str], command: str, name: str) -> None:
    path = str(files / name)
    assert cli.main([path if word == "HOOK" else word for word in GIVES_HOOK[command]]) == 2
    assert capsys.readouterr() == ("", f"gdbcuda: {WRONG[name].format(path)}\n")


def test_a_program_is_no_hook_library(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["trace", "--hook", sys.executable, "--", "true"]) == 2
    assert capsys.readouterr() == ("", f"gdbcuda: {sys.executable} is no shared library\n")


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize("command", [["run"], ["fail", "cuMemAlloc", "with", "2"], ["trace", "--with", "strace"]])
def test_what_is_no_program(files: Path, capsys: pytest.CaptureFixture[str], command: list[str], name: str) -> None:
    assert cli.main([*command, "--", str(files / name)]) == 2
    assert capsys.readouterr() == ("", f"gdbcuda: cannot start {files / name}: {STARTS[name]}\n")


def test_a_command_that_is_not_in_path() -> None:
    with pytest.raises(UserError, match=r"^cannot start no-such-command: there is no such command in PATH$"):
        places.program("no-such-command")


NOT_STARTED = ("train", "no-exec", "a-folder", "dangling", "./no-exec", "./a-folder", "./none", "bin/dangling",
               "bin/no-exec/x", "bin/no-exec", "")  # fmt: skip


def test_the_status_is_that_of_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`train` is in the current folder alone, `no-exec` is a file in PATH."""
    (tmp_path / "bin" / "a-folder").mkdir(parents=True)
    (tmp_path / "bin" / "no-exec").touch()
    (tmp_path / "bin" / "dangling").symlink_to("nowhere")
    (tmp_path / "train").write_text("#!/bin/sh\n")
    (tmp_path / "train").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    bash = shutil.which("bash")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    line = 'for one; do "$one"; echo $?; done'
    said = subprocess.run([str(bash), "-c", line, "-", *NOT_STARTED], capture_output=True, text=True).stdout
    assert {one: starting.refusal(one) for one in NOT_STARTED} == dict(zip(NOT_STARTED, map(int, said.split())))
    assert starting.refusal("./train") == 0


def test_a_file_in_path_that_is_not_executable_is_named(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(files))
    with pytest.raises(UserError, match=f"^cannot start {files}/text: it is not executable$"):
        places.program("text")


def test_why_the_system_could_not_start_it(files: Path) -> None:
    """It says "permission denied" of a folder, and of a file that nobody may execute."""
    denied = PermissionError(13, "Permission denied")
    assert str(places.not_started(str(files / "folder"), denied)).endswith("folder: it is a folder")
    assert str(places.not_started(sys.executable, denied)) == f"cannot start {sys.executable}: permission denied"
