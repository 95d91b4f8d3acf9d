"""What the hook libraries' own books say in this process: their limits, and the variables that are set."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from gdbcuda.adapter.adapter_file import Adapter
from gdbcuda.check.finding import Finding
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.live.books import accounts, adapters
from gdbcuda.live.books.accounts import Account
from gdbcuda.live.process import environment_variables
from gdbcuda.text.units import human


def findings() -> Iterator[Finding]:
    """A damaged adapter is a finding of the library's file."""
    try:
        found = adapters.all_here()
    except UserError:
        return
    for hook, adapter in found:
        yield from of(hook, adapter)


def of(hook: str, adapter: Adapter) -> Iterator[Finding]:
    try:
        told = [account_text(one) for one in accounts.lasting(hook, adapter)]
    except UserError as problem:
        told = [f"not known: {problem}"]
    if told:
        yield Finding("own-books", "note", "; ".join(told), "what the hook library's own books say, by its adapter")
    given = [f"{name}={value}" for name, value in set_here() if is_told(adapter, name)]
    if given:
        yield Finding("own-variables", "note", " ".join(given), "the variables of the hook library that are set here")


def account_text(account: Account) -> str:
    if account.error:
        return f"device {account.device} not known: {account.error}"
    limit = f" of {human(account.limit)}" if account.limit else ", no limit" if account.limit == 0 else ""
    used = "unknown" if account.used is None else human(account.used)
    return f"device {account.device}: {used}{limit} in use"


def is_told(adapter: Adapter, name: str) -> bool:
    return any(fnmatchcase(name, known) for known in adapter.environment) or name == adapter.limit_variable


def set_here() -> list[tuple[str, str]]:
    try:
        strings = [text.decode(errors="replace") for _, text in environment_variables.current()]
    except (UserError, Unreadable):
        return []
    return [(name, value) for name, _, value in (one.partition("=") for one in strings)]
