"""Counts and lists in sentences."""

from __future__ import annotations


def counted(number: int, thing: str) -> str:
    """ "1 function", "2 functions"."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def some(names: list[str], most: int = 6) -> str:
    """ "a, b and c" of a short list, "a, b, c and 12 more" of a long one."""
    if len(names) > most:
        return ", ".join(names[:most]) + f" and {len(names) - most} more"
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else "".join(names)
