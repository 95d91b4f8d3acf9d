"""Emacs: ``M-x gdb``, which starts gdb over MI in the folder of the program; so the project's .gdbinit is named."""

from __future__ import annotations

import os
import re

from gdbcuda.ide.files import gdbinit
from gdbcuda.ide.ide_plan import IdePlan, IdeRequest, ide


@ide("emacs", "Emacs, M-x gdb")
def emacs(request: IdeRequest) -> IdePlan:
    init = os.path.join(request.folder, request.init_file)
    steps = [
        *request.server_steps(),
        f"in Emacs:  M-x gdb  and  {' '.join(map(word, [request.gdb, '-i=mi', request.program, '-x', init]))}",
        *([f"in its gdb window:  target remote {request.remote}"] if request.remote else []),
        "in its gdb window:  cuda-break cuMemAlloc  and  " + ("continue" if request.remote else "run"),
    ]
    return IdePlan((gdbinit(request.commands(), request.init_file),), tuple(steps))


def word(path: str) -> str:
    """Emacs knows one kind of quotes, and in them a backslash. (Its Lisp manual: split-string-and-unquote.)"""
    escaped = re.sub(r'(["\\])', r"\\\1", path)
    return f'"{escaped}"' if re.search(r'[\s"\\]', path) else path
