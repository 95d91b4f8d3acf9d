"""CUPTI's clock and CLOCK_MONOTONIC: what the one was when the other was that, and how far this may be wrong."""

from __future__ import annotations

import bisect
from collections.abc import Iterable

from gdbcuda.gpu.gpu_file import ClockLook

LONGEST_LOOK = 1_000_000  # nanoseconds: one that was interrupted says nothing
LARGEST_STEP = 10_000_000  # nanoseconds from look to look: somebody has set another clock
LATEST = 3600 * 10**9  # nanoseconds from the last look


class GpuClock:
    """``uncertainty``: nanoseconds that a time may be off, by how long the looks took, and how the clocks drift apart
    between them. What CUPTI makes of the GPU's own counter is its own affair, and is not in it."""

    def __init__(self, looks: Iterable[ClockLook]) -> None:
        found = {one.gpu: one for one in looks if 0 <= one.after - one.before <= LONGEST_LOOK}
        self.points, self.strange = of_one_clock(sorted(found.values(), key=lambda one: one.before))
        self.times = [one.gpu for one in self.points]
        self.offsets = [offset(one) for one in self.points]  # a float has not the digits

    @property
    def is_known(self) -> bool:
        return bool(self.points)

    @property
    def uncertainty(self) -> float:
        halves = [(one.after - one.before) / 2 for one in self.points]
        drifts = [abs(later - earlier) / 2 for earlier, later in zip(self.offsets, self.offsets[1:])]
        return max(halves, default=0.0) + max(drifts, default=0.0)

    def knows(self, gpu: int) -> bool:
        """Not where another clock was set meanwhile."""
        if not self.strange:
            return True
        return self.times[0] - LATEST <= gpu <= self.times[-1] + LATEST

    def monotonic(self, gpu: int) -> int:
        """Nanoseconds: between two looks the line from one to the other."""
        if not self.points:
            return gpu
        at = bisect.bisect_right(self.times, gpu)
        if at in (0, len(self.times)):
            return gpu + self.offsets[min(at, len(self.times) - 1)]
        earlier, later = self.times[at - 1], self.times[at]
        part = (gpu - earlier) / (later - earlier)
        return gpu + self.offsets[at - 1] + round(part * (self.offsets[at] - self.offsets[at - 1]))


def of_one_clock(looks: list[ClockLook]) -> tuple[list[ClockLook], int]:
    """Those at the clock that the first is at, and how many are at another."""
    found = looks[:1]
    for one in looks[1:]:
        if abs(offset(one) - offset(found[-1])) <= LARGEST_STEP and one.gpu > found[-1].gpu:
            found.append(one)
    return found, len(looks) - len(found)


def offset(one: ClockLook) -> int:
    return (one.before + one.after) // 2 - one.gpu
