"""Calls that work on a GPU comes from, of a log of millions: as columns of numbers."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from gdbcuda.calls.record import Call

NOBODY = -1
LARGEST = 1 << 62
HOOK, DRIVER = "hook", "driver"


class CausingCall(NamedTuple):
    """Times in seconds. ``asked``: when the outermost call around it began; ``driver``: when the driver was called."""

    name: str
    start: float
    end: float
    asked: float
    driver: float | None
    has_hook: bool


class CausingCalls:
    """Those of functions that make work, and are over."""

    def __init__(self) -> None:
        self.names: dict[tuple[str, str], int] = {}  # and layers
        self.shown: list[str] = []  # the names alone
        self.numbers, self.parents = array("q"), array("q")
        self.starts, self.ends = array("d"), array("d")
        self.of_name = array("I")
        self.asked, self.driver, self.hook_around, self.hook_below = array("d"), array("d"), bytearray(), bytearray()

    def add(self, call: Call) -> None:
        if not 0 <= call.number < LARGEST:
            return
        self.numbers.append(call.number)
        self.parents.append(call.parent if call.parent is not None and 0 <= call.parent < LARGEST else NOBODY)
        self.starts.append(call.start)
        self.ends.append(call.last_seen)
        self.of_name.append(self.names.setdefault((call.name, call.layer), len(self.names)))

    def close(self) -> None:
        """No more of them come."""
        order = in_order_of(self.numbers)
        for name in ("parents", "starts", "ends", "of_name", "numbers"):
            column = getattr(self, name)
            setattr(self, name, array(column.typecode, map(column.__getitem__, order)))
        self.parents = array("q", map(self.find, self.parents))
        self.asked, self.driver = array("d", self.starts), array("d", [math.inf]) * len(order)
        self.shown, layers = [name for name, _ in self.names], [layer for _, layer in self.names]
        self.hook_around = bytearray(layers[one] == HOOK for one in self.of_name)
        self.hook_below = bytearray(self.hook_around)
        self.look_outwards()
        self.look_inwards([layer == DRIVER for layer in layers])

    def look_outwards(self) -> None:
        """A call has a higher number than the one that it is in."""
        for at, around in enumerate(self.parents):
            if 0 <= around < at:
                self.asked[at] = self.asked[around]
                self.hook_around[at] |= self.hook_around[around]

    def look_inwards(self, is_driver: Sequence[bool]) -> None:
        for at in range(len(self.parents) - 1, -1, -1):
            if is_driver[self.of_name[at]]:
                self.driver[at] = min(self.driver[at], self.starts[at])
            around = self.parents[at]
            if 0 <= around < at:
                self.driver[around] = min(self.driver[around], self.driver[at])
                self.hook_below[around] |= self.hook_below[at]

    def find(self, number: int) -> int:
        """Where the call of that number is; NOBODY where there is none."""
        at = bisect_right(self.numbers, number) - 1 if number != NOBODY else NOBODY
        return at if at >= 0 and self.numbers[at] == number else NOBODY

    def __getitem__(self, at: int) -> CausingCall:
        driver = self.driver[at]
        return CausingCall(self.shown[self.of_name[at]], self.starts[at], self.ends[at], self.asked[at],
                           None if driver == math.inf else driver,
                           bool(self.hook_around[at] or self.hook_below[at]))  # fmt: skip


def in_order_of(column: array[int] | array[float]) -> array[int]:
    """Where the values are, from the least on."""
    return array("q", sorted(range(len(column)), key=column.__getitem__))
