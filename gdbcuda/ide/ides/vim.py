"""Vim and Neovim with termdebug, and every other front end that starts gdb in the project's folder: its .gdbinit."""

from __future__ import annotations

import re

from gdbcuda.ide.files import gdbinit
from gdbcuda.ide.ide_plan import IdePlan, IdeRequest, ide


@ide("vim", "Vim and Neovim with termdebug, and gdb itself in the project's folder")
def vim(request: IdeRequest) -> IdePlan:
    steps = [
        request.allowing(),
        *request.server_steps(),
        f"in Vim or Neovim, in {request.folder}:  :packadd termdebug  and  :Termdebug {word(request.program)}",
        *([f"in its gdb window:  target remote {request.remote}"] if request.remote else []),
    ]
    return IdePlan((gdbinit(request.commands(), request.init_file),), tuple(steps))


def word(path: str) -> str:
    """Of a command of Vim's. (Its manual: <f-args>; cmdline-special.)"""
    return re.sub(r"([\s\\%#])", r"\\\1", path)
