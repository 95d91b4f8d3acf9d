"""What a core file leaves out: the read-only parts of the objects, which gdb takes from the files here.

Where a file is missing those parts read as zeros, where it is another build as something else; neither is searched for
symbols. (core(5): /proc/PID/coredump_filter.)
"""

from __future__ import annotations

import os

import gdb

from gdbcuda.api import vendor
from gdbcuda.linkage.image import Image
from gdbcuda.live.process.state import program


def mark(images: list[Image]) -> None:
    """Sets ``lacking`` of those whose contents are not known."""
    files = files_here()
    for one in images:
        if vendor.is_vdso(one.name):
            continue
        name = os.path.basename(one.name or program())
        here = files.get(name)
        if here is None and not one.has_contents():
            one.lose_contents(f"{name or 'the program'} is not here")
        elif here is not None and here.build_id and one.build_id not in (None, here.build_id):
            ids = f"build-id {here.build_id[:12]}, in the core file {one.build_id[:12]}"
            one.lose_contents(f"{here.filename} is another build ({ids})")


def files_here() -> dict[str, gdb.Objfile]:
    """The files that gdb has read, by name without directory; those with debug info alone belong to another."""
    return {os.path.basename(one.filename): one for one in gdb.objfiles() if one.filename and one.owner is None}
