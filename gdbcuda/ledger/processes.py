"""A ledger for each process of a log: the same address is another block in each of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gdbcuda import api
from gdbcuda.calls.reader import BEGIN, Event
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import Process, References
from gdbcuda.ledger.book import Ledger

Key = tuple[Process, int]  # which program of the process: after an exec nothing of the one before is left


class Ledgers:
    """A sink. With ``keep_all`` False each inferior has only that of its last program, for one runs it often.

    ``notes`` are of the same log, and ahead of the calls."""

    def __init__(self, table: api.Table, notes: References, keep_all: bool = True) -> None:
        self.table, self.notes, self.keep_all = table, notes, keep_all
        self.by_program: dict[Key, Ledger] = {}
        self._last: tuple[int, int, int, Ledger | None] = 0, 0, -1, None  # most calls are of the process before

    def of(self, call: Call) -> Ledger:
        found = self.known(call)
        if found is None:
            if not self.keep_all:
                self.forget(call.inferior)
            found = self.by_program[self.key(call)] = Ledger(self.table, self.notes)
        return found

    def known(self, call: Call) -> Ledger | None:
        inferior, pid, count, found = self._last
        if found is None or call.pid != pid or call.inferior != inferior or self.notes.started != count:
            found = self.by_program.get(self.key(call))
            self._last = call.inferior, call.pid, self.notes.started, found
        return found

    def key(self, call: Call) -> Key:
        process = call.inferior, call.pid
        return process, self.notes.programs.get(process, 0)

    def forget(self, inferior: int) -> None:
        self._last = 0, 0, -1, None
        for key in [key for key in self.by_program if key[0][0] == inferior]:
            del self.by_program[key]

    def all(self) -> list[Ledger]:
        return list(self.by_program.values())

    def latest(self, inferior: int) -> Ledger | None:
        return next((one for ((number, _), _), one in self.by_program.items() if number == inferior), None)

    def feed(self, events: Iterable[Event]) -> Ledgers:
        """Everything that a file holds."""
        for phase, call in events:
            (self.entry if phase == BEGIN else self.exit)(call)
        return self

    def entry(self, call: Call) -> None:
        self.of(call).entry(call)

    def exit(self, call: Call) -> None:
        known = self.known(call)
        if known is not None:
            known.exit(call)

    def note(self, ts: float, kind: str, details: dict[str, Any]) -> None:
        """The notes are kept by who owns them."""

    def close(self) -> None:
        """Nothing to give back."""
