"""A run that is ended early says so in one line, and leaves no process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import processes
import pytest
from torture_support import TORTURE

TIMEOUT = 60  # seconds until a gdb runs, and until all is over


@pytest.mark.parametrize("send", [os.killpg, os.kill], ids=["to all of them", "to it alone"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_line_and_nothing_left(
    tmp_path: Path, number: signal.Signals, send: Callable[[int, int], None]
) -> None:
    command = [sys.executable, str(TORTURE), "--seed", "7", "--jobs", "2", "--keep", str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as run:
        wait_for_gdb(tmp_path)
        send(run.pid, number)
        send(run.pid, number)
        said = run.communicate(timeout=TIMEOUT)[1]
    assert said.splitlines()[-1].startswith("torture: interrupted: --seed 7: ")
    assert all(line.startswith("torture: ") for line in said.splitlines())
    assert processes.below(tmp_path) == []


def wait_for_gdb(folder: Path) -> None:
    until = time.monotonic() + TIMEOUT
    while not any(b"driver.py" in words_of(pid) for pid in processes.below(folder)):
        assert time.monotonic() < until, "no gdb was started"
        time.sleep(0.1)


def words_of(pid: int) -> bytes:
    """A compiler that was seen may have ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""
