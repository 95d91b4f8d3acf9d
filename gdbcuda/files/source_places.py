"""From the directory where a compiler ran to the sources here: which rule of gdb's would find them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable

from gdbcuda.text.error_lines import has_folder

_MOST_DIRECTORIES = 2000
_DEEPEST = 4
MOST_PATHS = 500


def here(path: str, maps: Iterable[tuple[str, str]]) -> str:
    """Where gdb looks for a source: the first rule (FROM, TO) that fits whole directories."""
    return next((new for far, near in maps if (new := rebased(path, far, near))), path)


def rebased(path: str, old: str, new: str) -> str:
    """Empty where the path is not in the old directory."""
    old, new = old.rstrip("/"), new.rstrip("/")
    return new + path[len(old) :] if path == old or path.startswith(old + "/") else ""


def source_path(directory: str, name: str) -> str:
    """As gdb puts it together: the name given to the compiler, in the directory where it ran."""
    if not name or name.startswith("<"):
        return ""
    return os.path.normpath(os.path.join(directory, name))


def substitution(gone: list[str], *searched: list[str]) -> tuple[str, str] | None:
    """(FROM, TO) that finds most of the files in or below the places, each list of them searched for itself; None if it
    finds none."""
    votes: Counter[tuple[str, str]] = Counter()
    for places in searched:
        votes |= _votes(gone, places)
    if not votes:
        return None
    # of equally good ones the longest common path, that is the shortest FROM, is the least accidental
    return min(votes, key=lambda pair: (-votes[pair], len(pair[0]), len(pair[1]), pair))


def _votes(gone: list[str], places: list[str]) -> Counter[tuple[str, str]]:
    directories = _directories({os.path.basename(path) for path in gone}, places)
    return Counter(
        pair
        for path in gone
        for directory in directories[os.path.basename(path)]
        if (pair := _differing(os.path.dirname(path), directory))
    )


def _differing(gone: str, here: str) -> tuple[str, str] | None:
    """Two directories without what their paths have in common at the end."""
    old, new = gone.split("/"), here.split("/")
    while len(old) > 2 and len(new) > 1 and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    return ("/".join(old), "/".join(new)) if len(old) > 1 and old[-1] else None


def _directories(names: set[str], places: list[str]) -> dict[str, list[str]]:
    """Which directories below the places hold a file of each name."""
    found: dict[str, list[str]] = {name: [] for name in names}
    looked_at: set[str] = set()
    for place in places:
        for directory, below, files in os.walk(place):
            depth = directory[len(place) :].count("/")
            below[:] = sorted(each for each in below if not each.startswith(".") and depth < _DEEPEST)
            if directory in looked_at:
                continue
            looked_at.add(directory)
            for name in names.intersection(files):
                found[name].append(directory)
            if len(looked_at) >= _MOST_DIRECTORIES:
                return found
    return found


def tops(start: str = "") -> list[str]:
    """The directory (the current one, while it is there), and the root of the git repository that it is in."""
    if not start and not has_folder():
        return []
    here = directory = start or os.getcwd()
    while not os.path.exists(os.path.join(directory, ".git")):
        if directory == os.path.dirname(directory):
            return [here]
        directory = os.path.dirname(directory)
    return list(dict.fromkeys([here, directory]))


def common(paths: list[str]) -> str:
    """The directory that all paths share: what was the project's place on the machine that compiled it."""
    directories = [os.path.dirname(path) for path in paths if path.startswith("/")]
    return os.path.commonpath(directories)
