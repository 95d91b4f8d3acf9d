"""What the hook libraries' own books say, device by device, and what they limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gdbcuda.adapter.adapter_file import Adapter
from gdbcuda.command_line.argument_types import bytes_of
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.live.books import adapters, evaluation
from gdbcuda.live.process import environment_variables

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
        return bytes_of(environment_variables.get(adapter.limit_variable) or "")
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
    try:
        count = devices(hook, adapter)
    except UserError as problem:
        return [Account(hook, 0, error=str(problem))]
    found = of_devices(hook, adapter, count)
    return [one for one in found if one.used or one.error or not one.device][:MOST_SHOWN]


def of_devices(hook: str, adapter: Adapter, count: int) -> list[Account]:
    """Read at once; one by one where a device among them cannot be read, which hides no other."""
    try:
        used = numbers(hook, adapter, "used", count)
        limits = numbers(hook, adapter, "limit", count) or [limit_by_environment(adapter)] * count
    except UserError:
        return [of(hook, adapter, device) for device in range(count)]
    return [Account(hook, device, *both) for device, both in enumerate(zip(used or [None] * count, limits))]


def numbers(hook: str, adapter: Adapter, name: str, count: int) -> Sequence[int | None]:
    """Empty where the adapter does not tell."""
    return evaluation.numbers(adapter.books[name], hook, count) if name in adapter.books else []
