"""Which versions are stored, and which of them stands in for the one that somebody has."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, Union

from gdbcuda.api import notes, table
from gdbcuda.errors import UserError

FOLDER = os.path.dirname(__file__)
TABLE, VERSIONS = os.path.join(FOLDER, "table.json"), os.path.join(FOLDER, "versions.txt")
Version = Union[str, int, None]


@lru_cache(maxsize=1)
def read_table() -> tuple[Mapping[str, Any], notes.ApiNotes]:
    import json  # not before: sourcing the extension does not wait for it

    with open(TABLE, encoding="utf-8") as file:
        return json.load(file), notes.ApiNotes()


@cache
def stored_versions(library: str) -> tuple[str, ...]:
    """Of "cuda" or "nvml", oldest first; the table takes 5 ms to read, and settings only name its versions."""
    with open(VERSIONS, encoding="utf-8") as file:
        return next(tuple(versions) for name, *versions in map(str.split, file) if name == library)


def load(cuda: Version = None, nvml: Version = None) -> table.Table:
    """The table for these versions: "12.4", "12", 12040, or None for the newest. What is not stored
    becomes the nearest older one, or the oldest. UserError for what is no version."""
    return _load(choose(cuda, stored_versions("cuda")), choose(nvml, stored_versions("nvml")))


@cache
def _load(cuda: str, nvml: str) -> table.Table:
    data, noted = read_table()
    return table.Table(data, cuda, nvml, noted)


@cache
def load_all() -> table.Table:
    """The newest table with the functions that older versions have and it has not: for those who do not know yet which
    version they will meet, or meet a driver that is newer than the runtime."""
    (*cuda_before, cuda), (*nvml_before, nvml) = stored_versions("cuda"), stored_versions("nvml")
    data, noted = read_table()
    return table.Table(data, cuda, nvml, noted, {"cuda": cuda_before[::-1], "nvml": nvml_before[::-1]})


def choose(wanted: Version, stored: tuple[str, ...]) -> str:
    if wanted is None:
        return stored[-1]
    number = version_number(wanted)
    return max((v for v in stored if version_number(v) <= number), key=version_number, default=stored[0])


def version_number(version: str | int) -> tuple[int, int]:
    """(12, 4) of "12.4" and of 12040; "12" means the last of its kind."""
    if isinstance(version, int):
        return version // 1000, version % 1000 // 10
    major, dot, minor = version.partition(".")
    if not major.isdigit() or (dot and not minor.split(".")[0].isdigit()):
        raise UserError(f"{version!r} is no CUDA version (write it as 12.4)")
    return int(major), int(minor.split(".")[0]) if dot else 99
