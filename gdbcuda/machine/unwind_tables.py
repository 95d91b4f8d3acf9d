"""Where a function ends, by what unwinders know of it: `strip` leaves that in the object, and it is in memory.

(LSB Core, "Exception Frames": .eh_frame_hdr, .eh_frame. The linker sorts the first, as numbers of 32 bits from there.)
"""

from __future__ import annotations

import struct

from gdbcuda.errors import Unreadable
from gdbcuda.linkage.image import Image
from gdbcuda.memory import Memory

SORTED = b"\x01\x1b\x03\x3b"  # version 1; .eh_frame from here, an unsigned number of rows, rows from the table
HEADER, ROW = 12, 8  # bytes
MOST_ROWS, LONGEST_CIE = 1 << 24, 64
WIDTHS = {0x00: 8, 0x04: 8, 0x0C: 8, 0x03: 4, 0x0B: 4}  # of an encoded number, by its format
FORMAT = 0x0F


def function_size(image: Image, function: int) -> int:
    """Of the function that begins there; 0 where the object does not tell."""
    table = image.unwind_table
    if table is None:
        return 0
    try:
        entry = entry_of(image.memory, table, function)
        return length_in(image.memory, entry) if entry is not None else 0
    except (Unreadable, IndexError, struct.error):
        return 0


def entry_of(memory: Memory, table: int, function: int) -> int | None:
    """The address of what describes it."""
    header = memory.read(table, HEADER)
    low, high = 0, min(struct.unpack_from("<I", header, 8)[0], MOST_ROWS) if header.startswith(SORTED) else 0
    while low < high:
        middle = (low + high) // 2
        begins, entry = struct.unpack("<ii", memory.read(table + HEADER + middle * ROW, ROW))
        if table + begins == function:
            return table + int(entry)
        low, high = (middle + 1, high) if table + begins < function else (low, middle)
    return None


def length_in(memory: Memory, entry: int) -> int:
    """Behind the length of the entry, the way to its CIE and the beginning, which is as wide."""
    size, back = struct.unpack("<II", memory.read(entry, 8))
    if size == 0xFFFFFFFF or not back:
        return 0
    width = WIDTHS.get(encoding_in(memory.read(entry + 4 - back, LONGEST_CIE)) & FORMAT, 0)
    return int.from_bytes(memory.read(entry + 8 + width, width), "little") if width else 0


def encoding_in(cie: bytes) -> int:
    """How addresses are written (R), behind the personality (P) and what leads to its data (L)."""
    version, augmentation = cie[8], cie[9:].partition(b"\0")[0].decode("latin-1")
    at = 9 + len(augmentation) + 1
    for _ in range(3 if version == 3 else 2):  # alignments of code and data, and the register of the return address
        at = behind_number(cie, at)
    at = at if version == 3 else at + 1
    if not augmentation.startswith("z"):
        return 0
    at = behind_number(cie, at)
    for letter in augmentation[1:]:
        if letter == "R":
            return cie[at]
        at += {"L": 1, "P": 1 + WIDTHS.get(cie[at] & FORMAT, 8)}.get(letter, 0)
    return 0


def behind_number(raw: bytes, at: int) -> int:
    """LEB128: the last byte has no highest bit."""
    while raw[at] & 0x80:
        at += 1
    return at + 1
