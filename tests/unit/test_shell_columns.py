"""What the shell's commands say fits the terminal, and is one line where nobody looks at one."""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from log_files import alloc_of, call, copy, failed, free_of, write

from gdbcuda.calls.record import Call
from gdbcuda.log.cli import VIEWS
from gdbcuda.shell.cli import make_parser
from gdbcuda.text.render import visible_width

COLUMNS = 80
LONG = "at::native::(anonymous namespace)::launch_fused<c10::Half, std::vector<std::pair<int, long>>>(int, long)"


def on_a_terminal(*words: str, folder: Path | None = None) -> str:
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "PAGER": "cat"}
    environment.pop("COLUMNS", None)
    command = [sys.executable, "-m", "gdbcuda", *words]
    with subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env=environment, cwd=folder):
        os.close(its)
        return b"".join(iter(lambda: pieces(ours), b"")).decode()


def pieces(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # nobody has it open any more
        os.close(terminal)
        return b""


@pytest.mark.parametrize(
    "words",
    [("frobnicate",), ("trace",), ("check", "HOOK"), ("check", "PROGRAM", "--hook", "HOOK"), ("help", "guards"),
     ("log", "show", "a/folder/that/is/not/there/and/has/a/long/name/calls.jsonl", "--failed")],
)  # fmt: skip
def test_it_fits(shim: Path, words: tuple[str, ...]) -> None:
    places = {"HOOK": shim / "libgdbcuda-hook.so", "PROGRAM": shim / "sample" / "test_alloc"}
    said = on_a_terminal(*(os.path.relpath(places[word]) if word in places else word for word in words))
    assert len(said) > COLUMNS / 2
    assert too_wide(said) == []


def too_wide(said: str) -> list[str]:
    """Lines that could have been broken at a blank; a bar's line is written over."""
    assert "Traceback" not in said
    lines = [line.rpartition("\r")[2] for line in said.replace("\r\n", "\n").split("\n")]
    return [line for line in lines if visible_width(line) > COLUMNS and " " in line.strip()]


def commands(parser: argparse.ArgumentParser, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Each command of the shell, each view of a log."""
    below = [action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    found = [one for choices in below for name, its in choices.items() for one in commands(its, (*before, name))]
    return [before, *found]


def test_all_help_fits(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))  # argparse's own look
    parser = make_parser()
    every = [words for words in commands(parser) if words[:1] != ("gdb",)]  # that is gdb's own help
    assert ("log", "show") in every and ("remote",) in every
    for words in every:
        with pytest.raises(SystemExit):
            parser.parse_args([*words, "--help"])
        assert too_wide(capsys.readouterr().out) == [], words


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """a.jsonl and b.jsonl: failures, leaks, long C++ names, what a hook library changed, unlike calls."""
    folder = tmp_path_factory.mktemp("logs")
    places = {0x400: {"function": LONG, "source": "native/cuda/fused_kernels.cu:1024", "object": "/opt/libtorch.so"}}
    for name, least in (("a.jsonl", 1 << 20), ("b.jsonl", 2 << 20)):
        write(folder / name, [*calls(least)], places)
    return folder


def calls(least: int) -> list[Call]:
    where = {"caller": 0x400, "stack": [0x400, 0x400]}
    refused = failed(3, "cuMemAlloc_v2", 2, "CUDA_ERROR_OUT_OF_MEMORY", arguments={"bytesize": 3 << 30}, **where)
    asked = {"device": "0x7fffffffe5dc", "pciBusId": "0000:00:00.0", "name": LONG, "count": 3 << 30}
    return [alloc_of(0, "0x7ffff3c00000", least, **where),
            call(1, "cuMemcpyDtoHAsync_v2", asked, parent=0, depth=1, layer="driver"),
            alloc_of(2, "0x7ffff3d00000", least, parent=0, depth=1, layer="driver"), refused,
            free_of(4, "0x7ffff3e00000", **where), copy(5, **where),
            alloc_of(6, "0x7ffff4c00000", 77, **where)]  # fmt: skip


WRITERS = {"report", "export", "kernel", "coverage"}  # their output is a file, or needs other files


@pytest.mark.parametrize("words", [
    *((view, "a.jsonl") for view in VIEWS if view not in WRITERS), ("show", "a.jsonl", "--stack"),
    *(("memory", "a.jsonl", "--view", view) for view in ("live", "leaks", "by-site", "problems", "peak")),
    ("summary", "a.jsonl", "--all"), ("diff", "a.jsonl", "b.jsonl"), ("show", "a.jsonl", "b.jsonl"),
    ("memory", "a.jsonl", "--view", "nonsense"), ("show", "a.jsonl", "--function", "cuMemAloc"),
    ("show", "a.jsonl", "--if", "bytesiz > 1G && caller in libtorch.so"),
])  # fmt: skip
def test_each_view_fits(logs: Path, words: tuple[str, ...]) -> None:
    said = on_a_terminal("log", *words, folder=logs)
    assert len(said) > COLUMNS / 2
    assert too_wide(said) == []


@pytest.mark.parametrize("view", ["show", "tree"])
def test_a_call_is_one_line_for_grep(logs: Path, view: str) -> None:
    """In a pipe, and where it is asked for."""
    whole = [line for line in on_a_terminal("log", view, "a.jsonl", "--wide", folder=logs).split("\r\n") if line]
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "NO_COLOR": "1"}
    piped = subprocess.run([sys.executable, "-m", "gdbcuda", "log", view, "a.jsonl"], cwd=logs, env=environment,
                           stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()  # fmt: skip
    assert len(piped) == len(whole) == len(calls(0))
    assert all("fused_kernels.cu:1024" in line and visible_width(line) > COLUMNS for line in piped if " by " in line)
    assert "\r\n       " in on_a_terminal("log", view, "a.jsonl", folder=logs)


def test_an_error_is_one_line_for_programs() -> None:
    words = [sys.executable, "-m", "gdbcuda", "frobnicate"]
    done = subprocess.run(words, stderr=subprocess.PIPE, text=True, check=False, env={**os.environ, "COLUMNS": "80"})
    assert done.stderr.count("\n") == 1 and len(done.stderr) > COLUMNS
