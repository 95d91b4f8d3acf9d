"""``--python``: of which functions' calls the lines of Python are noted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gdbcuda import api
from gdbcuda.errors import UserError
from gdbcuda.ledger.effects.roles import MAP_CALL, hands_out_memory
from gdbcuda.text.sentences import meant


def packed(patterns: Sequence[str], table: api.Table, makes_memory: bool) -> bytes:
    """One in each line."""
    return "".join(f"{name}\n" for name in sorted(wanted(patterns, table, makes_memory))).encode()


def wanted(patterns: Sequence[str], table: api.Table, makes_memory: bool) -> frozenset[str]:
    """`UserError` for a pattern that no function has."""
    found = {name for pattern in patterns for name in functions(pattern, table)}
    if makes_memory:
        found.update(one.symbol for one in table.functions.values() if hands_out_memory(one) or one.base == MAP_CALL)
    return frozenset(found)


def functions(pattern: str, table: api.Table) -> Iterator[str]:
    found = table.find(pattern)
    if not found:
        raise UserError(f"no function {pattern!r} in the API{meant(pattern, [*table.functions])}")
    return (one.symbol for one in found)
