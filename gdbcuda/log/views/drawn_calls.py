"""Which calls of a log the report draws: of a very long one not all."""

from __future__ import annotations

from typing import Any

from gdbcuda.calls.record import Call

SPREAD, GOLDEN = 1 << 32, 0x9E3779B1  # Fibonacci hashing: lots that no rhythm of the program is in step with
Row = list[Any]


class DrawnCalls:
    """Calls to draw, spread over the whole log: every outermost call with what is inside it; when these get too many
    half of them, and so on. Those that failed are always among them, up to a number."""

    def __init__(self, most: int) -> None:
        self.most, self.roots, self.part = most, 0, SPREAD
        self.rows: list[tuple[int, Row]] = []  # with the lot of the outermost call
        self.failed: list[Row] = []
        self._lot: dict[int, int] = {}  # of open calls

    def begin(self, call: Call) -> None:
        inside = self._lot.get(call.parent) if call.parent is not None else None
        self._lot[call.number] = self.roots * GOLDEN % SPREAD if inside is None else inside
        self.roots += inside is None

    def wants(self, call: Call) -> bool:
        return self._lot.get(call.number, 0) < self.part

    def end(self, call: Call, row: Row | None) -> None:
        lot = self._lot.pop(call.number, 0)
        if row is None:
            return
        if lot < self.part:
            self.rows.append((lot, row))
        elif len(self.failed) < self.most:
            self.failed.append(row)
        while len(self.rows) > self.most and self.part > 1:
            self.part //= 2
            self.rows = [one for one in self.rows if one[0] < self.part]

    def all(self) -> list[Row]:
        return [*(row for _, row in self.rows), *self.failed]
