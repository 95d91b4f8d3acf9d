"""The status that a call fails with: a name of the function's own result enum, or a number."""

from __future__ import annotations

from collections.abc import Iterable

from gdbcuda import api
from gdbcuda.errors import UserError
from gdbcuda.faults.fault_plan import require_status
from gdbcuda.text.patterns import pattern
from gdbcuda.text.sentences import meant

NUMBER = pattern(r"-?(?:0[xX][0-9a-fA-F]+|[0-9]+)")
LOWEST, HIGHEST = -(1 << 31), (1 << 32) - 1  # of an enum's 32 bits


def read(text: str, function: api.Function, is_any_number: bool = False) -> tuple[int, str]:
    """The status and what it is called; `UserError`. ``is_any_number``: one that is not in the enum too."""
    require_status(function)
    values, kind = names(function), function.result.name
    if text in values:
        return values[text], text
    if not NUMBER.fullmatch(text):
        raise UserError(f"{function.symbol} returns {kind}, which has no {text!r}{meant(text, values)}")
    number = int(text, 0 if text.lower().lstrip("-").startswith("0x") else 10)
    if not LOWEST <= number <= HIGHEST:
        raise UserError(f"{text} has more than the 32 bits of a {kind}")
    name = function.result.enum.name_of(number) if function.result.enum is not None else None
    if name is None and not is_any_number:
        raise UserError(f"{text} is no value of {kind}; with --any-number it is returned all the same")
    return number, f"{name} ({text})" if name else f"{text}, which is no {kind}"


def names(function: api.Function) -> dict[str, int]:
    enum = function.result.enum
    return dict(enum.values) if enum is not None else {}


def complete(functions: Iterable[api.Function]) -> Iterable[str]:
    """Those of all of the functions; failures, for success is seldom what is wanted."""
    return sorted({name for function in functions for name, value in names(function).items() if value})
