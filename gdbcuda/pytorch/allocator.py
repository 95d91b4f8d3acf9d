"""What PyTorch's caching allocator holds, read from memory: its segments as its own snapshot has them.

Nothing is called in the process. What is read counts only where all of it agrees: the blocks with their neighbours and
pools, and their sums with the allocator's own counts. A stop may come while a thread changes them; where a call of CUDA
is made they agree.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

from gdbcuda.data_classes import dataclass
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.memory import Memory, string_at
from gdbcuda.pytorch.allocator_layouts import AllocatorLayout
from gdbcuda.pytorch.containers import Misshapen, hash_table, tree, vector, words
from gdbcuda.pytorch.segments import IN_TENSOR, INACTIVE, PENDING_FREE, TorchBlock, TorchSegment

OBJECT = "_ZN3c104cuda20CUDACachingAllocator9allocatorE"  # c10::cuda::CUDACachingAllocator::allocator, exported
TYPE = "N3c104cuda20CUDACachingAllocator6Native22NativeCachingAllocatorE"
ASYNC = "CudaMallocAsync"
MOST_DEVICES = 256
COUNTS = 40 + 96 * 2  # in a device's allocator, behind its mutex: Stat[3] each, of which the first is all in all
ACTIVE, ALLOCATED, RESERVED, ACTIVE_BYTES, REQUESTED = (COUNTS + 96 * n for n in (0, 2, 3, 4, 6))
BLOCK = struct.Struct("<QQQQBBxxxxxxQQ")  # size, requested, pool, address, allocated, mapped, previous, next
SIZE, EXPANDABLE = 48, 152
NOT_BEGUN = "it knows no GPU yet"
DOES_NOT_AGREE = "its books do not agree with themselves here"


class PoolBlock(NamedTuple):
    size: int
    asked: int
    pool: int
    address: int
    is_allocated: int
    is_mapped: int
    previous: int
    next: int
    device: int
    is_expandable: bool


@dataclass(frozen=True)
class Device:
    """``active``: blocks in tensors, and those that a stream still uses."""

    number: int
    small: frozenset[int]
    blocks: dict[int, PoolBlock]
    active: frozenset[int]

    def state(self, at: int) -> str:
        return IN_TENSOR if self.blocks[at].is_allocated else PENDING_FREE if at in self.active else INACTIVE

    def run(self, at: int) -> list[int]:
        """The blocks of the segment that begins with this one."""
        found = [at]
        while (following := self.blocks[found[-1]].next) in self.blocks:
            found.append(following)
            if len(found) > len(self.blocks):
                raise Misshapen
        return found

    def segment(self, heads: list[int]) -> TorchSegment:
        found = [self.blocks[at] for at in heads]
        parts = tuple(TorchBlock(one.address, one.size, one.asked, self.state(at))
                      for at, one in zip(heads, found))  # fmt: skip
        kind = "small" if found[0].pool in self.small else "large"
        return TorchSegment(self.number, found[0].address, sum(one.size for one in found), kind,
                            found[0].is_expandable, parts)  # fmt: skip


def segments(memory: Memory, pointer: int, layout: AllocatorLayout) -> list[TorchSegment]:
    """``pointer``: where `OBJECT` is. `UserError` where anything does not agree."""
    try:
        allocator = checked(memory, words(memory.read(pointer, 8))[0])
        devices = vector(memory, allocator + layout.devices)
        if not 0 < len(devices) <= MOST_DEVICES:
            raise Misshapen if devices else UserError(NOT_BEGUN)
        return [one for number, at in enumerate(devices) if at for one in of_device(memory, number, at, layout)]
    except (Unreadable, Misshapen):
        raise UserError(DOES_NOT_AGREE) from None


def checked(memory: Memory, allocator: int) -> int:
    """By the name of its type, which the virtual table leads to (Itanium C++ ABI)."""
    if not allocator:
        raise UserError(NOT_BEGUN)
    table = words(memory.read(allocator, 8))[0]
    kind = string_at(memory, words(memory.read(words(memory.read(table - 8, 8))[0] + 8, 8))[0])
    if ASYNC in kind:
        raise UserError("its backend here is cudaMallocAsync: the driver caches, PyTorch keeps no segments")
    if kind != TYPE:
        raise UserError("another allocator has its place here")
    return allocator


def of_device(memory: Memory, number: int, at: int, layout: AllocatorLayout) -> list[TorchSegment]:
    private = [words(one, 16)[0] + layout.private_large for one in hash_table(memory, at + layout.private, 24)]
    large = [at + layout.large, *private]
    small = [pool + layout.pool for pool in large]
    active = [words(one)[0] for one in hash_table(memory, at + layout.active, 8)]
    free = [block for pool in large + small for block in tree(memory, pool)]
    blocks = {block: read(memory, block, layout) for block in active + free}
    if len(blocks) < len(active) + len(free):
        raise Misshapen
    device = Device(number, frozenset(small), blocks, frozenset(active))
    check_blocks(memory, device, frozenset(large + small), layout)
    check_sums(memory, at, device, layout.counts)
    runs = [device.run(one) for one, block in blocks.items() if block.previous not in blocks]
    if sum(map(len, runs)) != len(blocks):
        raise Misshapen
    return [device.segment(run) for run in sorted(runs, key=lambda run: blocks[run[0]].address)]


def read(memory: Memory, at: int, layout: AllocatorLayout) -> PoolBlock:
    data = memory.read(at, EXPANDABLE + layout.shift + 8)
    expandable = words(data, EXPANDABLE + layout.shift)[0]
    size, asked, pool, address, allocated, mapped, previous, following = BLOCK.unpack_from(data, SIZE + layout.shift)
    return PoolBlock(size, asked, pool, address, allocated, mapped, previous, following, data[0], bool(expandable))


def check_blocks(memory: Memory, device: Device, pools: frozenset[int], layout: AllocatorLayout) -> None:
    """Each lies in a pool, and one behind the other; what is next to them and none of them is not mapped."""
    for at, one in device.blocks.items():
        if (one.pool not in pools or one.device != device.number or not one.size or not one.is_mapped
                or one.is_allocated not in (0, 1) or (one.is_allocated and at not in device.active)):  # fmt: skip
            raise Misshapen
        if one.next:
            other = device.blocks.get(one.next) or unmapped(memory, one.next, layout)
            if other.previous != at or other.address != one.address + one.size or other.pool != one.pool:
                raise Misshapen
        if one.previous and one.previous not in device.blocks and unmapped(memory, one.previous, layout).next != at:
            raise Misshapen


def unmapped(memory: Memory, at: int, layout: AllocatorLayout) -> PoolBlock:
    found = read(memory, at, layout)
    if found.is_mapped:
        raise Misshapen
    return found


def check_sums(memory: Memory, at: int, device: Device, counts: int) -> None:
    found = device.blocks.values()
    handed_out = [device.blocks[one] for one in device.active]
    for place, total in ((RESERVED, total_size(found)), (ACTIVE_BYTES + counts, total_size(handed_out)),
                         (ACTIVE, len(handed_out)), (REQUESTED + counts, sum(one.asked for one in handed_out)),
                         (ALLOCATED, total_size(one for one in found if one.is_allocated))):  # fmt: skip
        if words(memory.read(at + place, 8))[0] != total:
            raise Misshapen


def total_size(blocks: Iterable[PoolBlock]) -> int:
    return sum(one.size for one in blocks)
