"""Counts, lists and near misses in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable


def counted(number: int, thing: str) -> str:
    """ "1 function", "2 functions"."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def with_counts(sentences: Counter[str]) -> str:
    """ "3 x a call without its end; the last line is cut off": the most frequent first; of what there is once only the
    words."""
    return "; ".join(one if count == 1 else f"{count} x {one}" for one, count in sentences.most_common() if count)


def some(names: list[str], most: int = 6, say: Callable[[str], str] = str) -> str:
    """ "a, b and c" of a short list, "a, b, c and 12 more" of a long one; ``say`` words each that is shown."""
    if len(names) > most:
        return ", ".join(map(say, names[:most])) + f" and {len(names) - most} more"
    names = [*map(say, names)]
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else "".join(names)


def short_paths(paths: Iterable[str]) -> dict[str, str]:
    """Each without its directory, unless two are called the same."""
    different = dict.fromkeys(paths)
    bases = [path.rsplit("/", 1)[-1] for path in different]
    return {path: base if bases.count(base) == 1 else path for path, base in zip(different, bases)}


def ranges(numbers: Iterable[int]) -> str:
    """ "1-3, 7" of 1, 2, 3 and 7."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def meant(word: str, known: Iterable[str], before: str = "") -> str:
    """ "; did you mean BEFOREnearest?", or "" where none is near."""
    from difflib import get_close_matches  # slow to import, and only for an error message

    near = get_close_matches(word, [*known], 1)
    return f"; did you mean {before}{near[0]}?" if near else ""
