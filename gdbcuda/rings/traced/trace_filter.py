"""What `gdbcuda trace --filter` was told, asked again of calls whose process could not ask."""

from __future__ import annotations

from contextlib import suppress

from gdbcuda import api, condition
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.rings import ring_functions
from gdbcuda.rings.ring import Record
from gdbcuda.rings.ring_functions import RecordedFunction


def memory_names(table: api.Table) -> set[str]:
    """Base names of what hands out memory and takes it back. The ledger has to know where some of their calls are
    left out."""
    allocators = table.of_role("alloc")
    return {name for one in allocators for name in (one.base, *one.released_by)}


class TraceFilter:
    """``undecided``: calls that are there although nobody knows whether they are wanted."""

    def __init__(self, text: str, table: api.Table) -> None:
        self.text, self.table = text, table
        self.undecided = 0
        self.bound: dict[str, condition.Condition | None] = {}

    def wants(self, known: RecordedFunction, one: Record) -> bool:
        asked = self.bind(known.function)
        if asked is None:
            return False
        try:
            arguments, given = ring_functions.arguments(known.function, one), ring_functions.given(known, one)
            return asked.holds(known.function, arguments, given)
        except Unreadable:
            self.undecided += 1
            return True

    def bind(self, function: api.Function) -> condition.Condition | None:
        """None where it makes no sense for the function."""
        if function.symbol not in self.bound:
            self.bound[function.symbol] = None
            with suppress(UserError):
                self.bound[function.symbol] = condition.parse(self.text, self.table, [function])
        return self.bound[function.symbol]
