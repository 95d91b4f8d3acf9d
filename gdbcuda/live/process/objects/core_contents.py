"""What a core file leaves out: the read-only parts of the objects, which gdb takes from the files here.

Where a file is missing those parts read as zeros, where it is another build as something else, and some parts may be
there and others not; none of these is searched for symbols. (core(5): /proc/PID/coredump_filter.)
"""

from __future__ import annotations

import os

import gdb

from gdbcuda.api import vendor
from gdbcuda.linkage.image import Image
from gdbcuda.linkage.readable import is_readable
from gdbcuda.live.process.state import program, strip_prefix


def mark(images: list[Image]) -> None:
    """Sets ``lacking`` of those whose contents are not known."""
    for one in images:
        if vendor.is_vdso(one.name):
            continue
        name, here = os.path.basename(one.name or program()), file_here(one)
        if here is None and not one.has_contents():
            one.lose_contents(f"{name or 'the program'} is not here")
        elif here is not None and here.build_id and one.build_id not in (None, here.build_id):
            ids = f"build-id {here.build_id[:12]}, in the core file {one.build_id[:12]}"
            one.lose_contents(f"{here.filename} is another build ({ids})")
        elif not is_readable(one):
            one.lose_contents(f"{name or 'the program'} is not in the core file as a whole")


def file_here(one: Image) -> gdb.Objfile | None:
    """What gdb has read for the object, wherever it has found it; of several libraries of that name the object's own.
    (Files with debug info alone belong to another.)"""
    wanted = one.name or strip_prefix(program())

    def likeness(file: gdb.Objfile) -> tuple[bool, bool]:
        return strip_prefix(file.filename or "").endswith(wanted), file.build_id == one.build_id

    known = [file for file in gdb.objfiles() if file.filename and file.owner is None]
    same = [file for file in known if os.path.basename(file.filename or "") == os.path.basename(wanted)]
    return max(same, key=likeness, default=None)
