"""What a call that succeeded has left behind its out-pointers."""

from __future__ import annotations

import functools
from typing import Any

from gdbcuda import api, decode


@functools.cache
def written(function: api.Function) -> tuple[int, ...]:
    """The positions of the parameters that the function writes through."""
    return tuple(i for i, p in enumerate(function.parameters) if p.direction != "in")


def out_values(function: api.Function, raws: list[bytes | None], memory: Any, table: api.Table) -> dict[str, Any]:
    positions = written(function)
    found = decode.some_arguments(function, raws, memory, table, positions) if positions else []
    return {one.name: one.data for one in found}
