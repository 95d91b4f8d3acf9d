"""How long a call is delayed, as typed: 5ms, 200us, 1.5s."""

from __future__ import annotations

import re

from gdbcuda.errors import UserError
from gdbcuda.text.patterns import pattern

UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
DURATION = pattern(r"(\d{1,12}(?:\.\d{1,9})?)(ns|us|ms|s)", re.ASCII)
LONGEST = 60 * UNITS["s"]  # to let a process go gdb waits for a thread that waits


def nanoseconds(word: str) -> int:
    found = DURATION.fullmatch(word)
    if found is None:
        raise ValueError
    value = round(float(found[1]) * UNITS[found[2]])
    if value > LONGEST:
        raise UserError(f"{word} is longer than a minute")
    return value


def shown(nanoseconds: int) -> str:
    """In the largest unit that it is at least one of."""
    unit, factor = next(((unit, size) for unit, size in reversed(UNITS.items()) if nanoseconds >= size), ("ns", 1))
    return f"{nanoseconds / factor:.12g}{unit}"
