"""Loaded into a gdb before the extension: what it reads of some files is there for each copy of it.

gdb keeps the symbols of a file, and what it has found in the debug info, with the file, as long as somebody uses that.
A copy's program uses it again under the same name, and gdb reads nothing. No command uses a file and nothing else, so
the count of its users is raised: gdb tells where the file is and how many users it has."""

from __future__ import annotations

import ctypes
import os
import re
import struct

import gdb

WORDS = 64  # of what gdb knows of a file, in which the place of its count is looked for
KNOWN = struct.Struct("i4xqqqq")
OPEN_FILE = re.compile(r"^(\d+) +(0x[0-9a-f]+) +(.+?) *$", re.MULTILINE)


def keep(files: list[str]) -> None:
    for file in files:
        gdb.execute(f"file target:{file}", to_string=True)
        for count, address, name in open_files():
            if os.path.realpath(name) == os.path.realpath(file):
                use_once_more(address, count, os.stat(name))
    gdb.execute("file", to_string=True)


def open_files() -> list[tuple[int, int, str]]:
    said = gdb.execute("maint info bfds", to_string=True)
    return [(int(count), int(address, 16), name) for count, address, name in OPEN_FILE.findall(said)]


def use_once_more(address: int, count: int, status: os.stat_result) -> None:
    """The count stands before what gdb remembers of the file: when it was written, its size, inode and device."""
    known = (count, int(status.st_mtime), status.st_size, status.st_ino, status.st_dev)
    for pointer in struct.unpack(f"{WORDS}Q", ctypes.string_at(address, 8 * WORDS)):
        if is_on_the_heap(pointer, KNOWN.size) and KNOWN.unpack(ctypes.string_at(pointer, KNOWN.size)) == known:
            ctypes.c_int.from_address(pointer).value += 1


def is_on_the_heap(address: int, size: int) -> bool:
    with open("/proc/self/maps") as maps:
        for line in maps:
            start, _, end = line.split()[0].partition("-")
            if line.rstrip().endswith("[heap]") and int(start, 16) <= address <= int(end, 16) - size:
                return True
    return False
