"""Where there is room for trampolines: between what is taken already, and between segments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gdbcuda.memory import PAGE

ALIGN = 16
LOWEST = 1 << 20  # nothing is put below
HEAP_ROOM = 1 << 36  # bytes that stay free above the heap
STACK_ROOM = 1 << 24  # bytes that stay free below a stack that has grown to its limit
Range = tuple[int, int]  # addresses, the second one is behind the end


def fit(start: int, end: int, size: int, taken: Mapping[int, int]) -> int | None:
    """The first address in the range with so many bytes that nothing has taken (address -> size)."""
    at = aligned(start)
    for address, length in sorted(one for one in taken.items() if start - one[1] < one[0] < end):
        if address + length > at:
            if address - at >= size:
                break
            at = aligned(address + length)
    return at if end - at >= size else None


def aligned(address: int) -> int:
    return -(-address // ALIGN) * ALIGN


def gaps(segments: Iterable[Range], size: int, near: int, reach: int) -> list[int]:
    """Addresses in front of segments where so many bytes do not run into the next one below, the nearest first."""
    found, below = [], 0
    for start, end in sorted(segments):
        if start - below >= size and abs(start - size - near) < reach and start > size:
            found.append(start - size)
        below = max(below, end)
    return sorted(found, key=lambda address: abs(address - near))


def between(mapped: Iterable[tuple[int, int, str]], size: int, stack_limit: int | None) -> Iterator[int]:
    """Both ends of each gap between what is mapped (start, end, name), a page away from that. The heap grows up and the
    stack down, so far as ``stack_limit``, None for any: there they find nothing. What is mapped last is as a rule at
    the upper end of the heap's gap. (proc(5): /proc/PID/maps)"""
    below, name_below = LOWEST, ""
    for start, end, name in sorted(mapped):
        low, high = below + PAGE, start - size - PAGE
        keeps = start if name != "[stack]" else 0 if stack_limit is None else start - stack_limit - STACK_ROOM
        low += HEAP_ROOM if name_below == "[heap]" else 0
        ends = (high,) if name_below == "[heap]" else dict.fromkeys((low, high))
        yield from (at for at in ends if low <= at <= high and at + size < keeps)
        below, name_below = max(below, end), name
