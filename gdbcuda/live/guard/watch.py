"""What guards share with gdb: breakpoints that look on, and the user's locations, switched as if he had not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Callable

import gdb

from gdbcuda.live import breakpoints, process
from gdbcuda.live.breakpoints import locations
from gdbcuda.live.placing import own_process
from gdbcuda.live.threads import arrivals, children

switching: list[bool] = []  # what we switch is modified too
_left_to_children: dict[int, bytes] = {}
mending: list[Callable[[], None]] = []  # of guards that have gone, until their breakpoints have
trash: list[gdb.Breakpoint] = []  # gdb may be walking its list: deleted at the next stop or prompt


class Watch(own_process.Internal):
    """Internal, for it never stops: looks on."""

    sees_all_calls = False

    def __init__(self, address: int, look: Callable[[], None]) -> None:
        super().__init__(address)
        self.look = look

    def stop(self) -> bool:
        self.look()
        return False

    def switch(self, on: bool) -> None:
        """(Not off where gdb's own would be alone then, which goes while threads run: the child of a fork would keep
        it. Whoever comes there next is asked again.)"""
        if self.is_valid() and self.enabled != on and (on or not self.is_shared()):
            self.enabled = on

    def is_shared(self) -> bool:
        """(Where gdb cannot say, only one that threads may have come to since it is there.)"""
        return children.is_looking() and arrivals.is_resumed_at(self.address, unknown=not own_process.is_new(self))


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
            if not locations.LISTS:
                if one.enabled != on:
                    one.enabled = on
                continue
            for index, (found, enabled) in enumerate(locations.places(one), 1):
                if found == address and enabled != on:
                    breakpoints.switch(one, locations.Location(index, found, enabled, ""), on)


def leave_to_children(own: dict[int, bytes]) -> None:
    """What a child has to find that was made while our bytes were there, and that gdb will not put back any more."""
    _left_to_children.update(own)


def sweep() -> None:
    """Where all threads stand still."""
    if _left_to_children:
        children.in_each(put_back)
        _left_to_children.clear()
    mending.clear()
    while trash:
        one = trash.pop()
        if one.is_valid():
            one.delete()


def put_back(memory: process.RawMemory) -> None:
    for address, own in _left_to_children.items():
        memory.write(address, own)
