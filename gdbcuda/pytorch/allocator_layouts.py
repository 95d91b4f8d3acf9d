"""Where PyTorch's caching allocator keeps its blocks: byte offsets into its structs, by version.

The structs are private to c10/cuda/CUDACachingAllocator.cpp, which publishes none of it. Each row was found in
processes with libc10_cuda.so of that version's wheel (x86-64), and what is read by it is what the allocator's own
snapshot said there. There is none for versions that were not looked at, nor for pre-releases.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class AllocatorLayout(NamedTuple):
    """``devices``: in the NativeCachingAllocator its vector of allocators, one a GPU. Of such a one ``large`` and
    behind it the small BlockPool, of ``pool`` bytes; ``active``: the set of the blocks that are handed out;
    ``private``: the map of the pools of CUDA graphs, each with ``private_large`` as above. ``shift``: bytes that
    a Block has before its size and that 2.6 did not have; ``counts``: the same between the allocator's count of bytes
    reserved and those behind it."""

    devices: int
    large: int
    pool: int
    active: int
    private: int
    private_large: int
    shift: int = 0
    counts: int = 0


KNOWN = {
    (2, 3): AllocatorLayout(22512, 1016, 120, 1256, 1480, 8),
    (2, 4): AllocatorLayout(22512, 1016, 120, 1256, 1480, 8),
    (2, 5): AllocatorLayout(22584, 1016, 120, 1256, 1520, 8),
    (2, 6): AllocatorLayout(22584, 1016, 120, 1256, 1520, 8),
    (2, 7): AllocatorLayout(22584, 1016, 120, 1256, 1520, 8),
    (2, 8): AllocatorLayout(22584, 1016, 120, 1256, 1552, 32),
    (2, 9): AllocatorLayout(22584, 1016, 120, 1256, 1560, 32),
    (2, 10): AllocatorLayout(22584, 1024, 120, 1264, 2704, 32),
    (2, 11): AllocatorLayout(22584, 1024, 120, 1264, 2736, 40, 8),
    (2, 12): AllocatorLayout(22584, 1032, 120, 1272, 2744, 40, 8),
    (2, 14): AllocatorLayout(22584, 1064, 168, 1400, 2880, 40, 8, 32),
    (2, 15): AllocatorLayout(22584, 1064, 168, 1400, 2880, 40, 8, 32),
}
RELEASE = re.compile(r"""^__version__ = ['"]((\d+)\.(\d+)(?:\.\d+)*)(\S*)['"]$""", re.M)


def version_in(text: str) -> tuple[str, AllocatorLayout | None]:
    """Of torch/version.py: the version's name, "" where it has none, and its layout."""
    found = RELEASE.search(text)
    if found is None:
        return "", None
    is_release = found[4][:1] in ("", "+")
    return found[1] + found[4], KNOWN.get((int(found[2]), int(found[3]))) if is_release else None


def names() -> str:
    """Of those that are known, neighbours as one: "2.3 to 2.12, 2.14"."""
    runs: list[list[int]] = []
    for _, minor in sorted(KNOWN):
        if runs and runs[-1][-1] == minor - 1:
            runs[-1].append(minor)
        else:
            runs.append([minor])
    return ", ".join(f"2.{one[0]} to 2.{one[-1]}" if len(one) > 1 else f"2.{one[0]}" for one in runs)
