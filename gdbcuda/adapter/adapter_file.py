"""The adapter of a hook library: a small INI file, LIBRARY-gdbcuda.ini beside it.

    [books]
    used = region->used[$device]     # bytes in use on a device
    limit = region->limit[$device]   # bytes that may be in use, 0 for any number
    [locks]
    region = &region->lock
    [environment]
    REGION_LIMIT = bytes that all processes may have together
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from gdbcuda.adapter import expression
from gdbcuda.adapter.expression import Tree
from gdbcuda.data_classes import dataclass, field
from gdbcuda.errors import UserError
from gdbcuda.files.reading import open_source
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import counted, meant

ENDING = "-gdbcuda.ini"
LARGEST = 1 << 16  # bytes of the file
BOOKS = ("used", "limit", "limit-variable", "devices")
SECTIONS = ("books", "locks", "owners", "functions", "environment")
VARIABLE_NAME, FUNCTION_NAME = re.compile(r"[A-Za-z_]\w*\*?"), re.compile(r"[\w:~<>*&,]+")


class NoReader(UserError):
    """Nothing is wrong with the file."""


@dataclass(frozen=True)
class Formula:
    """An expression as it was written, and as it is understood."""

    text: str
    tree: Tree


@dataclass(frozen=True)
class Adapter:
    """``books``: by "used", "limit" and "devices"; ``limit_variable``: the environment variable that sets the limit, or
    ""; ``locks``: by the names that their author gave them; ``owners``: of locks that keep none, by the same names."""

    path: str
    books: Mapping[str, Formula] = field(default_factory=dict)
    limit_variable: str = ""
    locks: Mapping[str, Formula] = field(default_factory=dict)
    owners: Mapping[str, Formula] = field(default_factory=dict)
    functions: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    def described(self) -> str:
        """ "books, 1 lock, 3 functions, 2 variables"."""
        told = ["books"] if self.books or self.limit_variable else []
        for count, thing in ((len(self.locks), "lock"), (len(self.functions), "function"),
                             (len(self.environment), "variable")):  # fmt: skip
            told += [counted(count, thing)] if count else []
        return ", ".join(told) or "nothing"


def beside(library: str) -> str:
    """The name that the adapter of a library has."""
    return library + ENDING


def found_beside(library: str) -> str:
    """The file, also of what a link leads to; "" where there is none."""
    names = (beside(library), beside(os.path.realpath(library)))
    return next((name for name in names if library and os.path.isfile(name)), "")


def read(path: str) -> Adapter:
    """UserError, one line, with the place of a mistake."""
    try:
        import configparser  # some gdbs are packed with a part of Python's library alone
    except ImportError:
        raise NoReader("the Python here has no module configparser, which reads them", page="own-books") from None
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",), comment_prefixes=("#",),
                                       inline_comment_prefixes=("#",), default_section="")  # fmt: skip
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(text_of(path), path)
    except configparser.Error as problem:
        raise UserError(f"{visible(path)}: {visible(' '.join(str(problem).split()))}", page="own-books") from None
    sections = {name: dict(parser[name]) for name in parser.sections()}
    try:
        return made(path, sections)
    except UserError as problem:
        raise UserError(f"{visible(path)}: {problem}", page="own-books") from None


def text_of(path: str) -> str:
    source = open_source(path, "a hook library's file for gdbcuda")
    return source.read(0, min(source.size, LARGEST), "an adapter").decode(errors="replace")


def made(path: str, sections: Mapping[str, Mapping[str, str]]) -> Adapter:
    for name in sections:
        if name not in SECTIONS:
            raise UserError(f"no section [{name}]{meant(name, SECTIONS)} (there are {', '.join(SECTIONS)})")
    books = dict(sections.get("books", {}))
    for key in books:
        if key not in BOOKS:
            raise UserError(f"[books] has no {key!r}{meant(key, BOOKS)} (there are {', '.join(BOOKS)})")
    variable = books.pop("limit-variable", "")
    locks, owners = formulas("locks", sections), formulas("owners", sections)
    for name in owners:
        if name not in locks:
            raise UserError(f"[owners] has {name!r}, which is no lock of [locks]{meant(name, locks)}")
    return Adapter(path, {key: formula("books", key, value) for key, value in books.items()}, variable, locks, owners,
                   functions(sections), environment(sections))  # fmt: skip


def formulas(section: str, sections: Mapping[str, Mapping[str, str]]) -> dict[str, Formula]:
    return {key: formula(section, key, value) for key, value in sections.get(section, {}).items()}


def formula(section: str, key: str, text: str) -> Formula:
    try:
        return Formula(text, expression.parse(text))
    except UserError as problem:
        raise UserError(f"[{section}] {key}: {problem}") from None


def functions(sections: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    given = dict(sections.get("functions", {}))
    names = given.pop("internal", "").replace(",", " ").split()
    if given:
        raise UserError(f"[functions] has no {next(iter(given))!r} (there is internal)")
    for name in names:
        if not FUNCTION_NAME.fullmatch(name):
            raise UserError(f"[functions] internal: {name!r} is no name of a function")
    return tuple(names)


def environment(sections: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    found = dict(sections.get("environment", {}))
    for name in found:
        if not VARIABLE_NAME.fullmatch(name):
            raise UserError(f"[environment] {name!r} is no name of a variable (NAME, or NAME* for all that begin so)")
    return found
