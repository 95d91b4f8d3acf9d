"""A file that somebody rebuilds while it is read: cut off at any read, and again and again. Nobody dies of SIGBUS."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable

import pytest
from elf_build import compiled
from log_files import alloc_of, write

from gdbcuda import api, elf
from gdbcuda.calls import reader
from gdbcuda.check.file import check
from gdbcuda.errors import UserError
from gdbcuda.linkage import hook_library

SOURCE = "int cuInit(int n) { return n; } int dlsym(void) { return 0; } static int own(void) { return 1; }"
API_NAMES = api.load().functions.keys()
READ = os.pread


def symbols(path: Path) -> None:
    file = elf.open(path)
    assert len(file.exported) and len(file.hidden_functions) >= 0 and list(file.symtab)
    list(file.dwarf.units())


def notice(path: Path) -> None:
    assert hook_library.exported_by_file(str(path), API_NAMES) <= {"cuInit", "dlsym"}


ACTIONS: dict[str, Callable[[Path], object]] = {"check": check, "symbols": symbols, "notice": notice}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return compiled(tmp_path, SOURCE, "-g")


@contextmanager
def cut_at(monkeypatch: pytest.MonkeyPatch, path: Path, number: int) -> Iterator[list[int]]:
    """The file loses all but its first 100 bytes just before the read of that number; the list counts the reads."""
    reads = [0]

    def read(file: int, size: int, offset: int) -> bytes:
        reads[0] += 1
        if reads[0] == number:
            os.truncate(path, 100)
        return READ(file, size, offset)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pread", read)
        yield reads


@pytest.mark.parametrize("name", ACTIONS)
def test_cut_off_at_any_read(library: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    data = library.read_bytes()
    with cut_at(monkeypatch, library, 0) as reads:
        ACTIONS[name](library)
    assert reads[0] > 1, "nothing was read with pread: the test would see nothing"
    for number in range(1, reads[0] + 1):
        library.write_bytes(data)
        with cut_at(monkeypatch, library, number):
            outcome(ACTIONS[name], library)


def outcome(action: Callable[[Path], Any], path: Path) -> None:
    """A result, or one line."""
    try:
        action(path)
    except UserError as problem:
        assert "\n" not in str(problem) and str(path) in str(problem)


@pytest.mark.parametrize("seen", [0, 1, 300, 2900])
def test_a_log_that_is_cut_off(tmp_path: Path, seen: int) -> None:
    """What was read is shown, what is lost is counted."""
    path = write(tmp_path / "calls.jsonl", [alloc_of(i, f"0x{i:x}") for i in range(1, 1500)])
    log = reader.Log()
    events = reader.file_events(reader.LogFile(path), log)
    got = [next(events) for _ in range(seen)]
    os.truncate(path, 1000)
    got += list(events)
    assert len(got) >= seen and log.header
    assert all(event[1].name == "cuMemAlloc_v2" for event in got)


LOOP = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
import test_truncated
from pathlib import Path
print("ready", flush=True)
for number in range(int(sys.argv[4])):
    test_truncated.outcome(test_truncated.ACTIONS[sys.argv[2]], Path(sys.argv[3]))
print("alive")
"""


@pytest.mark.parametrize(("name", "rounds"), [("check", 6), ("symbols", 40), ("notice", 2000)])
def test_rebuilt_again_and_again(library: Path, name: str, rounds: int) -> None:
    """In a process of its own, for a mapping that is cut off kills it."""
    data = library.read_bytes() + bytes(1 << 20)
    words = [sys.executable, "-c", LOOP, json.dumps(sys.path), name, str(library), str(rounds)]
    library.write_bytes(data)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
        while child.poll() is None:
            library.write_bytes(data)
            os.truncate(library, 100)
        assert (child.stdout.read(), child.returncode) == ("alive\n", 0)
