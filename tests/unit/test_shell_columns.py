"""What the shell's commands say fits the terminal, and is one line where nobody looks at one."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from gdbcuda.text.render import visible_width

COLUMNS = 80


def on_a_terminal(*words: str) -> str:
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "PAGER": "cat"}
    environment.pop("COLUMNS", None)
    command = [sys.executable, "-m", "gdbcuda", *words]
    with subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env=environment):
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
    lines = said.replace("\r", "").split("\n")
    assert len(said) > COLUMNS / 2 and "Traceback" not in said
    assert [line for line in lines if visible_width(line) > COLUMNS and " " in line.strip()] == []


def test_an_error_is_one_line_for_programs() -> None:
    words = [sys.executable, "-m", "gdbcuda", "frobnicate"]
    done = subprocess.run(words, stderr=subprocess.PIPE, text=True, check=False, env={**os.environ, "COLUMNS": "80"})
    assert done.stderr.count("\n") == 1 and len(done.stderr) > COLUMNS
