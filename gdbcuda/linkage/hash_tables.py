"""The hash tables by which a loaded object's symbols are found, read as the loader reads them.

(System V gABI, chapter 5 "Hash Table"; GNU hash sections: a filter of bits, buckets, and a chain of hashes for each.)
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cached_property, lru_cache

from gdbcuda.memory import Memory

LONGEST_CHAIN = 10_000
ASKED_AGAIN = 1 << 14  # names: of each large object the same are


class HashTable:
    def __init__(self, memory: Memory, address: int) -> None:
        self.memory, self.address = memory, address

    def words(self, address: int, count: int) -> tuple[int, ...]:
        return struct.unpack(f"<{count}I", self.memory.read(address, 4 * count))

    def indices(self, name: str) -> Iterator[int]:
        """Of the dynamic symbols that may have the name."""
        raise NotImplementedError


class GnuTable(HashTable):
    @cached_property
    def header(self) -> tuple[int, ...]:
        """Buckets, the first symbol in them, words of the filter, and the shift that makes its second bit of a hash."""
        return self.words(self.address, 4)

    def may_have(self, value: int) -> bool:
        """By the filter: nearly none of the names that the object has not."""
        _, _, size, shift = self.header
        raw = self.memory.read(self.address + 16 + 8 * (value // 64 % size), 8) if size else b"\xff" * 8
        bits = int.from_bytes(raw, "little")
        return bool(bits >> value % 64 & bits >> (value >> shift) % 64 & 1)

    def indices(self, name: str) -> Iterator[int]:
        buckets, offset, size, _ = self.header
        wanted = gnu_hash(name)
        if not buckets or not self.may_have(wanted):
            return
        first_bucket = self.address + 16 + 8 * size
        index = self.words(first_bucket + 4 * (wanted % buckets), 1)[0]
        for _ in range(LONGEST_CHAIN if index >= offset else 0):
            value = self.words(first_bucket + 4 * (buckets + index - offset), 1)[0]
            if value | 1 == wanted | 1:
                yield index
            if value & 1:
                return
            index += 1


class SysvTable(HashTable):
    def indices(self, name: str) -> Iterator[int]:
        buckets, chains = self.words(self.address, 2) if self.address else (0, 0)
        index = self.words(self.address + 8 + 4 * (sysv_hash(name) % buckets), 1)[0] if buckets else 0
        for _ in range(min(chains, LONGEST_CHAIN)):
            if not index:
                return
            yield index
            index = self.words(self.address + 8 + 4 * (buckets + index), 1)[0]


@lru_cache(maxsize=ASKED_AGAIN)
def gnu_hash(name: str) -> int:
    value = 5381
    for byte in name.encode():
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


def sysv_hash(name: str) -> int:
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ high >> 24) & ~high & 0xFFFFFFFF
    return value
