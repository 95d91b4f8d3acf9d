"""One call, decoded: arguments by the numbers or bytes of their registers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gdbcuda import api, decode
from gdbcuda.memory import DictMemory

TABLE = api.load()
FUNCTIONS = list(TABLE.functions.values())
HERE, THERE = 0x7FFE0C58, 0x7F00_0000


def raws(function: api.Function, values: tuple[Any, ...]) -> list[bytes | None]:
    """Numbers as the bytes of each parameter's type; bytes and None as they are."""
    sizes = [parameter.type.size for parameter in function.parameters]
    return [
        (v & ((1 << 8 * size) - 1)).to_bytes(size, "little") if isinstance(v, int) else v
        for v, size in zip(values, sizes)
    ]


def call(
    symbol: str, *values: Any, memory: Mapping[int, bytes] | None = None, **how: Any
) -> dict[str, decode.DecodedArgument]:
    function = TABLE.functions[symbol]
    assert len(values) == len(function.parameters), function
    how.setdefault("phase", "enter")
    found = decode.arguments(function, raws(function, values), DictMemory(memory or {}), TABLE, **how)
    return {argument.name: argument for argument in found}


def texts(symbol: str, *values: Any, **how: Any) -> list[str]:
    return [argument.text for argument in call(symbol, *values, **how).values()]
