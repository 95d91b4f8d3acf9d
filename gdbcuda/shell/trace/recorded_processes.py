"""Which processes write into a folder: that which was named, and its children, also those that have made no call yet.

Each was told the folder, or has its parent's memory. (`ring_layout.TRACE`; proc(5): /proc/PID/maps, /proc/PID/mem.)
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from gdbcuda import elf
from gdbcuda.files import places
from gdbcuda.rings.ring_layout import TRACE_SYMBOL


def each(folder: str) -> Iterator[int]:
    """Those too that are forked meanwhile."""
    seen: set[int] = set()
    while new := sorted(set(writing_into(folder)) - seen):
        seen.update(new)
        yield from new


def writing_into(folder: str) -> Iterator[int]:
    at, wanted = elf.open(places.agent()).exported[TRACE_SYMBOL].value, os.fsencode(folder) + b"\0"
    for name in filter(str.isdigit, os.listdir("/proc")):
        base = base_of_library(int(name))
        if base is not None and read(int(name), base + at, len(wanted)) == wanted:
            yield int(name)


def has_lost_library(pid: int) -> bool:
    """What it has executed since is another program."""
    try:
        return lines_of_library(pid) == [] and bool(os.readlink(f"/proc/{pid}/exe"))  # none in one that has ended
    except OSError:
        return False


def lines_of_library(pid: int) -> list[list[str]]:
    """Of its mappings. (The file is another one since, where somebody has built the library again.)"""
    mapped = re.compile(rf"/{re.escape(places.AGENT)}( \(deleted\))?$")
    with open(f"/proc/{pid}/maps", errors="replace") as file:
        return [line.split() for line in file if mapped.search(line.rstrip("\n"))]


def base_of_library(pid: int) -> int | None:
    """None where it is not there, or not ours to see."""
    try:
        first = next(iter(lines_of_library(pid)), None)
    except OSError:
        return None
    return int(first[0].partition("-")[0], 16) - int(first[2], 16) if first is not None else None


def read(pid: int, address: int, size: int) -> bytes:
    try:
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            return os.pread(memory.fileno(), size, address)
    except (OSError, OverflowError):
        return b""
