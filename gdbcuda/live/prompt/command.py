"""A gdb command from one declaration: parser, help, completion and one-line errors.

    class CallOptions(Options):
        json: bool = flag("as one JSON object")

    @command("cuda-call", CallOptions, purpose="look", needs="stopped")
    def cuda_call(wanted: CallOptions) -> str:
        '''Show the API call of the selected frame. ...'''
        return "text"

A command returns its text (or None); only this file prints.
(gdb manual: "CLI Commands In Python".)
"""

from __future__ import annotations

import contextlib
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, Callable, TypeVar, Union, overload

import gdb

from gdbcuda.command_line import help_page, waiting
from gdbcuda.command_line.options import CommandPart, ConditionText, Options, Word
from gdbcuda.errors import UserError
from gdbcuda.live import process
from gdbcuda.live.host import console, gdb_cli
from gdbcuda.live.prompt import completing, safely
from gdbcuda.text import cplusplus, render
from gdbcuda.text.patterns import pattern
from gdbcuda.text.sentences import meant

if TYPE_CHECKING:
    from gdbcuda.live.prompt.command_parser import CommandParser

Own = TypeVar("Own", bound=Options)
Said = TypeVar("Said", bound="str | None")


SHORTEST = 12  # columns of a help text that its words are explained behind
REGISTRY: dict[str, Command] = {}
BEFORE_EACH: list[Callable[[], object]] = []  # what is done at a prompt too: between a script's commands there is none
Needs = Union[str, Callable[[Any], str]]
# What commands may need, each with what refuses where it is not so; rooms above have more of them (`need`).
NEEDS: dict[str, Callable[[], object]] = {"": lambda: None, "stopped": lambda: process.require_stopped()}
PURPOSES = {  # what cuda-help lists the commands under, in this order
    "start": "Bring the hook library into the program",
    "stop": "Stop where you mean",
    "fault": "See what a failing driver does to program and hook library",
    "look": "Look at a call",
    "check": "See whether the hook library is reached",
    "record": "Record what the program does",
    "help": "Get help",
}


class Command(gdb.Command):
    def __init__(
        self, name: str, action: Callable[[Any], str | None], options: type[Options], prefix: bool, purpose: str,
        needs: Needs,
    ) -> None:  # fmt: skip
        self.name, self.action, self.options, self.is_prefix, self.needs = name, action, options, prefix, needs
        self.parts = options.parts()
        self.purpose = purpose_of(name, purpose)
        self.__doc__ = self.help = help_text(name, action.__doc__, self.parts)
        super().__init__(name, gdb.COMMAND_NONE, prefix=prefix)  # help user-defined is the user's: apropos ^cuda-
        REGISTRY[name] = self

    @property
    def first_line(self) -> str:
        return self.help.partition("\n")[0]

    @property
    def examples(self) -> list[str]:
        """Those of the help that are of this command."""
        lines = map(str.strip, self.help.partition("Examples:\n")[2].splitlines())
        return [line for line in lines if f"{line} ".startswith(f"{self.name} ")]

    @property
    def condition_example(self) -> str:
        return next((one for one in self.examples if " if " in one), "")

    @cached_property
    def parser(self) -> CommandParser:
        """Made when the command is first typed: for all of them, argparse takes a tenth of the time that we load in."""
        from gdbcuda.live.prompt.command_parser import CommandParser

        made = CommandParser(prog=self.name, add_help=False)
        made.examples = self.examples
        self.options.add_to(made)
        return made

    def invoke(self, text: str, from_tty: bool) -> None:
        self.dont_repeat()
        try:
            be_at_prompt()
            if text.strip() in ("-h", "--help"):
                console.write(f"{self.help}\n")
            else:
                self.answer(self.parse(text))
        except safely.ANYTHING as problem:
            raise safely.error(f"{self.name}: ", problem) from None

    def answer(self, typed: dict[str, Any]) -> None:
        with render.as_wide_as_it_is(typed.get("wide", False)):
            with waiting.told(self.name) if console.is_command_line() else contextlib.nullcontext():
                shown = self.act(typed)
            if shown:
                console.write(shown.rstrip("\n") + "\n")

    def act(self, typed: dict[str, Any]) -> str | None:
        if isinstance(self.needs, str):
            refuse_without(self.needs)
        wanted = self.options.read(typed, self.examples)
        if not isinstance(self.needs, str):
            refuse_without(self.needs(wanted))
        return self.action(wanted)

    def parse(self, text: str) -> dict[str, Any]:
        """What is typed for each word and option; what that means shows when the command may look."""
        conditions = [part.key for part in self.parts if isinstance(part, ConditionText)]
        text = self.options.arranged(text)
        text, condition = split_condition(text, self.condition_example) if conditions else (text, None)
        words = cplusplus.joined(gdb.string_to_argv(text))
        if self.is_prefix and words and not words[0].startswith("-"):
            raise UserError(unknown_subcommand(self.name, words[0]))
        if conditions and any(word.partition("=")[0] == "--if" for word in words):
            raise UserError(f"a condition is written without -- here: {self.condition_example}")
        typed = vars(self.parser.parse_args(words))
        if conditions and condition is None:
            functions = next(typed[part.key] for part in self.parts if isinstance(part, Word))
            refuse_operators(functions, self.condition_example)
        return {**typed, **dict.fromkeys(conditions, condition)}

    def complete(self, text: str, word: str | None) -> Any:
        return safely.offered(self.name, lambda: completing.offered(self.name, self.parts, text, word))


@overload
def command(
    name: str, *, purpose: str = "", prefix: bool = False, needs: Needs = ""
) -> Callable[[Callable[[], Said]], Callable[[], Said]]: ...
@overload
def command(
    name: str, options: type[Own], *, purpose: str = "", prefix: bool = False, needs: Needs = ""
) -> Callable[[Callable[[Own], Said]], Callable[[Own], Said]]: ...
def command(
    name: str, options: type[Options] | None = None, *, purpose: str = "", prefix: bool = False, needs: Needs = ""
) -> Callable[[Any], Any]:
    """Registers the decorated function as gdb command ``name``; its docstring is the help text. It gets an object of
    ``options``, where there are any.

    ``purpose``: one of `PURPOSES`; "NAME WORD" has that of NAME. ``prefix``: others named "NAME WORD" come below it,
    and it is what NAME alone does. ``needs``: of `NEEDS`, several with ", ", held before the action;
    a function of the options where not every form of the command needs the same."""

    def register(action: Callable[..., str | None]) -> Callable[..., str | None]:
        def without(none: Options) -> str | None:
            return action()

        without.__doc__ = action.__doc__
        Command(name, action if options else without, options or Options, prefix, purpose, needs)
        return action

    return register


def be_at_prompt() -> None:
    """(While a breakpoint is asked whether it stops gdb holds the thread to be running: nothing is deleted then.)"""
    gdb_cli.catch_up()
    if gdb_cli.is_possible() and not gdb_cli.is_thread_running():
        for action in BEFORE_EACH:
            action()


def refuse_without(needs: str) -> None:
    for one in needs.split(", "):
        NEEDS[one]()


def need(name: str, refuse: Callable[[], object]) -> None:
    """Commands may say ``needs=name`` from now on; ``refuse`` raises `UserError` where it is not so."""
    NEEDS[name] = refuse


def read(name: str, options: type[Own], text: str) -> Own:
    """What ``text`` behind the command of that name asks for."""
    one = REGISTRY[name]
    return options.read(one.parse(text), one.examples)


def unknown_subcommand(prefix: str, word: str) -> str:
    known = sorted(name[len(prefix) + 1 :] for name in REGISTRY if name.rpartition(" ")[0] == prefix)
    return f"no subcommand {word!r}{meant(word, known, f'{prefix} ')} (there are {', '.join(known)})"


def split_condition(text: str, example: str) -> tuple[str, str | None]:
    """``"cuMemAlloc --once if bytesize > 1G"`` -> ``("cuMemAlloc --once", "bytesize > 1G")``."""
    found = re.search(r"(?:^|\s)if(?=[\s(]|$)", text)
    if not found:
        return text, None
    condition = text[found.end() :].strip()
    if not condition:
        raise UserError(f"'if' wants a condition behind it, for example: {example}")
    return text[: found.start()], condition


WORDS_OF_CONDITION = pattern(r"\s((?:every|after) \d+|caller in)(?=\s|$)")
CPLUSPLUS = pattern(r"(?<=\w)<.*>(?=$|::|\()|(?<=\w)\([^()]*\)$|\boperator\b.*$")


def refuse_operators(words: list[str], example: str) -> None:
    """The condition is there, the if is not."""
    word = next((word for word in words if re.search("[<>=&|]", CPLUSPLUS.sub("", word))), "")
    if not word and (found := WORDS_OF_CONDITION.search(" ".join(words))):
        word = found[1]
    if word:
        raise UserError(f"{word!r} is no function; a condition begins with if, as in: {example}")


def usage(name: str, parts: list[CommandPart]) -> str:
    """ "Usage: cuda-call [--json]", in lines as wide as the rest of the help."""
    lines = [f"Usage: {name}"]
    for shown in (part.usage() for part in parts):
        if len(lines[-1]) + len(shown) < help_page.WIDEST:
            lines[-1] += f" {shown}"
        else:
            lines.append(f"       {shown}")
    return "\n".join(lines)


def purpose_of(name: str, purpose: str) -> str:
    """What is declared, or what the command above it has. None is a bug at load."""
    above = REGISTRY.get(name.rpartition(" ")[0])
    found = purpose or (above.purpose if above else "")
    if found not in PURPOSES:
        raise TypeError(f"{name} has no purpose; there are {', '.join(PURPOSES)}")
    return found


def help_text(name: str, doc: str | None, parts: list[CommandPart]) -> str:
    """First line, usage, what each word means, then the rest of the docstring. No docstring is a bug at load."""
    if not doc or not doc.strip():
        raise TypeError(f"{name} has no help text")
    first, _, rest = help_page.of(doc).partition("\n")
    width = max([SHORTEST, *(len(part.label) for part in parts)])
    rows = [help_page.row(part.label, width, part.help) for part in parts]
    return "\n".join([first, usage(name, parts), *rows, help_page.filled(rest)])
