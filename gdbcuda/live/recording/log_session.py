"""What a session of gdb has recorded: calls, ledgers, clock, and the recorder at work."""

from __future__ import annotations

import gdb

from gdbcuda.calls import sinks
from gdbcuda.errors import UserError
from gdbcuda.ledger import Ledger, Ledgers
from gdbcuda.live import process
from gdbcuda.live.layers import table_version
from gdbcuda.live.recording import core_rings
from gdbcuda.live.recording.by_breakpoints.recorder import Recorder
from gdbcuda.live.recording.in_process.ring_recorder import RingRecorder


class LogSession:
    def __init__(self) -> None:
        self.recorder: Recorder | RingRecorder | None = None
        self.file: sinks.JsonLines | None = None
        self._kept = sinks.Kept(0)
        self.ledgers: Ledgers | None = None
        self.alarm = ""  # what the program has been stopped for
        self.seconds = 0.0  # how far the clock of the log has come
        self.numbers = 0

    @property
    def kept(self) -> sinks.Kept:
        self.catch_up()
        return self._kept

    def catch_up(self) -> None:
        """With what was read of the rings in the process, or of those in its core file."""
        if isinstance(self.recorder, RingRecorder):
            self.recorder.tell_all()
        elif self.recorder is None and process.connection() == "core":
            ledgers = self.ledgers or Ledgers(table_version.table(), self._kept.notes, keep_all=False)
            count = core_rings.read_once([self._kept, ledgers], self.numbers) - self.numbers
            self.numbers += count
            self.ledgers = ledgers if count else self.ledgers

    def require(self) -> Recorder | RingRecorder:
        if self.recorder is None:
            raise UserError("no recorder is at work; start one: cuda-log start", page="log")
        return self.recorder

    def ledger(self) -> Ledger | None:
        """Of the selected inferior's process, or the last one it had; None if nothing is recorded."""
        self.catch_up()
        if self.ledgers is None:
            return None
        return self.ledgers.latest(gdb.selected_inferior().num) or Ledger(self.ledgers.table)
