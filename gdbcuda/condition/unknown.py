"""Why a name means nothing in a condition, and what was meant."""

from __future__ import annotations

from functools import cache

from gdbcuda import api
from gdbcuda.condition import parser, syntax, words
from gdbcuda.errors import UserError

RESULTS = ("result", "error")
ON_ENTRY = "a condition is looked at when the function is entered"


def unknown(node: syntax.Name, function: api.Function, table: api.Table) -> UserError:
    name = node.name
    if name in RESULTS:
        return UserError(f"{ON_ENTRY}: there is no {name} yet (--on error stops at an error)")
    if name == "nth":
        return words.misplaced(node, name)
    if name in parser.USAGE:
        return parser.misused(node.column, name)
    names = ", ".join(parameter.name for parameter in function.parameters)
    has = f'has no parameter "{name}"; it has {names}' if names else f'has no parameters, so no "{name}"'
    near = " or ".join(nearest_constants(name, table))
    return UserError(f"{function.symbol} {has}" + (f"; or did you mean {near}?" if near else ""))


@cache  # a glob asks once for each of some hundred functions
def nearest_constants(name: str, table: api.Table) -> list[str]:
    from difflib import get_close_matches  # only for an error message, and slow to import

    return get_close_matches(name, [*table.constants], 2, 0.85)
