"""Vim and Neovim with termdebug, and every other front end that starts gdb in the project's folder: its .gdbinit."""

from __future__ import annotations

import os

from gdbcuda.ide.files import gdbinit
from gdbcuda.ide.plan import Plan, Request, ide


@ide("vim", "Vim's termdebug, and gdb itself in the project's folder")
def vim(request: Request) -> Plan:
    steps = [
        f"once, so that gdb reads it, in ~/.gdbinit:  "
        f"add-auto-load-safe-path {os.path.join(request.folder, '.gdbinit')}",
        *request.server_steps(),
        f"in Vim, in {request.folder}:  :packadd termdebug  and  :Termdebug {request.program}",
        *([f"in its gdb window:  target remote {request.remote}"] if request.remote else []),
    ]
    return Plan((gdbinit(request.commands()),), tuple(steps))
