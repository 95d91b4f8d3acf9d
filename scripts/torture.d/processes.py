"""Processes seen from outside: which ones belong to a run, and are they alive."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Container
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans(is_on: bool = True) -> None:
    """Programs that gdb has left alone become children of this process, so that their exit status can be had."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(is_on), 0, 0, 0)


def send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def mine(out: Path) -> list[int]:
    """Live processes with this run's output on their command line: the program, its children, gdb and gdbserver."""
    return with_text(os.fsencode(out) + b"\0")


def below(folder: Path) -> list[int]:
    """Those with any file of this folder there."""
    return with_text(os.fsencode(folder) + b"/")


def descendants(pid: int, spared: Container[int] = ()) -> list[int]:
    """A gdb that is killed leaves its gdbserver. Without those ``spared``, and what is below them."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            children = [child for child in map(int, task.read_text().split()) if child not in spared]
            found += [one for child in children for one in (child, *descendants(child))]
    return found


def with_text(text: bytes) -> list[int]:
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = Path(entry.path, "cmdline").read_bytes()
            except OSError:
                continue
            if text in words and alive(int(entry.name)):
                found.append(int(entry.name))
    return found
