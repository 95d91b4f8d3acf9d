"""Emacs: ``M-x gdb``, which starts gdb over MI in the folder of the program; so the project's .gdbinit is named."""

from __future__ import annotations

import os
import shlex

from gdbcuda.ide.files import gdbinit
from gdbcuda.ide.ide_plan import IdePlan, IdeRequest, ide


@ide("emacs", "Emacs, M-x gdb")
def emacs(request: IdeRequest) -> IdePlan:
    init = os.path.join(request.folder, request.init_file)
    steps = [
        *request.server_steps(),
        f"in Emacs:  M-x gdb  and  {shlex.join([request.gdb, '-i=mi', request.program, '-x', init])}",
        *([f"in its gdb window:  target remote {request.remote}"] if request.remote else []),
        "in its gdb window:  cuda-break cuMemAlloc  and  " + ("continue" if request.remote else "run"),
    ]
    return IdePlan((gdbinit(request.commands(), request.init_file),), tuple(steps))
