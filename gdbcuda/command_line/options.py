"""What a command takes, declared once: a class whose attributes are its words and options, each with its type.

    class ShowOptions(Options):
        function: list[str] = words(FUNCTION, "these functions alone")
        last: int | None = option(NUMBER, "the last N calls")
        json: bool = flag("for scripts: JSON")

The parser, the help and the completion of a command are made from these attributes. Its function gets an object of the
class, whose attributes are values. Options of several commands are a class that theirs are derived from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, TypeVar, overload

from gdbcuda.command_line.argument_types import ArgumentType, text
from gdbcuda.errors import UserError
from gdbcuda.text.sentences import meant

if TYPE_CHECKING:
    from gdbcuda.command_line.parsing import OptionParser

T = TypeVar("T")
Own = TypeVar("Own", bound="Options")
NO_VALUE = text("")


class CommandPart:
    """One word or option. ``key`` is the attribute; ``name`` what is typed, or for a word what the help calls it;
    ``place``: parts of a smaller one come first on a line."""

    place = 1

    def __init__(self, kind: ArgumentType[Any], help: str, name: str = "", default: Any = None) -> None:
        self.kind, self.help, self.name, self.default = kind, help, name, default
        self.key = ""

    def __set_name__(self, owner: type, key: str) -> None:
        self.key = key
        self.name = self.name or self.usual_name()

    def __get__(self, one: object, owner: type) -> Any:
        """Of an object that was made without this one."""
        return self if one is None else self.default

    def usual_name(self) -> str:
        return self.key

    @property
    def label(self) -> str:
        """In front of its line in the help."""
        return self.name

    def usage(self) -> str:
        raise NotImplementedError

    def add_to(self, parser: OptionParser) -> None:
        """Nothing where the line is not for argparse."""

    def read(self, typed: Any) -> Any:
        """The value of what argparse has found; `ValueError`, `UserError`."""
        if typed is None:
            return self.default
        return [self.kind.read(one) for one in typed] if isinstance(typed, list) else self.kind.read(typed)


class Word(CommandPart):
    """``count`` is argparse's nargs: None exactly one, "?", "*", "+", "..." all that follows, options too."""

    def __init__(self, *declared: Any, count: str | None = None) -> None:
        super().__init__(*declared)
        self.count, self.place = count, 2 if count == "..." else 0

    @property
    def label(self) -> str:
        return self.name.upper()

    def usage(self) -> str:
        shown = self.label
        return {None: shown, "?": f"[{shown}]", "*": f"[{shown}...]", "+": f"{shown}...",
                "...": f"[{shown}...]"}[self.count]  # fmt: skip

    def add_to(self, parser: OptionParser) -> None:
        parser.add_argument(self.key, nargs=self.count, metavar=self.label, help=self.help)


class Option(CommandPart):
    """``--name VALUE``; a ``flag`` has no value. ``many``: it may be given again, and its value is a list.
    ``required``: it has to be given. ``short``: another name for it, as -o."""

    def __init__(self, *declared: Any, flag: bool = False, many: bool = False, required: bool = False) -> None:
        super().__init__(*declared)
        self.flag, self.many, self.required = flag, many, required
        self.short = ""

    def usual_name(self) -> str:
        return "--" + self.key.replace("_", "-")

    def usage(self) -> str:
        shown = self.name if self.flag else f"{self.name} {self.kind.shown}"
        return shown if self.required else f"[{shown}]"

    def add_to(self, parser: OptionParser) -> None:
        names = [one for one in (self.short, self.name) if one]
        if self.flag:
            parser.add_argument(*names, dest=self.key, action="store_true", help=self.help)
        else:
            parser.add_argument(*names, dest=self.key, action="append" if self.many else "store",
                                metavar=self.kind.shown, help=self.help, required=self.required)  # fmt: skip

    def read(self, typed: Any) -> Any:
        return bool(typed) if self.flag else super().read(typed)


class ConditionText(CommandPart):
    """The raw rest of the line behind ``if``: quotes, << and && are the condition language's, not the shell's.
    ``complete`` gets the words before and behind "if", and the token."""

    place = 3

    def __init__(
        self, help: str, complete: Callable[[list[str], list[str], str], Iterable[str]] | None = None
    ) -> None:
        super().__init__(NO_VALUE, help)
        self.complete = complete

    @property
    def label(self) -> str:
        return "if COND"

    def usage(self) -> str:
        return "[if COND]"


class Options:
    """Of one command. Made directly, as by a test, it has the values that it is given, and else the defaults."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    @classmethod
    def parts(cls) -> list[CommandPart]:
        """Words, then options, in the order of their lines, those of classes above first; last what takes the rest of
        the line."""
        found: dict[str, CommandPart] = {}
        for one in reversed(cls.__mro__):
            found.update({key: part for key, part in vars(one).items() if isinstance(part, CommandPart)})
        return sorted(found.values(), key=lambda part: part.place)

    @classmethod
    def arranged(cls, text: str) -> str:
        """What is typed, with the words of clauses as options in front of the condition; `UserError`."""
        return text

    @classmethod
    def add_to(cls, parser: OptionParser) -> None:
        for part in cls.parts():
            part.add_to(parser)

    @classmethod
    def read(cls: type[Own], typed: Mapping[str, Any], examples: Sequence[str]) -> Own:
        """From what argparse has found; `UserError` with one of the command's own ``examples``."""
        made = cls()
        for part in cls.parts():
            try:
                made.__dict__[part.key] = part.read(typed.get(part.key))
            except ValueError:
                raise UserError(mistake(part, typed[part.key], examples)) from None
        return made


def mistake(part: CommandPart, typed: Any, examples: Sequence[str]) -> str:
    given = ", ".join(map(repr, typed)) if isinstance(typed, list) else repr(typed)
    near = meant(given.strip("'"), part.kind.choices)
    return f"{part.label} is {part.kind.wants}, not {given}{near or f', for example: {example_with(part, examples)}'}"


def example_with(part: CommandPart, examples: Sequence[str]) -> str:
    """One that has the option; else the first one, and the option behind it."""
    first = examples[0] if examples else ""
    if isinstance(part, Word):
        return first
    return next((one for one in examples if part.name in one.split()), f"{first} {part.name} {part.kind.example}")


# -- declarations, of the types that their values have


def word(kind: ArgumentType[T], help: str) -> T:
    """Exactly one."""
    return Word(kind, help)  # type: ignore[return-value]


def optional_word(kind: ArgumentType[T], help: str) -> T | None:
    return Word(kind, help, count="?")  # type: ignore[return-value]


def words(kind: ArgumentType[T], help: str, least: int = 0) -> list[T]:
    """Any number, or at least one."""
    return Word(kind, help, "", [], count="+" if least else "*")  # type: ignore[return-value]


def rest(kind: ArgumentType[T], help: str) -> list[T]:
    """All that follows, what looks like an option too: the words of another program."""
    return Word(kind, help, kind.shown, [], count="...")  # type: ignore[return-value]


def required(kind: ArgumentType[T], help: str, name: str = "", short: str = "") -> T:
    """An option that has to be given."""
    made = Option(kind, help, name, required=True)
    made.short = short
    return made  # type: ignore[return-value]


@overload
def option(kind: ArgumentType[T], help: str, name: str = ..., *, short: str = ...) -> T | None: ...
@overload
def option(kind: ArgumentType[T], help: str, name: str = ..., *, default: T) -> T: ...
def option(kind: ArgumentType[Any], help: str, name: str = "", default: Any = None, short: str = "") -> Any:
    made = Option(kind, help, name, default)
    made.short = short
    return made


def options(kind: ArgumentType[T], help: str, name: str = "") -> list[T]:
    """It may be given again."""
    return Option(kind, help, name, [], many=True)  # type: ignore[return-value]


def flag(help: str, name: str = "") -> bool:
    return Option(NO_VALUE, help, name, False, flag=True)  # type: ignore[return-value]


def condition(
    complete: Callable[[list[str], list[str], str], Iterable[str]],
    help: str = "only when COND holds; COND is written on parameter names and enum constants",
) -> str | None:
    return ConditionText(help, complete)  # type: ignore[return-value]


# -- the same in another place: what it says is declared once


def of_kind(declared: Any, kind: ArgumentType[Any], many: bool = False) -> Any:
    """An option of that type; "--in" of a session knows its layers."""
    return Option(kind, declared.help, declared.name, declared.default, many=many)


def as_words(declared: Any, kind: ArgumentType[T]) -> list[T]:
    """What is an option elsewhere, without its name."""
    return words(kind, declared.help)


def as_condition(declared: Any, complete: Callable[[list[str], list[str], str], Iterable[str]]) -> str | None:
    """What is an option elsewhere, as the rest of the line."""
    return condition(complete, declared.help)


class WideOptions(Options):
    wide: bool = flag("lines as long as they are, C++ names whole")
