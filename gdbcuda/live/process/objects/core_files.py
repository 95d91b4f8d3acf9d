"""What to do where a core file lacks contents. (gdb manual: "Files", solib-search-path.)"""

from __future__ import annotations

import os

from gdbcuda.api import vendor
from gdbcuda.linkage.image import Image
from gdbcuda.live import process
from gdbcuda.live.process.objects.core_contents import file_here

NAME_IT = "name it (file PROGRAM) and open the core file again"
WHERE = "say where the right one is (set solib-search-path DIR, or set sysroot) and open the core file again"


def advice() -> list[str]:
    """One line for each object of which nothing is known, here or by gdb; [] for a process."""
    if process.connection() != "core":
        return []
    if not process.program():  # without it gdb does not look for libraries either
        return [f"the program is not here: {NAME_IT}"]
    return [f"{why}: its functions are not known here; {WHERE}" for one in process.images() if (why := missing(one))]


def missing(one: Image) -> str:
    """gdb's own core files have the contents too, but without a file gdb knows no functions."""
    name = os.path.basename(one.name or process.program())
    if one.lacking or file_here(one) is not None or vendor.layer_of(name):
        return one.lacking
    return f"{name} is not here"
