"""How many calls of a thread there is room for where memory is limited: the program's share stays its own.

Pages of a ring's file count as memory of the control group, and a program that has none left is killed. So a ring takes
a small part. (Linux, Documentation/admin-guide: cgroup-v2, cgroup-v1/memory; of address space:
shim/recorder/ring_memory.c)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from gdbcuda.rings.ring_layout import RING_RECORD, WORD

LAST, AHEAD = 8192, 32768  # calls of a thread; where all are kept, those that are not kept yet
PART = 256
ROOT = "/sys/fs/cgroup"
LARGEST = 1 << 60  # version 1 says "none" by a number about this


def wanted(keeps_all: bool) -> int:
    """Where nobody has asked for a number."""
    return AHEAD if keeps_all else LAST


def fitting(last: int, pid: int | str = "self") -> tuple[int, str]:
    """So many of the ``last`` calls, and what is to be said; "" where there is room for all."""
    limit = min(limits(pid), default=LARGEST)
    most = limit // PART // (RING_RECORD * WORD)
    if last <= most or limit >= LARGEST:
        return last, ""
    kept = 1 << max(most.bit_length() - 1, 0)
    return kept, f"memory is limited to {limit >> 20} MiB here: of each thread the last {kept} calls are kept"


def limits(pid: int | str) -> Iterator[int]:
    try:
        with open(f"/proc/{pid}/cgroup", errors="surrogateescape") as file:
            lines = file.read().splitlines()
    except OSError:
        return
    yield from limits_of(lines, ROOT)


def limits_of(lines: Iterable[str], root: str) -> Iterator[int]:
    """Bytes, of the control groups and those around; a container sees its own at the root."""
    for folder, name in ((one.rstrip("/"), name) for one, name in groups(lines, root)):
        while len(folder) >= len(root):
            yield from limit_in(os.path.join(folder, name))
            folder = os.path.dirname(folder)


def limit_in(path: str) -> Iterator[int]:
    try:
        with open(path) as file:
            text = file.read().strip()
    except OSError:
        return
    if text.isdigit() and int(text) < LARGEST:
        yield int(text)


def groups(lines: Iterable[str], root: str) -> Iterator[tuple[str, str]]:
    """(a folder, the file with the limit), of what /proc/PID/cgroup says."""
    for line in lines:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            yield os.path.join(root, path.strip("/")), "memory.max"
        elif "memory" in controllers.split(","):
            yield os.path.join(root, "memory", path.strip("/")), "memory.limit_in_bytes"
