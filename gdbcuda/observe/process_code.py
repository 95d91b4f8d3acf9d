"""Which function of which file a code address of a running process is in.

A process that has ended tells nothing any more. Of it the kernel's events have said where the watched functions were,
and where the program began: that places the files that matter.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from gdbcuda.api import vendor
from gdbcuda.elf.layout import Segment
from gdbcuda.observe.machine_ranks import rank_of
from gdbcuda.rings.traced.trace_places import NamedCode

DELETED = " (deleted)"
OF_KERNEL = "[uprobes]"  # where calls return to that are watched


class Mapping(NamedTuple):
    """Bytes ``start`` to ``end`` of a process are those of a file from ``offset`` on."""

    start: int
    end: int
    offset: int
    inode: int
    file: str
    is_code: bool


def mappings(pid: int) -> list[Mapping]:
    """Of files, in the order of their addresses; none of a process that is no more."""
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as file:
            return [one for one in map(mapping, file) if one is not None]
    except OSError:
        return []


def mapping(line: str) -> Mapping | None:
    fields = line.rstrip("\n").split(None, 5)
    if len(fields) < 6 or not fields[5].startswith(("/", OF_KERNEL)):
        return None
    start, _, end = fields[0].partition("-")
    return Mapping(int(start, 16), int(end, 16), int(fields[2], 16), int(fields[4]), fields[5], "x" in fields[1])


def outside(pid: int, one: Mapping) -> str:
    """The path by which we reach a file of the process, which may have another root and other mounts. One that was
    deleted, or replaced by a newer one, the kernel opens by where it is in the process (as root)."""
    file = one.file.removesuffix(DELETED)
    there = f"/proc/{pid}/root{file}"
    for path in (file, there, mapped_file(pid, one)):
        if is_mapped(path, pid, one):
            return path
    return there if os.path.exists(there) else file


def is_mapped(path: str, pid: int, one: Mapping) -> bool:
    """Each device has inodes of its own. The map and stat do not number devices alike (overlayfs, btrfs), so both files
    are asked by stat; where the kernel does not let us, the inode has to do."""
    with suppress(OSError):
        found = os.stat(path)
        with suppress(OSError):
            return os.path.samestat(found, os.stat(mapped_file(pid, one)))
        return found.st_ino == one.inode
    return False


def mapped_file(pid: int, one: Mapping) -> str:
    return f"/proc/{pid}/map_files/{one.start:x}-{one.end:x}"


class Files:
    """What is known of files, for all processes."""

    def __init__(self, realtime: int, hooks: set[str]) -> None:
        self.realtime, self.hooks = realtime, hooks
        self.named: dict[str, NamedCode] = {}

    def __getitem__(self, path: str) -> NamedCode:
        if path not in self.named:
            self.named[path] = NamedCode(path, self.realtime)
        return self.named[path]

    def layer(self, file: str) -> str:
        return vendor.layer_of(file) or ("hook" if file in self.hooks else "app")

    def code(self, path: str) -> list[Segment]:
        file = self[path].file
        return [] if file is None else [one for one in file.segments if one.type == "PT_LOAD" and one.flags & 1]


class ProcessCode:
    """Of one process; its map is read again where an address is in nothing that was known."""

    def __init__(self, pid: int, files: Files, program: str = "") -> None:
        self.pid, self.files = pid, files
        self.maps: list[Mapping] = []
        self.starts: list[int] = []
        self.program = link(f"/proc/{pid}/exe") or program
        self.rank = rank_of(pid)
        self.loaded: dict[str, int] = {}  # how far a file is from where it would like to be
        self.read()

    def read(self) -> None:
        found = mappings(self.pid)
        if found:
            self.maps, self.starts = found, [one.start for one in found]
            self.program = link(f"/proc/{self.pid}/exe") or self.program

    def note(self, file: str, distance: int) -> None:
        self.loaded[file] = distance

    def note_program(self, code: int) -> None:
        """By where its code begins."""
        starts = [one.address for one in self.files.code(self.program)]
        if code and starts:
            self.loaded[self.program] = code - min(starts)

    def mapping_at(self, address: int) -> Mapping | None:
        if self.known(address) is None:
            self.read()
        return self.known(address)

    def known(self, address: int) -> Mapping | None:
        at = bisect_right(self.starts, address) - 1
        return self.maps[at] if at >= 0 and address < self.maps[at].end else None

    def details(self, address: int) -> dict[str, Any] | None:
        """As a log describes a place."""
        one = self.mapping_at(address)
        if one is not None and one.file != OF_KERNEL:
            file = one.file.removesuffix(DELETED)
            path = outside(self.pid, one)
            at = file_address(self.files[path], one, address - 1)
            return self.place(address, file, path, at)
        return next(self.by_distance(address), None) if one is None else None

    def by_distance(self, address: int) -> Iterator[dict[str, Any]]:
        for file, distance in self.loaded.items():
            at = address - 1 - distance
            if any(one.address <= at < one.address + one.memory_size for one in self.files.code(file)):
                yield self.place(address, file, file, at)

    def place(self, address: int, file: str, path: str, at: int) -> dict[str, Any]:
        """``at``: as the file's own symbols count."""
        code = self.files[path]
        known: dict[str, Any] = {"function": code.function(at), "source": str(code.sources([at]).get(at) or "")}
        known |= {} if known["function"] else {"offset": at + 1}
        return {"address": address, "object": file, "layer": self.files.layer(file),
                **{name: text for name, text in known.items() if text}}  # fmt: skip

    def is_of_kernel(self, address: int) -> bool:
        """A call comes from no file where the kernel has put its own return address."""
        one = self.mapping_at(address)
        return one.file == OF_KERNEL if one is not None else next(self.by_distance(address), None) is None


def file_address(code: NamedCode, one: Mapping, address: int) -> int:
    """As the symbols of the file count: by the segment that the mapping is made of."""
    offset = address - one.start + one.offset
    for segment in code.file.segments if code.file is not None else ():
        if segment.type == "PT_LOAD" and segment.offset <= offset < segment.offset + segment.file_size:
            return offset - segment.offset + segment.address
    return offset


def link(path: str) -> str:
    try:
        return os.readlink(path).removesuffix(DELETED)
    except OSError:
        return ""
