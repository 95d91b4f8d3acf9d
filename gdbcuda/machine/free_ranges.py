"""Where there is room for trampolines: between what is taken already, and between segments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

ALIGN = 16
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
