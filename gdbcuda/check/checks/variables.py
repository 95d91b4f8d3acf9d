"""Which variables of the environment a hook library reads, and what its author says of them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

from gdbcuda.adapter import adapter_file
from gdbcuda.adapter.adapter_file import Adapter
from gdbcuda.api.vendor import api_of
from gdbcuda.check.registry import LIBRARY, Answer, Answered, check
from gdbcuda.check.subjects.subject import Subject
from gdbcuda.errors import UserError

READERS = frozenset({"getenv", "secure_getenv"})
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
MOST_HELPERS, MOST_NAMED = 8, 12


def variables_of(subject: Subject) -> list[str]:
    """Whose names are constants that the code passes to getenv, or to a function of the library that calls it with its
    own argument."""
    library, named = subject.library, {value: one.name for value, one in subject.functions.items()}
    readers = READERS | {*_helpers(subject)}
    found = (text for _, text in library.code.strings_passed(named, readers))
    return sorted({one for one in found if VARIABLE.fullmatch(one)})


def _helpers(subject: Subject) -> list[str]:
    """Small functions that call getenv, and pass no constant to it."""
    code, found = subject.library.code, []
    for start, symbol in subject.functions.items():
        if code.called(start, symbol.size, {}) & READERS and not code.passes_constant(start, symbol.size):
            found.append(symbol.name)
    return found[:MOST_HELPERS]


@check(
    "variables-read", "note", LIBRARY,
    means="what the environment of the program changes in it; cuda-env NAME=VALUE sets one for the next run",
)  # fmt: skip
def variables_read(subject: Subject) -> Answer:
    if api_of(subject.library.soname):
        return None
    adapter, found = _adapter(subject), variables_of(subject)
    told = adapter.environment if isinstance(adapter, Adapter) else {}
    names = [*found, *(name for name in told if not any(fnmatchcase(one, name) for one in found))]
    if not names:
        return None
    lines = [f"{name}: {text}" if (text := _told(told, name)) else name for name in names[:MOST_NAMED]]
    more = f"; and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return "reads " + "; ".join(lines) + more


def _told(environment: Mapping[str, str], name: str) -> str:
    return next((text for known, text in environment.items() if fnmatchcase(name, known)), "")


@check(
    "adapter-unread", "note", LIBRARY,
    means="what its author knows of the library is not shown: its books, its locks, its variables",
    do="use a gdb whose Python has all of its library; gdbcuda check, in a shell, has one of its own",
)  # fmt: skip
def adapter_unread(subject: Subject) -> Answer:
    problem = _adapter(subject)
    if not isinstance(problem, adapter_file.NoReader):
        return None
    return f"{os.path.basename(adapter_file.found_beside(subject.library.path))} is not read: {problem}"


@check(
    "adapter-wrong", "warning", LIBRARY,
    means="what its author knows of the library is not shown: its books, its locks, its variables",
    do="mend the file; gdbcuda help own-books says what is in one",
)  # fmt: skip
def adapter_wrong(subject: Subject) -> Answer:
    adapter = _adapter(subject)
    if isinstance(adapter, UserError):
        return None if isinstance(adapter, adapter_file.NoReader) else str(adapter)
    if adapter is None or not subject.hidden_is_known:
        return None
    missing = [name for name in adapter.functions if not _is_defined(subject, name)]
    names = ", ".join(missing)
    return Answered(f"names {names}, which the library has not, or only inside of other functions") if missing else None


def _is_defined(subject: Subject, name: str) -> bool:
    """Of a C++ function the name is inside of a mangled one."""
    last = name.rpartition("::")[2]
    return last in subject.defined or any(last in one for one in subject.defined if one.startswith("_Z"))


def _adapter(subject: Subject) -> Adapter | UserError | None:
    """Or why it is not to be had."""
    path = adapter_file.found_beside(subject.library.path)
    try:
        return adapter_file.read(path) if path else None
    except UserError as problem:
        return problem
