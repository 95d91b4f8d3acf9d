"""What a core file leaves out: the read-only parts of the objects, which gdb takes from the files here.

Where a file is missing those parts read as zeros, where it is another build as something else; neither is searched for
symbols. (core(5): /proc/PID/coredump_filter; gdb manual: "Files", solib-search-path.)
"""

from __future__ import annotations

import os

import gdb

from gdbcuda.api import vendor
from gdbcuda.linkage.image import Image
from gdbcuda.live import target

NAME_IT = "name it (file PROGRAM) and open the core file again"
WHERE = "say where the right one is (set solib-search-path DIR, or set sysroot) and open the core file again"


def mark(images: list[Image]) -> None:
    """Sets ``lacking`` of those whose contents are not known."""
    files = files_here()
    for one in images:
        if vendor.is_vdso(one.name):
            continue
        name = os.path.basename(one.name or target.program())
        here = files.get(name)
        if here is None and not one.has_contents():
            one.lose_contents(f"{name or 'the program'} is not here")
        elif here is not None and here.build_id and one.build_id not in (None, here.build_id):
            ids = f"build-id {here.build_id[:12]}, in the core file {one.build_id[:12]}"
            one.lose_contents(f"{here.filename} is another build ({ids})")


def files_here() -> dict[str, gdb.Objfile]:
    """The files that gdb has read, by name without directory; those with debug info alone belong to another."""
    return {os.path.basename(one.filename): one for one in gdb.objfiles() if one.filename and one.owner is None}


def advice() -> list[str]:
    """One line for each object of which nothing is known, here or by gdb; [] for a process."""
    if target.connection() != "core":
        return []
    if not target.program():  # without it gdb does not look for libraries either
        return [f"the program is not here: {NAME_IT}"]
    return [f"{why}: its functions are not known here; {WHERE}" for one in target.images() if (why := missing(one))]


def missing(one: Image) -> str:
    """gdb's own core files have the contents too, but without a file gdb knows no functions."""
    name = os.path.basename(one.name or target.program())
    if one.lacking or name in files_here() or vendor.layer_of(name):
        return one.lacking
    return f"{name} is not here"
