"""argparse whose mistakes are one line that names the nearest option or word. (Python library: argparse.)"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from gdbcuda.text import output
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import meant

CHOICE = re.compile(r"invalid choice: '(.*?)' \(choose from (.*)\)")


class OptionParser(argparse.ArgumentParser):
    """Abbreviated options are refused: which one was meant would change with the next one that we add."""

    advice = "{prog} --help"
    examples: Sequence[str] = ()
    words: Sequence[str] = ()

    def __init__(self, *positional: Any, **named: Any) -> None:
        super().__init__(*positional, **{"allow_abbrev": False, **named})
        self.color = False  # Python 3.14's own

    def parse_known_args(self, *positional: Any, **named: Any) -> Any:
        """Of a subcommand too, whose own options are the ones that may be meant."""
        words = positional[0] if positional else named.get("args")
        self.words = sys.argv[1:] if words is None else words
        found, left = super().parse_known_args(*positional, **named)
        if left:
            self.error(self.unknown_option(left) or f"unrecognized arguments: {' '.join(left)}")
        return found, left

    def format_help(self) -> str:
        shown = "".join(f"  {line}\n" for line in self.examples)
        return super().format_help() + (f"\nExamples:\n{shown}" if shown else "")

    def _print_message(self, message: str, file: Any = None) -> None:
        """argparse's own says nothing where it cannot write."""
        if message:
            shown = message.rstrip("\n")
            output.say(shown) if file is sys.stdout else output.complain(shown)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        self._print_message(message or "")
        sys.exit(status)

    def error(self, message: str) -> NoReturn:
        self.exit(2, visible(f"{self.prog}: {self.one_line(message)}") + "\n")

    def one_line(self, message: str) -> str:
        """What is required may be there, misspelt."""
        why = (self.unknown_option(self.words) if "are required" in message else "") or message
        choice = CHOICE.search(why)
        nearest = meant(choice[1], re.findall(r"[^\s,']+", choice[2])) if choice else ""
        return f"{why}{nearest} (see: {self.advice.format(prog=self.prog)})"

    def unknown_option(self, words: Sequence[str]) -> str:
        options = [word.partition("=")[0] for word in words if word.startswith("-")]
        option = next((one for one in options if one not in self._option_string_actions), None)
        return f"no option {option}{meant(option, self._option_string_actions)}" if option else ""
