"""An IDE behind gdb's machine interface, driven by pygdbmi (which parses the records, as an IDE does)."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any
from unittest import mock

from pygdbmi.gdbcontroller import GdbController
from scenario import EXTENSION, GDB, NO_DEBUG_FILES

SECONDS = 60
QUIET = "--tty=/dev/null"  # what the program prints must not come in the middle of a line of MI
Record = dict[str, Any]


class Ide:
    """Every record that came is in ``seen``; what a test waits for is looked up there first, so nothing is missed."""

    def __init__(
        self, program: object, arguments: tuple[str, ...], environment: Mapping[str, str], in_full: bool = False
    ) -> None:
        line = [GDB, "-nx", "-q", "--interpreter=mi3", QUIET, *([] if in_full else NO_DEBUG_FILES), *EXTENSION]
        line += ["--args", str(program)]
        with mock.patch.dict(os.environ, environment, clear=True):  # pygdbmi starts gdb in its own environment
            # it waits so long for more behind whatever has come; `_wait` asks again where that was not it
            self.gdb = GdbController([*line, *arguments], time_to_check_for_additional_output_sec=0.01)
        self.seen: list[Record] = []
        self._stops = 0

    def say(self, command: str) -> Record:
        """Sends a command; the result record."""
        start = len(self.seen)
        self.gdb.io_manager.stdin.write(command.encode() + b"\n")
        self.gdb.io_manager.stdin.flush()
        return self._wait(start, lambda record: record["type"] == "result")

    def do(self, command: str) -> str:
        """The same for one that has to succeed; the text that it wrote."""
        start = len(self.seen)
        result = self.say(command)
        assert result["message"] != "error", (command, result["payload"])
        return console(self.seen[start:])

    def error(self, command: str) -> str:
        """The same for one that has to fail; why it did."""
        result = self.say(command)
        assert result["message"] == "error", (command, result)
        return str(result["payload"]["msg"])

    def stop(self) -> dict[str, Any]:
        """The next stop that has not been asked for yet, when all that it says has come."""
        stop = self._wait(self._stops, lambda record: record["message"] == "stopped")
        self._stops = next(number for number, record in enumerate(self.seen) if record is stop) + 1
        self.say("-gdb-show version")
        return dict(stop["payload"])

    def _wait(self, start: int, is_it: Any) -> Record:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            found = next(filter(is_it, self.seen[start:]), None)
            if found is not None:
                return found
            self.seen += self.gdb.get_gdb_response(timeout_sec=1, raise_error_on_timeout=False)
        raise AssertionError(f"did not come; seen: {self.seen[start:]}")

    def console(self) -> str:
        return console(self.seen)

    def close(self) -> None:
        self.gdb.exit()


def console(records: list[Record]) -> str:
    return "".join(record["payload"] for record in records if record["type"] == "console")
