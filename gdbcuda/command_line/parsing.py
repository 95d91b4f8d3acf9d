"""argparse whose mistakes are one line that names the nearest option or word. (Python library: argparse.)"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from gdbcuda.text import output
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import meant, some

CHOICE = re.compile(r"invalid choice: '(.*?)' \(choose from (.*)\)")
MISSING = re.compile(r"the following arguments are required: (.*)")
VALUE = re.compile(r"argument (?:\S+/)?(--?\S+): (?:expected .*argument|ignored explicit argument (.*))", re.DOTALL)


class OptionParser(argparse.ArgumentParser):
    """Abbreviated options are refused: which one was meant would change with the next one that we add."""

    advice = "{prog} --help"
    examples: Sequence[str] = ()
    words: Sequence[str] = ()
    declared: Any = None  # the `Options` that it is made from

    def __init__(self, *positional: Any, **named: Any) -> None:
        super().__init__(*positional, **{"allow_abbrev": False, **named})
        self.color = False  # Python 3.14's own

    def parse_known_args(self, *positional: Any, **named: Any) -> Any:
        """Of a subcommand too, whose own options are the ones that may be meant."""
        words = positional[0] if positional else named.get("args")
        self.words = sys.argv[1:] if words is None else words
        found, left = super().parse_known_args(*positional, **named)
        if left:
            self.error(self.unknown_option(left) or f"there is no place for {' '.join(left)!r}")
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
        return f"{self.in_our_words(message)} (see: {self.advice.format(prog=self.prog)})"

    def in_our_words(self, message: str) -> str:
        """What is required may be there, misspelt."""
        if missing := MISSING.match(message):
            return self.unknown_option(self.words) or self.is_missing(missing[1].split(", "))
        if choice := CHOICE.search(message):
            there = re.findall(r"[^\s,']+", choice[2])
            return f"no subcommand {choice[1]!r}{meant(choice[1], there)} (there are {', '.join(there)})"
        value = VALUE.match(message)
        if value and not value[2]:
            return f"{value[1]} wants {self._option_string_actions[value[1]].metavar or 'a value'} behind it"
        return f"{value[1]} takes no value" if value else message

    def is_missing(self, names: Sequence[str]) -> str:
        """ "FILE is missing, for example: gdbcuda check libvgpu.so"; of an option its long name."""
        told = some([name.rpartition("/")[2] if name.startswith("-") else name.upper() for name in names])
        example = f", for example: {self.examples[0]}" if self.examples else ""
        return f"{told} {'are' if len(names) > 1 else 'is'} missing{example}"

    def unknown_option(self, words: Sequence[str]) -> str:
        options = [word.partition("=")[0] for word in words if word.startswith("-")]
        option = next((one for one in options if one not in self._option_string_actions), None)
        return f"no option {option}{meant(option, self._option_string_actions)}" if option else ""
