"""The shell's commands: whatever goes wrong is one line on stderr, and with GDBCUDA_DEBUG=1 its traceback too."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from log_files import alloc_of, write

from gdbcuda.errors import Unreadable, UserError
from gdbcuda.shell import cli, install

COMMAND = [sys.executable, "-m", "gdbcuda.shell.cli"]
KEPT = {name: value for name, value in os.environ.items() if name not in ("GDBCUDA_DEBUG", "PYTHONUNBUFFERED")}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write(tmp_path / "calls.jsonl", [alloc_of(number, f"0x{number:x}") for number in range(1, 2000)])


@pytest.fixture
def hook(shim: Path) -> Path:
    return shim / "sample" / "minimal_hook.so"


def shell(script: str, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """``script`` with the command as "$@"."""
    line = ["sh", "-c", script, "sh", *COMMAND, *map(str, words)]
    return subprocess.run(line, env={**KEPT, **environment}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60)  # fmt: skip


RAISED = [
    (struct.error("unpack wants 8"), "this is a fault of gdbcuda (error: unpack wants 8, "),
    (KeyError("two\nlines"), r"this is a fault of gdbcuda (KeyError: 'two\nlines', "),
    (RuntimeError("one\ntwo \x1b[31m"), r"this is a fault of gdbcuda (RuntimeError: one two \x1b[31m, "),
    (RecursionError(), "this is a fault of gdbcuda (RecursionError, "),
    (AssertionError("x" * 5000), f"this is a fault of gdbcuda (AssertionError: {'x' * 200}\u2026, "),
    (OSError(28, "No space left on device", "/a\x1b/b"), r"/a\x1b/b: no space left on device"),
    (FileNotFoundError(2, "No such file or directory", b"/a/b"), "/a/b: no such file or directory"),
    (MemoryError(), "there is not enough memory for this"),
    (UserError("what you see"), "what you see"),
    (Unreadable(8, 4), "cannot read 4 bytes at 0x8"),
]


@pytest.mark.parametrize(("problem", "said"), RAISED, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("way", ["", "--debug", "GDBCUDA_DEBUG"])
def test_in_a_command(
    problem: Exception, said: str, way: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise problem

    monkeypatch.setattr("gdbcuda.shell.cli.sourced_file", fail)
    monkeypatch.setenv("GDBCUDA_DEBUG", "1" if way == "GDBCUDA_DEBUG" else "0")
    status = cli.main(["--debug", "path"] if way == "--debug" else ["path"])
    shown = capsys.readouterr()
    *history, line = shown.err.splitlines()
    assert line.startswith(f"gdbcuda: {said}") and shown.out == ""
    is_ours = "fault of" in said
    fault = re.search(r", shell/cli\.py:\d+\); with GDBCUDA_DEBUG=1 in front it shows the traceback$", line)
    assert bool(fault) == is_ours
    assert status == (2 if isinstance(problem, (UserError, OSError, MemoryError)) else 70)
    assert (history[:1] == ["Traceback (most recent call last):"]) == bool(way)
    assert "\x1b" not in shown.err


FULL: list[tuple[str, ...]] = [
    ("check", "HOOK"), ("check", "--json", "HOOK"), ("check", "--quiet", "HOOK"), ("log", "show", "LOG"),
    ("log", "tree", "LOG"), ("log", "show", "--json", "LOG"), ("log", "summary", "LOG"), ("log", "timeline", "LOG"),
    ("log", "memory", "LOG"), ("log", "diff", "LOG", "LOG"), ("log", "changes", "LOG"), ("log", "export", "LOG"),
    ("log", "export", "--format", "csv", "LOG"), ("path",), ("--help",), ("--version",), ("log", "show", "--help"),
    ("remote", "--host", "a", "b"), ("install",),
]  # fmt: skip


def named(words: tuple[str, ...], hook: Path, log: Path) -> list[object]:
    return [{"HOOK": hook, "LOG": log}.get(word, word) for word in words]


@pytest.mark.parametrize("words", FULL, ids=" ".join)
def test_a_disk_that_is_full(words: tuple[str, ...], hook: Path, log: Path) -> None:
    unbuffered = "1" if words in (("--help",), ("check", "HOOK"), ("path",)) else ""
    done = shell('"$@" > /dev/full', *named(words, hook, log), PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr) == (2, "gdbcuda: cannot write the output: No space left on device\n")


@pytest.mark.parametrize("words", FULL, ids=" ".join)
def test_a_pipe_that_nobody_reads(words: tuple[str, ...], hook: Path, log: Path) -> None:
    """As head leaves it behind, but for certain: nobody has ever read from it."""
    done = shell('{ sleep 0.1; "$@"; echo "status $?" >&2; } | true', *named(words, hook, log))
    assert done.stderr == "status 141\n"


@pytest.mark.parametrize("words", FULL, ids=" ".join)
def test_an_output_that_is_closed(words: tuple[str, ...], hook: Path, log: Path) -> None:
    done = shell('"$@" >&-', *named(words, hook, log))
    assert (done.returncode, done.stderr) == (2, "gdbcuda: cannot write the output: it is closed\n")


@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full"])
@pytest.mark.parametrize("words", [("check", "nowhere.so"), ("log", "show", "nowhere"), ("nonsense",)], ids=" ".join)
def test_nobody_to_complain_to(words: tuple[str, ...], where: str) -> None:
    done = shell(f'"$@" {where}', *words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


def test_no_input(log: Path) -> None:
    assert shell('"$@" <&-', "log", "show", "-").stderr == "gdbcuda: cannot read -: the standard input is closed\n"
    done = shell('"$@" <&-', "install")
    assert done.returncode == 1 and done.stdout.endswith("Nothing is written yet: the same with --yes does.\n")


GONE = 'mkdir "$HOME/gone" && cd "$HOME/gone" && rmdir "$HOME/gone" && "$@"'
FOLDER = "gdbcuda: the current folder is not there any more: cd to one that is\n"


@pytest.mark.parametrize(("words", "status", "said"), [
    (("check", "--quiet", "HOOK"), 0, ""),
    (("check", "lib.so"), 2, "gdbcuda: lib.so: no such file or directory\n"),
    (("check", "--sysroot", "image", "lib.so"), 2, FOLDER),
    (("log", "show", "--last", "1", "LOG"), 0, ""),
    (("log", "show", "calls"), 2, "gdbcuda: cannot read calls: No such file or directory\n"),
    (("log", "report", "LOG", "-o", "page.html"), 2, "gdbcuda: cannot write page.html: No such file or directory\n"),
    (("remote", "--host", "a", "--hook", "lib.so", "b"), 2, FOLDER),
    (("remote", "--host", "a", "--hook", "HOOK", "/b"), 0, ""),
    (("ide", "vim", "--program", "HOOK", "--hook", "HOOK"), 2, FOLDER),
    (("path",), 0, ""),
    (("install", "--yes"), 0, ""),
])  # fmt: skip
def test_a_folder_that_was_deleted(
    words: tuple[str, ...], status: int, said: str, hook: Path, log: Path, tmp_path: Path
) -> None:
    done = shell(GONE, *named(words, hook, log), HOME=str(tmp_path), PYTHONPATH=str(Path(cli.__file__).parents[2]))
    assert (done.returncode, done.stderr) == (status, said)


def make_folder(path: Path) -> None:
    path.mkdir()


def make_loop(path: Path) -> None:
    path.symlink_to(path)


def make_bytes(path: Path) -> None:
    path.write_bytes(b"source x\n\xff\n")


@pytest.mark.parametrize(("make", "said"), [
    (make_folder, "cannot read GDBINIT: it is not a file"),
    (os.mkfifo, "cannot read GDBINIT: it is not a file"),
    (make_loop, "cannot read GDBINIT: Too many levels of symbolic links"),
    (make_bytes, "GDBINIT is not UTF-8 text"),
])  # fmt: skip
def test_a_gdbinit_that_is_none(make: Callable[[Path], None], said: str, tmp_path: Path, monkeypatch) -> None:
    make(tmp_path / ".gdbinit")
    done = shell('"$@"', "install", "--yes", HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path / "none"))
    said = said.replace("GDBINIT", str(tmp_path / ".gdbinit"))
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"gdbcuda: {said}\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert not install.is_installed(), "which gdb asks at its first prompt"


@pytest.mark.parametrize("home", ["/dev/null", "/nowhere", ""])
def test_no_home(home: str) -> None:
    done = shell('"$@"', "install", "--yes", HOME=home, XDG_CONFIG_HOME="")
    said = f"gdbcuda: HOME is {home!r}, so gdb would not find its gdbinit; set it to your home folder\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_no_room_for_temporary_files(hook: Path, log: Path, tmp_path: Path) -> None:
    for words in FULL:
        if words != ("install",):
            assert shell('"$@"', *named(words, hook, log), TMPDIR="/nowhere", HOME="/nowhere").returncode == 0, words


@pytest.mark.parametrize(("make", "said"), [
    (make_folder, "Is a directory"),
    (os.mkfifo, "nobody reads from this FIFO"),
    (make_loop, "Too many levels of symbolic links"),
])  # fmt: skip
def test_a_page_that_cannot_be_written(make: Callable[[Path], None], said: str, log: Path, tmp_path: Path) -> None:
    make(tmp_path / "page")
    done = shell('"$@"', "log", "report", log, "-o", tmp_path / "page")
    assert (done.returncode, done.stderr) == (2, f"gdbcuda: cannot write {tmp_path / 'page'}: {said}\n")


def test_a_terminal_that_knows_ascii_alone(log: Path) -> None:
    done = shell('"$@"', "log", "show", "--last", "1", "\u00e9\u2026", PYTHONIOENCODING="ascii")
    assert done.stderr == "gdbcuda: cannot read \\xe9\\u2026: No such file or directory\n"


def test_ctrl_c(log: Path) -> None:
    fifo = log.parent / "fifo"
    os.mkfifo(fifo)
    line = ["env", "--default-signal=INT", *COMMAND, "log", "show", str(fifo)]  # in the background a shell ignores it
    child = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with open(fifo, "wb") as writer:  # it is open at the other end: the command is at work
        writer.write(log.read_bytes()[:2000])
        writer.flush()
        child.send_signal(2)
        assert child.communicate(timeout=30)[1] == b"" and child.returncode == 130
