"""``--in LAYER|LIB`` over a log: it means what it means at a breakpoint."""

from __future__ import annotations

from pathlib import Path

import pytest
from log_files import alloc_of, run, write

from gdbcuda.files import object_names
from gdbcuda.shell import cli


@pytest.mark.parametrize(("word", "is_it"), [
    ("libcuda.so.1", True), ("/lib/libcuda.so.1", True), ("libcuda", True), ("libcuda.so", True), ("libc*", True),
    ("libcuda.so.2", False), ("libcud", False), ("cuda", False), ("/opt/libcuda.so.1", False),
])  # fmt: skip
def test_whose_file_is_meant(word: str, is_it: bool) -> None:
    assert object_names.is_meant(word, "/lib/libcuda.so.1") is is_it


@pytest.fixture
def log(tmp_path: Path) -> Path:
    hook = {"object": "libhook.so.2", "layer": "hook"}
    return write(tmp_path / "log", [alloc_of(0, "0x10", 1, **hook), alloc_of(1, "0x20", 2)])


@pytest.mark.parametrize("word", ["hook", "libhook", "libhook.so", "libhook.so.2", "lib?ook*", "driver,libhook.so"])
def test_the_names_of_a_library(log: Path, capsys: pytest.CaptureFixture[str], word: str) -> None:
    assert "bytesize=1)" in run(capsys, "show", log, "--in", word)


@pytest.mark.parametrize("view", ["show", "show --tree", "show --changed", "summary", "memory"])
def test_a_word_that_means_nothing_there(log: Path, capsys: pytest.CaptureFixture[str], view: str) -> None:
    name, *options = view.split()
    assert cli.main(["log", name, str(log), *options, "--in", "hok", "--in", "hook"]) == 0
    assert "no layer or library of the log is called hok; did you mean hook?\n" in capsys.readouterr().err
    assert cli.main(["log", name, str(log), *options, "--in", "hook"]) == 0
    assert "is called" not in capsys.readouterr().err


def test_in_a_comparison(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["log", "diff", str(log), str(log), "--in", "libhok.so"]) == 0
    assert "no layer or library of the log is called libhok.so; did you mean libhook.so.2?" in capsys.readouterr().err

