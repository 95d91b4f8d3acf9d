"""What guards share with gdb: breakpoints that look on, and the user's locations, switched as if he had not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Callable

import gdb

from gdbcuda.live import breakpoints, children, confined, gdb_cli, target

switching: list[bool] = []  # what we switch is modified too
_left_to_children: dict[int, bytes] = {}
trash: list[gdb.Breakpoint] = []  # gdb may be walking its list: deleted at the next stop or prompt


class Watch(confined.Internal):
    """Internal, for it never stops: looks on."""

    sees_all_calls = False

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


def switch_locations(numbers: Iterable[int], address: int, on: bool) -> None:
    """Those of the user's breakpoints that are there, as if he had not. Before gdb 13 the breakpoint has no other."""
    with quietly():
        for one in filter(None, map(breakpoints.by_number, numbers)):
            if not breakpoints.LISTS_LOCATIONS:
                if one.enabled != on:
                    one.enabled = on
                continue
            for index, (found, enabled) in enumerate(places(one), 1):
                if found == address and enabled != on:
                    breakpoints.switch(one, breakpoints.Location(index, found, enabled, ""), on)


def places(breakpoint: gdb.Breakpoint) -> list[tuple[int, bool]]:
    """(address, enabled) of each location."""
    if breakpoints.LISTS_LOCATIONS:
        return [(one.address or 0, one.enabled) for one in breakpoint.locations]
    if breakpoint.type != gdb.BP_BREAKPOINT:
        return []
    if not are_places_known():
        return [(address, breakpoint.enabled) for address in decoded(breakpoint.location or "")]
    return [(one.address, one.enabled) for one in breakpoints.parse_locations(breakpoint.number)]


def are_places_known() -> bool:
    """Which of a breakpoint's locations are on only a command tells before gdb 13."""
    return breakpoints.LISTS_LOCATIONS or gdb_cli.is_possible()


def decoded(location: str) -> list[int]:
    """The addresses of what follows ``break``; [] where that is not known yet."""
    try:
        return [one.pc for one in gdb.decode_line(location)[1] or ()]
    except gdb.error:
        return []


def leave_to_children(own: dict[int, bytes]) -> None:
    """What a child has to find that was made while our bytes were there, and that gdb will not put back any more."""
    _left_to_children.update(own)


def sweep() -> None:
    """Where all threads stand still."""
    if _left_to_children:
        children.in_each(put_back)
        _left_to_children.clear()
    while trash:
        one = trash.pop()
        if one.is_valid():
            one.delete()


def put_back(memory: target.RawMemory) -> None:
    for address, own in _left_to_children.items():
        memory.write(address, own)
