"""The recorded calls of one thread: which are around a time, and which are inside of it."""

from __future__ import annotations

import bisect
from collections.abc import Iterable

from gdbcuda.gpu.joined_calls import JoinedCall

MOST_INSIDE = 64  # calls in front of one that may have it inside
NEAR = 2e-6  # seconds: as far as a call of the same name may be the same call
SLACK = 300e-9  # seconds: what the clock of the processor and that of CUPTI may be apart


class CallsAround:
    def __init__(self, calls: Iterable[JoinedCall] = ()) -> None:
        self.calls = sorted(calls, key=lambda call: (call.start, call.depth))
        self.starts = [call.start for call in self.calls]

    def called(self, name: str, start: float) -> JoinedCall | None:
        """Of that name, and nearest. Short calls follow each other more closely than the two clocks agree."""
        low, high = bisect.bisect_left(self.starts, start - NEAR), bisect.bisect_right(self.starts, start + NEAR)
        some = (call for call in self.calls[low:high] if call.name == name)
        return min(some, key=lambda call: abs(call.start - start), default=None)

    def around(self, start: float, end: float) -> JoinedCall | None:
        """The innermost."""
        behind = bisect.bisect_right(self.starts, start + SLACK)
        for call in reversed(self.calls[max(behind - MOST_INSIDE, 0) : behind]):
            if call.end is None or call.end >= end - SLACK:
                return call
        return None

    def inside(self, start: float, end: float) -> list[JoinedCall]:
        some = self.calls[bisect.bisect_left(self.starts, start - SLACK) : bisect.bisect_right(self.starts, end)]
        return [call for call in some if is_inside(call, start, end)]

    def fitted(self, start: float, end: float) -> tuple[float, float]:
        """The times of a call that CUPTI has seen, moved so that it crosses none: its clock is some hundred nanoseconds
        off the processor's, and what overlaps without being inside cannot be drawn in one lane."""
        first, last = start, end
        low = max(bisect.bisect_left(self.starts, start) - MOST_INSIDE, 0)
        for call in self.calls[low : bisect.bisect_right(self.starts, end)]:
            if is_inside(call, start, end):
                first, last = min(first, call.start), max(last, call.last_seen)
            elif call.start < start < call.last_seen < end:
                first = max(first, call.last_seen)
            elif start < call.start < end < call.last_seen:
                last = min(last, call.start)
        return first, last


def is_inside(call: JoinedCall, start: float, end: float) -> bool:
    """By its middle."""
    return start <= (call.start + call.last_seen) / 2 <= end
