"""The parser of a command at gdb's prompt: a mistake is one line of gdb's. (Python library: argparse.)"""

from __future__ import annotations

from typing import NoReturn

from gdbcuda.command_line.parsing import OptionParser
from gdbcuda.errors import UserError


class CommandParser(OptionParser):
    """Never exits gdb (it would show as Python Exception <class 'SystemExit'>)."""

    advice = "help {prog}"

    def error(self, message: str) -> NoReturn:
        raise UserError(self.one_line(message))

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise UserError(message or "")
