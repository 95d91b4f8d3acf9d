"""Counts, lists and near misses in sentences."""

from __future__ import annotations

from collections.abc import Iterable


def counted(number: int, thing: str) -> str:
    """ "1 function", "2 functions"."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def some(names: list[str], most: int = 6) -> str:
    """ "a, b and c" of a short list, "a, b, c and 12 more" of a long one."""
    if len(names) > most:
        return ", ".join(names[:most]) + f" and {len(names) - most} more"
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else "".join(names)


def meant(word: str, known: Iterable[str], before: str = "") -> str:
    """ "; did you mean BEFOREnearest?", or "" where none is near."""
    from difflib import get_close_matches  # slow to import, and only for an error message

    near = get_close_matches(word, [*known], 1)
    return f"; did you mean {before}{near[0]}?" if near else ""
