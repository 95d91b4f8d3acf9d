"""A CUDA runtime inside the program that a strip has taken the names from: a log has no call of it."""

from __future__ import annotations

import os
from collections.abc import Set
from functools import lru_cache

from gdbcuda import api
from gdbcuda.errors import UserError
from gdbcuda.live import process
from gdbcuda.live.layers import library_files, table_version
from gdbcuda.text.printable import visible


def remark(wanted: Set[str]) -> str:
    """ "" where it has its names, or a debug file has them, or nobody asked for calls of the runtime."""
    path, table = process.strip_prefix(process.program()), table_version.table()
    if not path or not any(runtimes(wanted, table)) or any(runtimes(library_files.defined(path), table)):
        return ""
    if not is_inside(path, library_files.version_of(path)):
        return ""
    return (f"\nThe CUDA runtime inside {visible(os.path.basename(path))} is not recorded: the file is stripped, "
            "so its functions have no names. What its calls become in the driver is.")  # fmt: skip


def runtimes(symbols: Set[str], table: api.Table) -> set[str]:
    return {one for one in symbols if one in table.functions and table.functions[one].api == "runtime"}


@lru_cache(maxsize=16)
def is_inside(path: str, version: tuple[int, ...]) -> bool:
    from gdbcuda import elf
    from gdbcuda.check.subjects import runtime_inside

    try:
        return runtime_inside.is_inside(elf.open(path), runtime_inside.MOST_OF_ONE)
    except UserError:
        return False
