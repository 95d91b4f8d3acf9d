"""From the directory where the compiler ran to the checkout here: gdb's ``set substitute-path FROM TO``.

The debug info names each source by the directory of its compilation (DW_AT_comp_dir), which for a library built in a
container is nowhere here. (DWARF 5, section 3.1.1; gdb manual, "Specifying Source Directories".)
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from gdbcuda.errors import UserError
from gdbcuda.files import source_places

BUILD_FOLDER = re.compile(r"(cmake-)?build|(out|bin|lib|lib64|dist|target|obj|debug|release|\.libs)$", re.IGNORECASE)
Map = tuple[str, str]  # directory there, directory here


class Sources(NamedTuple):
    """``maps`` make gdb find the sources; ``missing`` are those that no map leads to, as the debug info names them."""

    maps: list[Map]
    missing: list[str]


def of_files(files: Iterable[str], maps: Iterable[Map] = ()) -> Sources:
    """Of the files with debug info; ``maps`` are the user's own and come first."""
    known, missing = list(maps), []
    for file in files:
        gone = unfound(named_by(file), known)
        found = substitution(gone, file) if gone else None
        if found and found not in known:
            known.append(found)
        missing += unfound(gone, known)
    return Sources(known, missing)


def named_by(file: str) -> list[str]:
    """The sources that the file's debug info names, absolute ones; [] without debug info."""
    from gdbcuda import elf  # what names no file here does not wait for it

    try:
        units = list(elf.open(file).dwarf.units())
    except UserError:
        return []
    some = units[: source_places.MOST_PATHS]
    paths = dict.fromkeys(source_places.source_path(unit.directory, unit.name) for unit in some)
    return [path for path in paths if path.startswith("/")]


def unfound(paths: Iterable[str], maps: list[Map]) -> list[str]:
    return [path for path in paths if not os.path.exists(source_places.here(path, maps))]


def there(path: str, maps: Iterable[Map]) -> str:
    """Where a file of the checkout is on the other machine: the same rules the other way."""
    return next((new for far, near in maps if (new := source_places.rebased(path, near, far))), path)


def substitution(gone: list[str], file: str) -> Map | None:
    """Looks in the current directory, in the library's, in the repositories that they are in, and beside build/. A file
    of the same name in one of them must not hide the better match in the next."""
    beside = os.path.dirname(os.path.abspath(file))
    is_build = bool(BUILD_FOLDER.match(os.path.basename(beside)))
    searched = (source_places.tops(), source_places.tops(beside), [os.path.dirname(beside)] * is_build)
    return source_places.substitution(gone, *([place for place in places if place != "/"] for places in searched))
