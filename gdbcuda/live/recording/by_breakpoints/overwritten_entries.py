"""Functions whose entry a hook library has overwritten with a jump: their own code is there still, and whoever has done
that may call it. What is at the entry is not ours to write over; the recorder is behind the jump."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import gdb

from gdbcuda import api
from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.breaking.answering_stops import bytes_kept
from gdbcuda.live.layers import table_version
from gdbcuda.live.placing import link
from gdbcuda.live.recording.base import planting
from gdbcuda.live.recording.base.footprint import RecordWish
from gdbcuda.live.recording.base.log_notes import objects_with
from gdbcuda.machine import behind_jump
from gdbcuda.routes.answering import Answering


class BehindPlace(NamedTuple):
    spot: planting.PlantingSpot
    function: api.Function
    way: behind_jump.Behind

    @property
    def address(self) -> int:
        return self.spot.address + self.way.offset


def leave(entry: int, ours: gdb.Breakpoint | None) -> None:
    """The recorder's breakpoint at such an entry."""
    if ours is not None and ours.enabled:
        with bytes_kept(entry):
            ours.enabled = False


def places(answer: Answering, wish: RecordWish) -> Iterator[BehindPlace]:
    """At most one; none where it is not known, or not wanted."""
    entry, function = answer.entry, table_version.function(answer.function)
    found = way(entry) if entry and function is not None and answer.function in wish.functions else None
    for one in objects_with(entry) if found is not None else ():
        for spot in planting.spots(one, {answer.function}, wish.places):
            if spot.address == entry and function is not None and found is not None:
                yield BehindPlace(spot, function, found)


def way(entry: int) -> behind_jump.Behind | None:
    own = link.code_in_file(entry, behind_jump.NEEDED) if process.machine() == "x86-64" else b""
    with link.as_it_is():
        try:
            memory = process.raw_memory() or process.InferiorMemory()
            return behind_jump.place(own, memory.read(entry, behind_jump.LONGEST)) if own else None
        except (Unreadable, gdb.error):
            return None
