"""Where there is room for trampolines."""

from __future__ import annotations

import pytest

from gdbcuda.machine.free_ranges import HEAP_ROOM, between, fit, gaps

START, END = 0x1008, 0x1100


@pytest.mark.parametrize(
    ("size", "taken", "found"),
    [
        (16, {}, 0x1010),
        (0xF0, {}, 0x1010),
        (0xF1, {}, None),
        (16, {0x1010: 1}, 0x1020),
        (16, {0x1020: 32}, 0x1010),
        (17, {0x1020: 32}, 0x1040),  # not in front of it
        (16, {0x1000: 0x20}, 0x1020),  # begins in front of the range
        (16, {0x1010: 0x10, 0x1030: 0x10}, 0x1020),  # what was given back is taken again
        (16, {0x1010: 0xE8}, None),
        (16, {0x2000: 0x10, 0x800: 0x10}, 0x1010),  # elsewhere
    ],
)
def test_fit(size: int, taken: dict[int, int], found: int | None) -> None:
    assert fit(START, END, size, taken) == found


def test_gaps_are_in_front_of_segments_and_the_nearest_comes_first() -> None:
    segments = [(0x40000, 0x50000), (0x50800, 0x60000), (0x90000, 0xA0000), (0x9000000, 0x9001000)]
    assert gaps(segments, 0x1000, 0x95000, 0x100000) == [0x8F000, 0x3F000]


def test_a_gap_that_fits_exactly_fits() -> None:
    assert gaps([(0x1000, 0x2000), (0x3000, 0x4000)], 0x1000, 0x3000, 0x100000) == [0x2000]
    assert gaps([(0x1000, 0x2000), (0x3000, 0x4000)], 0x1001, 0x3000, 0x100000) == []


def test_there_is_nothing_below_zero() -> None:
    assert gaps([(0x800, 0x2000)], 0x1000, 0x1000, 0x100000) == []


M = 1 << 20


@pytest.mark.parametrize(
    ("mapped", "found"),
    [
        ([(2 * M, 3 * M, "a")], [M + 4096, 2 * M - 8192]),
        ([(M, 2 * M, "a"), (3 * M, 4 * M, "b")], [2 * M + 4096, 3 * M - 8192]),
        ([(3 * M, 4 * M, "b"), (M, 2 * M, "a")], [2 * M + 4096, 3 * M - 8192]),
        ([(M, 2 * M, "a"), (2 * M + 3 * 4096, 3 * M, "b")], [2 * M + 4096]),
        ([(M, 2 * M, "a"), (2 * M + 2 * 4096, 3 * M, "b")], []),
        ([(M, 2 * M, "[heap]"), (3 * M, 4 * M, "b")], []),
        ([(M, 2 * M, "[heap]"), (2 * M + HEAP_ROOM, 4 * M + HEAP_ROOM, "b")], []),
        ([(M, 2 * M, "[heap]"), (3 * M + HEAP_ROOM, 4 * M + HEAP_ROOM, "b")], [3 * M + HEAP_ROOM - 8192]),
        ([(M, 2 * M, "a"), (64 * M, 65 * M, "[stack]")], [2 * M + 4096]),
        ([(M, 2 * M, "a"), (26 * M, 65 * M, "[stack]")], []),
    ],
)
def test_between_what_is_mapped(mapped: list[tuple[int, int, str]], found: list[int]) -> None:
    assert list(between(mapped, 4096, 8 * M)) == found


def test_a_stack_without_a_limit_may_grow_anywhere() -> None:
    assert list(between([(M, 2 * M, "a"), (64 * M, 65 * M, "[stack]")], 4096, None)) == []
