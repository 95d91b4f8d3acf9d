"""What guards share with gdb: breakpoints that look on, and the user's locations, switched as if he had not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Callable

import gdb

from gdbcuda.live import breakpoints, confined, detour
from gdbcuda.live.breakpoints import by_number

switching: list[bool] = []  # what we switch is modified too
trash: list[gdb.Breakpoint] = []  # gdb may be walking its list: deleted at the next stop or prompt


class Watch(confined.Internal):
    """Internal, for it never stops: looks on."""

    def __init__(self, address: int, look: Callable[[], None]) -> None:
        super().__init__(address)
        self.look = look

    def stop(self) -> bool:
        self.look()
        return False

    def switch(self, on: bool) -> None:
        if self.is_valid() and self.enabled != on:
            self.enabled = on


@contextmanager
def quietly() -> Iterator[None]:
    switching.append(True)
    try:
        yield
    finally:
        switching.pop()


def switch_location(number: int, address: int, on: bool) -> None:
    breakpoint = by_number(number)
    if breakpoint is None:
        return
    for index, (found, enabled) in enumerate(places(breakpoint), 1):
        if found == address and enabled != on:
            breakpoints.switch(breakpoint, breakpoints.Location(index, found, enabled, ""), on)


def places(breakpoint: gdb.Breakpoint) -> list[tuple[int, bool]]:
    """(address, enabled) of each location."""
    if hasattr(breakpoint, "locations"):  # gdb 13
        return [(one.address or 0, one.enabled) for one in breakpoint.locations]
    if breakpoint.type != gdb.BP_BREAKPOINT:
        return []
    return [(one.address, one.enabled) for one in breakpoints.parse_locations(breakpoint.number)]


def sweep() -> None:
    detour.show_original_code(False)
    while trash:
        one = trash.pop()
        if one.is_valid():
            one.delete()
