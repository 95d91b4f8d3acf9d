"""Containers of C++ in memory, as far as they hold pointers. Nothing read here is trusted.

libstdc++'s std::set, whose layout is part of its ABI (its header node lies behind the comparison), std::vector, and the
hash table of c10/util/flat_hash_map.h: entries, the number of places less one, a byte for the hash and one for how
many more places there are, the number of elements. An entry's first byte is negative where it is empty.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from gdbcuda.memory import Memory

MOST = 1 << 20  # elements of one container
TABLE = struct.Struct("<QQbbxxxxxxQ")
TREE = struct.Struct("<QQQQQQ")  # comparison, colour, root, leftmost, rightmost, how many
NODE = struct.Struct("<QQQQQ")  # colour, parent, left, right, value


class Misshapen(Exception):
    """What is there is no such container."""


def words(data: bytes, at: int = 0, count: int = 1) -> tuple[int, ...]:
    return struct.unpack_from(f"<{count}Q", data, at)


def vector(memory: Memory, address: int) -> list[int]:
    begin, end, room = words(memory.read(address, 24), 0, 3)
    if not begin <= end <= room or (end - begin) % 8 or end - begin > 8 * MOST:
        raise Misshapen
    return list(words(memory.read(begin, end - begin), 0, (end - begin) // 8))


def hash_table(memory: Memory, address: int, size: int) -> list[bytes]:
    """Its elements, of ``size`` bytes each."""
    entries, last, _, more, count = TABLE.unpack(memory.read(address, TABLE.size))
    if count > MOST or last > 8 * MOST or last & last + 1 or more < 0:
        raise Misshapen
    each, places = 8 + size, last + more
    data = memory.read(entries, each * places) if count else b""
    found = [data[at + 8 : at + each] for at in range(0, len(data), each) if data[at] < 0x80]
    if len(found) != count:
        raise Misshapen
    return found


def tree(memory: Memory, address: int) -> list[int]:
    """The pointers in a std::set of them."""
    _, _, root, _, _, count = TREE.unpack(memory.read(address, TREE.size))
    if count > MOST:
        raise Misshapen
    found = list(nodes(memory, root, address + 8, count))
    if len(found) != count:
        raise Misshapen
    return found


def nodes(memory: Memory, root: int, header: int, most: int) -> Iterator[int]:
    """Each node names the one above it; a tree with more than ``most`` is none."""
    left_to_see = [(root, header)] if root else []
    while left_to_see and most >= 0:
        node, above = left_to_see.pop()
        _, parent, left, right, value = NODE.unpack(memory.read(node, NODE.size))
        if parent != above:
            raise Misshapen
        left_to_see += [(one, node) for one in (left, right) if one]
        most -= 1
        yield value



