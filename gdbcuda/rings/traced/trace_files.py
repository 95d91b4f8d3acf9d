"""The file of a traced process as bytes: who is what in it.

It may be cut, or anything: what makes sense is taken, and nothing in it is trusted to be a length.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import Any, Callable

from gdbcuda.calls import rank_names
from gdbcuda.data_classes import dataclass, field
from gdbcuda.errors import UserError
from gdbcuda.files.word_layout import MOST_PIDS
from gdbcuda.rings.ring_layout import (
    A_FILTER,
    A_FOLDER,
    A_FUNCTION,
    A_HOOK,
    A_RANK,
    A_THREAD_WITHOUT_FILE,
    AN_OBJECT,
    ENTRY,
    FILE_HEADER,
    FILE_VERSION,
    MAGIC,
    MOST_ENTRIES,
    MOST_FUNCTIONS,
    PASSED_BY,
    PAST_LIBC,
    PAST_PLT,
    PROCESS,
    WORD,
)

SIZE = ENTRY["SIZE"] * WORD
TEXT = ENTRY["TEXT"] * WORD
Entry = tuple[int, int, int, int, str]  # kind, number, address, object, text
Progress = Callable[[int], None]  # told how many bytes have been read
LARGEST_TIME = 1 << 62  # nanoseconds


@dataclass(frozen=True)
class LoadedObject:
    address: int
    file: str


@dataclass(frozen=True)
class BoundFunction:
    name: str
    address: int
    object: LoadedObject | None


@dataclass
class TracedProcess:
    """``ticks``, ``monotonic`` and ``realtime`` (nanoseconds) are one moment. ``functions`` by the number that a record
    has; ``without_file`` are the threads whose calls are in no file, ``filtered`` the functions of which only the
    wanted calls are there; ``past_libc``: for these libraries the recorder has made no system call; ``past_plt``: what
    they call through slots is not recorded; ``missed``: calls of threads that could note none, once the program had
    confined itself; ``threads_without_file``: how many, told or not; ``rank``: what its launcher calls it; ``hooks``:
    what the user has called the hook library; ``passed_by``: names of functions whose calls may be missing, by the kind
    of the entry that says so and a library."""

    pid: int = 0
    parent: int = 0
    ticks: int = 0
    monotonic: int = 0
    realtime: int = 0
    folder: str = ""
    functions: dict[int, BoundFunction] = field(default_factory=dict)
    objects: list[LoadedObject] = field(default_factory=list)
    without_file: set[int] = field(default_factory=set)
    filtered: set[int] = field(default_factory=set)
    past_libc: set[str] = field(default_factory=set)
    past_plt: set[str] = field(default_factory=set)
    missed: int = 0
    threads_without_file: int = 0
    rank: str = ""
    hooks: set[LoadedObject] = field(default_factory=set)
    passed_by: dict[tuple[int, str], set[str]] = field(default_factory=dict)


def process(raw: bytes) -> TracedProcess:
    """`UserError` for what is no such file."""
    words = header_words(raw)
    pid, parent = (words[PROCESS[name]] % MOST_PIDS for name in ("PID", "PARENT"))
    times = [words[PROCESS[name]] % LARGEST_TIME for name in ("TICKS", "MONOTONIC", "REALTIME")]
    found = TracedProcess(pid, parent, *times)
    found.missed = words[PROCESS["MISSED"]] % LARGEST_TIME
    entries = list(entries_in(raw))
    told = dict(text.partition("=")[::2] for _, (kind, _, _, _, text) in entries if kind == A_RANK)
    found.rank = rank_names.label(told.get)
    objects = {index: LoadedObject(one[2], one[4]) for index, one in entries if one[0] == AN_OBJECT}
    found.objects = list(objects.values())
    for _, entry in entries:
        note_entry(found, entry, objects)
    found.threads_without_file = max(words[PROCESS["WITHOUT_FILE"]] % MOST_PIDS, len(found.without_file))
    return found


def header_words(raw: bytes) -> tuple[Any, ...]:
    if len(raw) < PROCESS["SIZE"] * WORD:
        raise UserError("its beginning is missing")
    words = struct.unpack_from(f"<{PROCESS['SIZE']}Q", raw)
    if words[PROCESS["MAGIC"]] != MAGIC:
        raise UserError("not written by gdbcuda trace")
    if words[PROCESS["VERSION"]] != FILE_VERSION:
        raise UserError("written by another version of gdbcuda")
    return words


def note_entry(found: TracedProcess, entry: Entry, objects: dict[int, LoadedObject]) -> None:
    kind, number, address, where, text = entry
    if kind == A_FUNCTION and number < MOST_FUNCTIONS:
        found.functions[number] = BoundFunction(text, address, objects.get(where))
    elif kind == A_THREAD_WITHOUT_FILE:
        found.without_file.add(number)
    elif kind == A_FILTER:
        found.filtered.add(number)
    elif kind == PAST_LIBC:
        found.past_libc.add(text)
    elif kind == PAST_PLT and where in objects:
        found.past_plt.add(os.path.basename(objects[where].file))
    elif kind == A_HOOK and where in objects:
        found.hooks.add(objects[where])
    elif kind in PASSED_BY and where in objects:
        found.passed_by.setdefault((kind, os.path.basename(objects[where].file)), set()).add(text)
    elif kind == A_FOLDER:
        found.folder = text


def entries_in(raw: bytes) -> Iterator[tuple[int, Entry]]:
    """With its number from 1, each that is whole."""
    end = min(len(raw) - SIZE + 1, FILE_HEADER + MOST_ENTRIES * SIZE)
    for index, at in enumerate(range(FILE_HEADER, end, SIZE), 1):
        numbers = struct.unpack_from("<4Q", raw, at)
        text = raw[at + TEXT : at + SIZE].partition(b"\0")[0].decode("utf-8", "surrogateescape")
        yield index, (*numbers, text)


def untold(count: int) -> None:
    """Nobody wants to know how far the reading has come."""
