"""A gdb command from one declaration: parser, help, completion and one-line errors.

    @command("cuda-call", Option("--json", flag=True, help="..."))
    def cuda_call(json):
        '''Show the API call of the selected frame. ...'''
        return "text"

A command returns its text (or None); only this file prints.
(gdb manual: "CLI Commands In Python".)
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Callable, NoReturn, TypeVar

import gdb

from gdbcuda.errors import UserError
from gdbcuda.live import process
from gdbcuda.live.host import console, gdb_cli
from gdbcuda.live.prompt import safely
from gdbcuda.text import help_page, parsing

Completer = Callable[[str], Iterable[str]]
Action = Callable[..., "str | None"]
A = TypeVar("A", bound=Action)


@dataclass(frozen=True)
class Word:
    """A word of the command: ``count`` is argparse's nargs (None exactly one, "?", "*", "+")."""

    name: str
    help: str
    count: str | None = None
    complete: Completer | None = None


@dataclass(frozen=True)
class Option:
    """An option ``--name VALUE``; a ``flag`` takes no value, ``choices`` are checked and completed. ``many``: it may be
    given again, and the command gets a list."""

    name: str
    help: str
    value: str = "VALUE"
    flag: bool = False
    choices: tuple[str, ...] = ()
    default: Any = None
    complete: Completer | None = None
    many: bool = False

    @property
    def key(self) -> str:
        return self.name.lstrip("-").replace("-", "_")

    @property
    def completer(self) -> Completer:
        return (lambda token: self.choices) if self.choices else self.complete or nothing


@dataclass(frozen=True)
class ConditionText:
    """The raw rest of the line behind ``if``: quotes, << and && are the condition language's, not the shell's."""

    help: str = "only when COND holds; COND is written on parameter names and enum constants"
    complete: Callable[[list[str], list[str], str], Iterable[str]] | None = None  # words before and behind "if", token


def nothing(token: str) -> Iterable[str]:
    return ()


def file_names(token: str) -> Iterable[str]:
    """For ``complete=``: gdb's own completion of file names, which takes all that is typed for one; else this."""
    return [path + "/" * os.path.isdir(path) for path in glob.glob(glob.escape(token) + "*")]


def expressions(token: str) -> Iterable[str]:
    """For ``complete=``: gdb's own completion of symbols and members."""
    found = gdb_cli.execute(f"complete print {token}").splitlines()
    return [line.partition(" ")[2] for line in found]


SHORTEST = 12  # columns of a help text that its words are explained behind
BUILT_IN = {file_names: gdb.COMPLETE_FILENAME, expressions: gdb.COMPLETE_EXPRESSION}


class ByGdb(int):
    """A COMPLETE_... number of gdb's; cuda-gdb 11.8 takes no number from Python, and asks for the words behind it."""

    words: Callable[[], list[str]]

    def __new__(cls, number: int, words: Callable[[], list[str]]) -> ByGdb:
        one = super().__new__(cls, number)
        one.words = words
        return one

    def __iter__(self) -> Iterator[str]:
        return iter(self.words())


class CommandParser(parsing.OptionParser):
    """Never exits gdb (it would show as Python Exception <class 'SystemExit'>)."""

    advice = "help {prog}"
    example = ""  # the first of the help's

    def error(self, message: str) -> NoReturn:
        missing = message.partition("arguments are required: ")[2]
        if missing and not self.unknown_option(self.words):
            message = f"{missing.upper()} is required, for example: {self.example}"
        raise UserError(self.one_line(message))

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise UserError(message or "")


REGISTRY: dict[str, Command] = {}
# What a command may need of the process, each with what refuses where it is not so.
NEEDS: dict[str, Callable[[], None]] = {"": lambda: None, "stopped": process.require_stopped}
PURPOSES = {  # what cuda-help lists the commands under, in this order
    "start": "Bring the hook library into the program",
    "stop": "Stop where you mean",
    "look": "Look at a call",
    "check": "See whether the hook library is reached",
    "record": "Record what the program does",
    "help": "Get help",
}


class Command(gdb.Command):
    def __init__(
        self, name: str, action: Action, parts: tuple[Any, ...], prefix: bool, purpose: str, hold: Callable[[], None]
    ) -> None:
        self.name, self.action, self.parts, self.is_prefix, self.hold = name, action, parts, prefix, hold
        self.purpose = purpose_of(name, purpose)
        self.__doc__ = self.help = help_text(name, action.__doc__, parts)
        super().__init__(name, gdb.COMMAND_NONE, prefix=prefix)  # help user-defined is the user's: apropos ^cuda-
        REGISTRY[name] = self

    @property
    def first_line(self) -> str:
        return self.help.partition("\n")[0]

    @cached_property
    def parser(self) -> CommandParser:
        """Made when the command is first typed: for all of them, argparse takes a tenth of the time that we load in."""
        made = make_parser(self.name, self.parts)
        made.example = self.help.partition("Examples:\n")[2].partition("\n")[0].strip()
        return made

    def invoke(self, text: str, from_tty: bool) -> None:
        self.dont_repeat()
        try:
            gdb_cli.catch_up()
            shown = self.help if text.strip() in ("-h", "--help") else self.act(self.parse(text))
            if shown:
                console.write(shown.rstrip("\n") + "\n")
        except safely.ANYTHING as problem:
            raise safely.error(f"{self.name}: ", problem) from None

    def act(self, values: dict[str, Any]) -> str | None:
        self.hold()
        return self.action(**values)

    def parse(self, text: str) -> dict[str, Any]:
        condition, values = None, {}
        if any(isinstance(part, ConditionText) for part in self.parts):
            text, condition = split_condition(text)
            values["condition"] = condition
        words = gdb.string_to_argv(text)
        if self.is_prefix and words and not words[0].startswith("-"):
            raise UserError(unknown_subcommand(self.name, words[0]))
        values.update(vars(self.parser.parse_args(words)))
        return values

    def complete(self, text: str, word: str | None) -> Any:
        return safely.offered(self.name, lambda: self.offered(text, word))

    def offered(self, text: str, word: str | None) -> Any:
        """gdb breaks words at '-' and '*': complete the blank-separated token, return what is behind the break."""
        token = re.split(r"\s", text)[-1]
        before = text[: len(text) - len(token)].split()
        candidates = self.completer(before, token)

        def words() -> list[str]:
            cut = len(token) - len(word or "")
            return sorted({c[cut:] for c in candidates(token) if c.startswith(token) and c.isprintable()})

        if candidates in BUILT_IN and not (before and candidates is file_names):
            return ByGdb(BUILT_IN[candidates], lambda: safely.offered(self.name, words))
        return [] if word is None else words()  # gdb first asks only how words are broken; 16 shows an exception then

    def completer(self, before: list[str], token: str) -> Completer:
        """Of the option whose value the token is, of the options, or of the argument at its place."""
        for part in self.parts:
            if isinstance(part, ConditionText) and part.complete and "if" in before:
                at = before.index("if")
                return partial(part.complete, before[:at], before[at + 1 :])
        options = {part.name: part for part in self.parts if isinstance(part, Option)}
        last = options.get(before[-1]) if before else None
        if last is not None and not last.flag:
            return last.completer
        if token.startswith("-"):
            return lambda token: options
        valued = [name for name, option in options.items() if not option.flag]
        words = [word for prior, word in zip(["", *before], before) if word not in options and prior not in valued]
        return self.at_place(len(words))

    def at_place(self, place: int) -> Completer:
        arguments = [part for part in self.parts if isinstance(part, Word)]
        if arguments and place >= len(arguments) and arguments[-1].count in ("*", "+"):
            place = len(arguments) - 1
        return arguments[place].complete or nothing if place < len(arguments) else nothing


def command(
    name: str, *parts: Any, purpose: str = "", prefix: bool = False, needs: str = ""
) -> Callable[[A], A]:
    """Registers the decorated function as gdb command ``name``; its docstring is the help text.

    ``purpose``: one of `PURPOSES`; "NAME WORD" has that of NAME. ``prefix``: others named "NAME WORD" come below it,
    and it is what NAME alone does. ``needs``: one of `NEEDS`, held before the action."""

    def register(action: A) -> A:
        Command(name, action, parts, prefix, purpose, NEEDS[needs])
        return action

    return register


def unknown_subcommand(prefix: str, word: str) -> str:
    known = sorted(name[len(prefix) + 1 :] for name in REGISTRY if name.startswith(f"{prefix} "))
    return f"no subcommand {word!r}{parsing.meant(word, known, f'{prefix} ')} (there are {', '.join(known)})"


def split_condition(text: str) -> tuple[str, str | None]:
    """``"cuMemAlloc --once if bytesize > 1G"`` -> ``("cuMemAlloc --once", "bytesize > 1G")``."""
    found = re.search(r"(?:^|\s)if(?=[\s(]|$)", text)
    if not found:
        return text, None
    condition = text[found.end() :].strip()
    if not condition:
        raise UserError("'if' wants a condition behind it, for example: if bytesize > 1G")
    return text[: found.start()], condition


def make_parser(name: str, parts: tuple[Any, ...]) -> CommandParser:
    parser = CommandParser(prog=name, add_help=False)
    for part in parts:
        if isinstance(part, Word):
            parser.add_argument(part.name, nargs=part.count)
        elif isinstance(part, Option) and part.flag:
            parser.add_argument(part.name, dest=part.key, action="store_true")
        elif isinstance(part, Option):
            action = "append" if part.many else "store"
            parser.add_argument(part.name, dest=part.key, action=action, default=part.default,
                                choices=part.choices or None)  # fmt: skip
    return parser


def usage(name: str, parts: tuple[Any, ...]) -> str:
    """ "Usage: cuda-call [--json]", in lines as wide as the rest of the help."""
    words = [f"Usage: {name}"]
    for part in parts:
        if isinstance(part, Word):
            shown = part.name.upper()
            words.append({None: shown, "?": f"[{shown}]", "*": f"[{shown}...]", "+": f"{shown}..."}[part.count])
        elif isinstance(part, Option):
            words.append(f"[{part.name}]" if part.flag else f"[{part.name} {'|'.join(part.choices) or part.value}]")
        else:
            words.append("[if COND]")
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + len(word) < help_page.WIDEST:
            lines[-1] += f" {word}"
        else:
            lines.append(f"       {word}")
    return "\n".join(lines)


def purpose_of(name: str, purpose: str) -> str:
    """What is declared, or what the command above it has. None is a bug at load."""
    above = REGISTRY.get(name.rpartition(" ")[0])
    found = purpose or (above.purpose if above else "")
    if found not in PURPOSES:
        raise TypeError(f"{name} has no purpose; there are {', '.join(PURPOSES)}")
    return found


def help_text(name: str, doc: str | None, parts: tuple[Any, ...]) -> str:
    """First line, usage, what each word means, then the rest of the docstring. No docstring is a bug at load."""
    if not doc or not doc.strip():
        raise TypeError(f"{name} has no help text")
    import inspect

    first, _, rest = inspect.cleandoc(doc).partition("\n")
    labels = [label_of(part) for part in parts]
    width = max([SHORTEST, *map(len, labels)])
    rows = [help_page.row(label, width, part.help) for label, part in zip(labels, parts)]
    return "\n".join([first, usage(name, parts), *rows, help_page.filled(rest)])


def label_of(part: Word | Option | ConditionText) -> str:
    if isinstance(part, ConditionText):
        return "if COND"
    return part.name if isinstance(part, Option) else part.name.upper()
