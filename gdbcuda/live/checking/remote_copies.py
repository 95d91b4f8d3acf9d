"""What gdb has of the objects of a program on another machine, for `gdbcuda.remote.copies`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import gdb

from gdbcuda.check.finding import Finding
from gdbcuda.live import layers, process
from gdbcuda.live.host import gdb_cli
from gdbcuda.live.layers import table_version, this_snapshot
from gdbcuda.remote import copies
from gdbcuda.remote.copies import Copy

OTHERS = ("main", "dlsym", "dlvsym")
MOST_FUNCTIONS = 40  # of which the lines are asked for: gdb reads the debug info of each one's file


def findings() -> list[Finding]:
    """[] where the program is of this machine."""
    if not process.is_remote():
        return []
    return [finding for image in process.images() for copy in of_image(image) for finding in copies.findings(copy)]


def of_image(image: Any) -> Iterator[Copy]:
    """Of the program and the hook libraries."""
    file = image.name or process.strip_prefix(process.program())
    named = next((hook for hook in layers.hooks() if layers.is_same_file(file, hook)), "")
    if image.name and not named:
        return
    debug, looked_for = lines_of(file)
    objfile = process.objfile_of(file)
    is_read_there = objfile is not None and (objfile.filename or "").startswith(process.REMOTE_PREFIX)
    here = named if image.name else file
    yield Copy(file, image.base, image.build_id, here if os.path.isfile(here) else "", debug, looked_for, is_read_there)


def lines_of(file: str) -> tuple[bool | None, tuple[str, ...]]:
    """Has gdb lines for the object's functions, and from which sources?"""
    objfile = process.objfile_of(file)
    if objfile is None or not objfile.filename:
        return None, ()
    names = table_version.table().functions
    rows = this_snapshot.symbol_table(objfile.filename)
    chosen = [(name, at) for name, at in rows if name in names or name in OTHERS] or rows  # it may answer otherwise
    tables = [gdb.find_pc_line(address).symtab for _, address in chosen[:MOST_FUNCTIONS]]
    found = dict.fromkeys(table.fullname() for table in tables if table is not None)
    return bool(found), tuple(found)


def substitutions() -> list[tuple[str, str]]:
    """The user's rules: (directory of the debug info, directory here)."""
    shown = gdb_cli.execute("show substitute-path")
    return re.findall(r"^ +`(.*)' -> `(.*)'\.$", shown, re.MULTILINE)
