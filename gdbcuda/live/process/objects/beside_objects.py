"""Small files that lie beside an object of the process, on its machine: what is installed with a library."""

from __future__ import annotations

import os

from gdbcuda.linkage.image import Image
from gdbcuda.live.process import proc_files
from gdbcuda.live.process.objects.file_bytes import path_of
from gdbcuda.live.process.objects.loaded_objects import objfile_of
from gdbcuda.live.process.state import connection, is_remote, strip_prefix


def text_beside(owner: Image, relative: str) -> str | None:
    """``relative`` to the folder of the object. None where there is no such file, or it cannot be had."""
    read, file = (proc_files.far, owner.name) if is_remote() else (proc_files.near, here(owner))
    raw = read(os.path.normpath(os.path.join(os.path.dirname(file), relative)))
    return raw.decode(errors="replace") if raw is not None else None


def here(owner: Image) -> str:
    """The object's file: in the process's own view of the files, or the one that gdb has found for a core file."""
    if connection() == "native":
        return path_of(owner)
    found = objfile_of(owner.name)
    return strip_prefix((found.filename if found is not None else None) or owner.name)
