"""Code in memory against the files that it comes from. Reads /proc alone, so it works in gdb's Python too."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Callable, NamedTuple

PAGE = 4096
OUR_LIBRARY = "libgdbcuda.so"
ENTRY = 16  # bytes that a patch may replace
END_OF_CALL = b"\xcc"  # of a shown one: it stays until the next stop, as a trampoline does in which a thread is
JUMP, JUMP_SIZE = b"\xe9", 5  # with four bytes that say how far
NOP = re.compile(rb"[\x66\x2e]*(\x0f\x1f|\x90)")
Read = Callable[[int, int], bytes]  # (address, size)


def around(patched: Iterable[int]) -> list[tuple[int, int]]:
    """The program's own patch of 12 bytes, and as far as a short jump of ours may reach from there: what was made for a
    function that somebody else has patched stays, for he may come back to it."""
    return [(one - 128, one + 12 + 128) for one in patched]


MOST_ZEROS = 24


class Change(NamedTuple):
    """A run of bytes in memory that are not the file's."""

    file: str
    offset: int
    have: bytes
    want: bytes
    filling: bool  # behind the segment's last byte, up to the end of its page; or in our library's room for guards

    def __str__(self) -> str:
        where = f"{'filling' if self.filling else 'code'} of {os.path.basename(self.file)}+{self.offset:#x}"
        return f"{where}, {len(self.have)} bytes: {self.have[:16].hex()}, not {self.want[:16].hex()}"

    def holds(self, places: Iterable[tuple[str, int]]) -> bool:
        """Of (file, offset)."""
        return any(file == self.file and 0 <= at - self.offset < len(self.have) for file, at in places)

    def goes_on(self, other: Change) -> bool:
        """The other one, in filling too: a trampoline has words of zeros, as filling has."""
        gap = max(self.offset, other.offset) - min(self.offset + len(self.have), other.offset + len(other.have))
        return self.file == other.file and self.filling and other.filling and gap <= MOST_ZEROS

    def inside(self, ranges: Iterable[Iterable[int]]) -> bool:
        """Not in filling that nobody executes, far behind the entry: an island may be there."""
        return any(low < self.offset + len(self.have) and self.offset < high
                   and not (self.offset - low > ENTRY and NOP.match(self.want)) for low, high in ranges)  # fmt: skip


def staying(found: list[Change], inside: list[tuple[str, int]], islands: list[tuple[str, int]]) -> list[Change]:
    """What threads are in, or come to from the jump of an island at which they are: that stays, too."""
    return [
        one for one in found
        if (one.holds(inside) and (one.filling or one.have == END_OF_CALL))
        or (one.have[:1] == JUMP and len(one.have) <= JUMP_SIZE and (one.file, one.offset) in islands)
    ]  # fmt: skip


def branch_islands(
    pid: int, addresses: Iterable[int], read: Read, files: list[str], bodies: Iterable[Iterable[int]]
) -> dict[int, int]:
    """Where a jump is that the short one at a function's entry leads to, and where a thread comes from there."""
    found, entries = {}, {min(body) for body in bodies}
    for at in set(addresses):
        here = places(pid, [at])
        if not here or any(file in files and offset in entries for file, offset in here):
            continue
        code = read(at, JUMP_SIZE)
        if code[:1] == JUMP:
            found[at] = at + JUMP_SIZE + int.from_bytes(code[1:], "little", signed=True)
    return found


def mappings(pid: int) -> Iterator[tuple[int, int, int, str]]:
    """Start, end, offset and file of each executable mapping of a file."""
    with open(f"/proc/{pid}/maps") as lines:
        for line in lines:
            words = line.split(None, 5)
            if "x" in words[1] and len(words) == 6 and words[5].startswith("/"):
                start, _, end = words[0].partition("-")
                yield int(start, 16), int(end, 16), int(words[2], 16), words[5].strip()


def places(pid: int, addresses: Iterable[int]) -> list[tuple[str, int]]:
    """(file, offset) of addresses in code."""
    mapped = list(mappings(pid))
    return [
        (file, address - start + offset)
        for address in addresses for start, end, offset, file in mapped if start <= address < end
    ]  # fmt: skip


def changed(
    pid: int, only: Iterable[str] = (), but: Iterable[tuple[int, int]] = (), read: Read | None = None
) -> list[Change]:
    """``only`` in these files, ``but`` for these ranges of addresses; as ``read`` says, or as it really is."""
    wanted, left_out = set(only), list(but)
    found: list[Change] = []
    try:
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            for start, end, offset, file in mappings(pid):
                if not wanted or file in wanted:
                    size = end - start
                    have = read(start, size) if read is not None else os.pread(memory.fileno(), size, start)
                    found += differences(have, start, offset, file, left_out)
    except OSError:  # the process has ended meanwhile
        return []
    return found


def differences(have: bytes, start: int, offset: int, file: str, but: list[tuple[int, int]]) -> list[Change]:
    with open(file, "rb") as source:
        want = os.pread(source.fileno(), len(have), offset).ljust(len(have), b"\0")
    for low, high in but:
        low, high = max(low - start, 0), max(high - start, 0)
        have = have[:low] + want[low:high] + have[high:]
    if have == want:
        return []
    code_ends = 0 if os.path.basename(file) == OUR_LIBRARY else code_end(file, offset)
    found = []
    for first, last in runs(have, want):
        found.append(Change(file, offset + first, have[first:last], want[first:last], offset + first >= code_ends))
    return found


def runs(have: bytes, want: bytes) -> Iterator[tuple[int, int]]:
    """First and last of each run of different bytes; up to 8 equal ones inside count as the same run."""
    first = last = -1
    for at in range(len(have)):
        if have[at] != want[at]:
            if first >= 0 and at - last > 8:
                yield first, last
                first = at
            first, last = (at if first < 0 else first), at + 1
    if first >= 0:
        yield first, last


def code_end(file: str, offset: int) -> int:
    """Where in the file the executable segment ends that begins on this page or before; behind it is filling."""
    with open(file, "rb") as source:
        head = source.read(64)
        at, size, count = (int.from_bytes(head[a:b], "little") for a, b in ((32, 40), (54, 56), (56, 58)))
        table = os.pread(source.fileno(), size * count, at)
    ends = [0]
    for i in range(count):
        entry = table[i * size : (i + 1) * size]
        kind, flags = int.from_bytes(entry[:4], "little"), int.from_bytes(entry[4:8], "little")
        begin, length = int.from_bytes(entry[8:16], "little"), int.from_bytes(entry[32:40], "little")
        if kind == 1 and flags & 1 and begin // PAGE * PAGE <= offset < begin + length:
            ends.append(begin + length)
    return max(ends)
