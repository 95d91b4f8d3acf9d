"""Functions that are recorded and guarded: their guards lead to the recorder, and its entries ask what guards ask."""

from __future__ import annotations

from collections.abc import Container

from gdbcuda.condition import Condition
from gdbcuda.live.guarding import by_process, making
from gdbcuda.live.guarding.filters import breakpoint_filters
from gdbcuda.live.host import lazily
from gdbcuda.live.layers import table_version
from gdbcuda.live.recording.base.planting import PlantingSpot
from gdbcuda.machine import abi, trampoline


def make_again(recorded: Container[int]) -> None:
    """The guards that are there already, where these functions are recorded now."""
    if not lazily.is_loaded("gdbcuda.live.guarding.guards"):
        return
    for guard in list(by_process.PROCESSES().guards.values()):
        if guard.function in recorded and not guard.trampoline.is_recorded:
            by_process.look_again(guard.members)
            making.remove(guard)


def tests(condition: Condition | None, spot: PlantingSpot) -> list[trampoline.Test]:
    """What the process asks of each call before it notes it."""
    if condition is None:
        return []
    function = table_version.function(spot.symbol)
    assert function is not None, "a condition is on functions of a table"
    places = abi.locate(function, breakpoint_filters.MACHINE)
    return [breakpoint_filters.tree_term(0, condition.trees[spot.symbol], places)()]
