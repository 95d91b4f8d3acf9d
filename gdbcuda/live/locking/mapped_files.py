"""Which file an address of the process is mapped from. (proc(5): /proc/PID/maps; gdb manual: "info proc mappings".)"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import gdb

from gdbcuda.live import process
from gdbcuda.live.host import gdb_cli

# "7f26c8-7f26c9 rw-s 00001000 fe:00 2181459    /dev/shm/sem.gate"
MAPS = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) (\S+) (\d+) +(\S.*)$", re.MULTILINE)
BY_GDB = re.compile(r"^\s*0x([0-9a-f]+)\s+0x([0-9a-f]+)\s+0x[0-9a-f]+\s+0x([0-9a-f]+)\s+(?:([-rwxsp]{4})\s+)?(/.*)$",
                    re.MULTILINE)  # fmt: skip


class MappedFile(NamedTuple):
    """``is_shared``: None where nobody says; ``inode``: 0 where nobody does."""

    start: int
    end: int
    offset: int
    path: str
    is_shared: bool | None = None
    inode: int = 0

    def shown(self, address: int) -> str:
        return f"{self.path}+{address - self.start + self.offset:#x}"


def listed(maps: str) -> Iterator[MappedFile]:
    for start, end, flags, offset, _, inode, path in MAPS.findall(maps):
        if path.startswith("/"):
            yield MappedFile(int(start, 16), int(end, 16), int(offset, 16), path, "s" in flags, int(inode))


def all_here() -> list[MappedFile]:
    """Of the selected process or core file."""
    maps = process.proc_files.text(f"/proc/{gdb.selected_inferior().pid}/maps")
    if maps is not None:
        return [*listed(maps)]
    found: list[MappedFile] = []
    with suppress(gdb.error):
        for start, end, offset, flags, path in BY_GDB.findall(gdb_cli.execute("info proc mappings")):
            is_shared = "s" in flags if flags else None
            found.append(MappedFile(int(start, 16), int(end, 16), int(offset, 16), path.strip(), is_shared))
    return found
