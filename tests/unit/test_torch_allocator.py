"""PyTorch's caching allocator, read from memory: the segments that it has, and nothing where anything disagrees."""

from __future__ import annotations

import random

import pytest
from torch_allocator_image import BASE, FREE, NOT_MAPPED, TENSOR, WAITS, AllocatorImage, Made

from gdbcuda.errors import UserError
from gdbcuda.memory import DictMemory
from gdbcuda.pytorch import allocator, allocator_layouts
from gdbcuda.pytorch.segments import TorchSegment

MIB = 1 << 20
SEGMENTS = (
    Made(0x200000000000, [(512, 100, TENSOR), (2 * MIB - 512, 0, FREE)], is_small=True),
    Made(0x200010000000, [(5 * MIB, 5 * MIB - 3, TENSOR), (9 * MIB, 9 * MIB, WAITS), (6 * MIB, 0, FREE)]),
    Made(0x200020000000, [(60 * MIB, 7, FREE)]),
    Made(0x200030000000, [(20 * MIB, 20 * MIB, TENSOR), (2 * MIB, 0, FREE)], graph=7),
    Made(0x200040000000, [(2 * MIB, 0, FREE)], is_small=True, graph=9),
)
IN_PIECES = [(4 * MIB, 4 * MIB, TENSOR), (20 * MIB, 0, NOT_MAPPED), (2 * MIB, 0, FREE), (6 * MIB, 6 * MIB, TENSOR),
             (90 * MIB, 0, NOT_MAPPED)]  # fmt: skip
EXPANDABLE = Made(0x300000000000, IN_PIECES, is_expandable=True)


def read(image: AllocatorImage) -> list[TorchSegment]:
    return allocator.segments(DictMemory({BASE: bytes(image.data)}), BASE, image.layout)


def parts(segments: list[TorchSegment]) -> list[tuple[int, int, str, bool, list[tuple[int, int, int, str]]]]:
    return [(one.device, one.address, one.kind, one.is_expandable,
             [(b.address, b.size, b.asked, b.state) for b in one.blocks]) for one in segments]  # fmt: skip


def expected(device: int, made: Made, first: int = 0, end: int | None = None) -> tuple[object, ...]:
    at, found = made.address, []
    for size, asked, state in made.blocks:
        found.append((at, size, asked, state))
        at += size
    blocks = found[first:end]
    return device, blocks[0][0], "small" if made.is_small else "large", made.is_expandable, blocks


@pytest.mark.parametrize("version", allocator_layouts.KNOWN)
def test_all_segments_of_each_version(version: tuple[int, int]) -> None:
    image = AllocatorImage(allocator_layouts.KNOWN[version]).fill(SEGMENTS, [], [EXPANDABLE])
    assert parts(read(image)) == [
        *(expected(0, one) for one in SEGMENTS),
        expected(2, EXPANDABLE, 0, 1),
        expected(2, EXPANDABLE, 2, 4),
    ]


def test_a_program_that_has_no_tensor() -> None:
    assert read(AllocatorImage(allocator_layouts.KNOWN[2, 6]).fill([])) == []


def block(image: AllocatorImage, made: Made, number: int) -> int:
    return image.places[f"block {made.address:#x} {number}"] + image.layout.shift


@pytest.mark.parametrize(
    ("field", "value"),
    [(48, 4 * MIB), (56, 1), (64, BASE + 640), (72, 0x200010000200), (80, 0x100), (80, 0x102), (80, 1), (88, 8),
     (96, 0), (-8, 3)],
)  # fmt: skip
def test_a_block_that_disagrees(field: int, value: int) -> None:
    """Its size, what was asked for, its pool, its address, its flags, its neighbours, its device."""
    image = AllocatorImage(allocator_layouts.KNOWN[2, 11]).fill(SEGMENTS)
    image.put(block(image, SEGMENTS[1], 0) + field, value)
    with pytest.raises(UserError, match="do not agree"):
        read(image)


@pytest.mark.parametrize("count", [232, 424, 520, 616, 808])
def test_a_count_that_disagrees(count: int) -> None:
    image = AllocatorImage(allocator_layouts.KNOWN[2, 6]).fill(SEGMENTS)
    at = image.places["device 0"] + count
    image.put(at, image.get(at) + 512)
    with pytest.raises(UserError, match="do not agree"):
        read(image)


def test_the_layout_of_another_version() -> None:
    """Each is refused by what is read, but for those that are the same."""
    for version, layout in allocator_layouts.KNOWN.items():
        for other in {one for one in allocator_layouts.KNOWN.values() if one != layout}:
            image = AllocatorImage(layout).fill(SEGMENTS)
            image.layout = other
            with pytest.raises(UserError):
                pytest.fail(f"{version} as {other}: {read(image)}")


def test_whatever_lies_there() -> None:
    """Random words in the place of any: refused, or read to an end."""
    dice = random.Random(18)
    made = bytes(AllocatorImage(allocator_layouts.KNOWN[2, 15]).fill(SEGMENTS, [EXPANDABLE]).data)
    image = AllocatorImage(allocator_layouts.KNOWN[2, 15])
    words = [at for at in range(0, len(made), 8) if any(made[at : at + 8])]
    for _ in range(300):
        image.data = bytearray(made)
        for _ in range(dice.choice((1, 1, 3))):
            value = dice.choice((0, 1, BASE + 8 * dice.randrange(4096), dice.getrandbits(64), (1 << 64) - 1))
            image.put(BASE + dice.choice(words), value)
        try:
            read(image)
        except UserError:
            continue


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("N3c104cuda20CUDACachingAllocator15CudaMallocAsync24CudaMallocAsyncAllocatorE", "the driver caches"),
        ("N2my9AllocatorE", "another allocator"),
    ],
)
def test_another_allocator(kind: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        read(AllocatorImage(allocator_layouts.KNOWN[2, 6], kind).fill(SEGMENTS))


def test_before_it_is_used() -> None:
    with pytest.raises(UserError, match="knows no GPU yet"):
        allocator.segments(DictMemory({BASE: bytes(8)}), BASE, allocator_layouts.KNOWN[2, 6])
    with pytest.raises(UserError, match="knows no GPU yet"):
        read(AllocatorImage(allocator_layouts.KNOWN[2, 6]).fill())


@pytest.mark.parametrize(
    ("text", "name", "known"),
    [
        ("__version__ = '2.6.0+cu124'\ndebug = False\n", "2.6.0+cu124", (2, 6)),
        ("from typing import Optional\n\n__version__ = \"2.15.0\"\n", "2.15.0", (2, 15)),
        ("__version__ = '2.6.0a0+ecf3bae40a.nv25.1'\n", "2.6.0a0+ecf3bae40a.nv25.1", None),
        ("__version__ = '2.12.0.dev20260401+cu130'\n", "2.12.0.dev20260401+cu130", None),
        ("__version__ = '2.13.0'\n", "2.13.0", None),
        ("__version__ = '1.13.1'\n", "1.13.1", None),
        ("version = 3\n", "", None),
    ],
)  # fmt: skip
def test_the_version(text: str, name: str, known: tuple[int, int] | None) -> None:
    assert allocator_layouts.version_in(text) == (name, allocator_layouts.KNOWN[known] if known else None)


def test_their_names() -> None:
    assert allocator_layouts.names() == "2.3 to 2.12, 2.14 to 2.15"
