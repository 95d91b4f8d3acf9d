"""What the stand-in is told to answer, and what it has been asked (shim/standin/common/answering.c)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from gdbcuda import api
from gdbcuda.contract.arguments import Arguments

MARKS = "!*"  # of an argument that cannot be reached; of a call that was counted, with its thread


class DriverCall(NamedTuple):
    """A call that has reached the stand-in. ``arguments``: the bytes of each, and of what it points to where that was
    read; none of a function that no answer was prescribed for."""

    symbol: str
    arguments: list[tuple[bytes, bytes | None]]


@cache
def statuses(function: api.Function) -> dict[str, int]:
    """By name; a status of several names is there under each."""
    return dict(function.result.enum.values) if function.result.enum else {}


def prescription(
    function: api.Function, given: Arguments, result: bytes, errno: int | None, is_written: bool = True
) -> str:
    """The value of the variable: that ``function`` answers so, and writes what is in ``given``. ``errno`` is None where
    it is left alone."""
    words = [function.symbol, f"result={result.hex()}"]
    if errno is not None:
        words.append(f"errno={errno}")
    for index, pointee in enumerate(given.pointees):
        if pointee is None:
            continue
        if pointee.is_read:
            words.append(f"read={index}:{len(pointee.before)}")
        if pointee.after and is_written:
            words.append(f"write={index}:{pointee.after.hex()}")
    return " ".join(words)


def fails_once(symbol: str, nth: int, result: bytes) -> str:
    """The value of the variable: that one call of the driver is refused, and not made."""
    return f"{symbol} result={result.hex()} nth={nth}"


def driver_calls(lines: Sequence[Sequence[str]]) -> list[DriverCall]:
    return [DriverCall(words[0], [argument(word) for word in words[1:] if word[0] not in MARKS])
            for words in lines]  # fmt: skip


def argument(word: str) -> tuple[bytes, bytes | None]:
    value, colon, pointee = word.partition(":")
    readable = bytes.fromhex(pointee) if colon and pointee != "!" else None
    return bytes.fromhex(value), readable
