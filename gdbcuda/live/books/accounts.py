"""What the hook libraries' own books say, device by device, and what they limit."""

from __future__ import annotations

from typing import NamedTuple

from gdbcuda.adapter.adapter_file import Adapter
from gdbcuda.command_line.argument_types import bytes_of
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.live.books import adapters, evaluation
from gdbcuda.live.process import variables

MOST_DEVICES, MOST_SHOWN = 64, 8


class Account(NamedTuple):
    """``used`` and ``limit`` in bytes; None for what the adapter does not tell; ``error``: why one is not known."""

    hook: str
    device: int
    used: int | None = None
    limit: int | None = None
    error: str = ""


def account(device: int) -> Account | None:
    """Of the first hook library with an adapter that has books; None without one."""
    for hook, adapter in adapters.all_here():
        if adapter.books or adapter.limit_variable:
            return of(hook, adapter, device)
    return None


def of(hook: str, adapter: Adapter, device: int) -> Account:
    try:
        used, limit = (evaluation.number(adapter.books[name], hook, device) if name in adapter.books else None
                       for name in ("used", "limit"))  # fmt: skip
    except UserError as problem:
        return Account(hook, device, error=str(problem))
    return Account(hook, device, used, limit_by_environment(adapter) if limit is None else limit)


def limit_by_environment(adapter: Adapter) -> int | None:
    """0 where the variable is not set, or is no size."""
    if not adapter.limit_variable:
        return None
    try:
        return bytes_of(variables.get(adapter.limit_variable) or "")
    except (ValueError, UserError, Unreadable):
        return 0


def devices(hook: str, adapter: Adapter) -> int:
    """How many there are; 1 where the adapter does not tell."""
    if "devices" not in adapter.books:
        return 1
    return max(0, min(evaluation.number(adapter.books["devices"], hook), MOST_DEVICES))


def lasting(hook: str, adapter: Adapter) -> list[Account]:
    """Of the first device, and of all that have something in use; [] where the adapter has no books."""
    if not adapter.books and not adapter.limit_variable:
        return []
    count = devices(hook, adapter)
    try:
        used, limits = (of_devices(hook, adapter, name, count) for name in ("used", "limit"))
    except UserError as problem:
        return [Account(hook, 0, error=str(problem))]
    for_all = limit_by_environment(adapter)
    found = [Account(hook, device, in_use, for_all if limit is None else limit)
             for device, (in_use, limit) in enumerate(zip(used, limits))]  # fmt: skip
    return [one for one in found if one.used or one.error or not one.device][:MOST_SHOWN]


def of_devices(hook: str, adapter: Adapter, name: str, count: int) -> list[int | None]:
    return [*evaluation.numbers(adapter.books[name], hook, count)] if name in adapter.books else [None] * count
