"""Libraries with functions to record, where gdb reads none by itself (``set auto-solib-add off``): it is told to.

From their symbols gdb knows where functions end and lines begin. All others stay unread: of PyTorch's hundred libraries
these few are small, and gdb reads the others for seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from contextlib import suppress

import gdb

from gdbcuda.errors import UserError
from gdbcuda.linkage import Linkage
from gdbcuda.live import process
from gdbcuda.live.host import gdb_cli
from gdbcuda.live.layers import this_snapshot
from gdbcuda.text.patterns import pattern

BACKSLASH = r"\\\1"
SPECIAL = pattern(r"([].*+?[^$\\])")  # in gdb's patterns, where parentheses and braces are none


def read(wanted: Set[str]) -> None:
    """Outside of gdb's events, for each that is read is one."""
    if gdb.parameter("auto-solib-add"):
        return
    with suppress(UserError, gdb.error):  # the loader has not begun; or the file is none that gdb reads
        for name in sorted(set(unread(wanted))):
            gdb_cli.execute(f"sharedlibrary ^{SPECIAL.sub(BACKSLASH, name)}$")


def unread(wanted: Set[str]) -> Iterator[str]:
    """By gdb's names."""
    layer = this_snapshot.layer_teller()
    for linkage in [*this_snapshot.objects().all, *this_snapshot.objects_elsewhere()]:
        if (linkage.symbols.defined(wanted) or layer(linkage) == "hook") and not has_read(linkage):
            name = gdb.solib_name(linkage.image.dynamic) or ""
            if name and "\n" not in name:
                yield name


def has_read(linkage: Linkage) -> bool:
    return process.objfile_of(this_snapshot.file_of(linkage)) is not None
