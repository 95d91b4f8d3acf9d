"""The first prompt of a session. What gdb reads before it is the user's set-up, which is nothing to talk about."""

from __future__ import annotations

import os

from gdbcuda.live import layers
from gdbcuda.live.host import console
from gdbcuda.live.prompt import settings
from gdbcuda.text import render

HINT = "gdbcuda: cuda-load ./libhook.so, then cuda-break cuMemAlloc; cuda-help"
_prompted = False


def is_starting() -> bool:
    return not _prompted


def on_prompt() -> None:
    global _prompted
    if not _prompted and is_for_a_person():
        console.write(render.colour(HINT, "dim", settings.colour()) + "\n")
    _prompted = True


def is_for_a_person() -> bool:
    """At a terminal, who has sourced the file by hand: it is not in the gdbinit of every day, nor does a project's own
    go on and load a hook library."""
    if not (os.isatty(0) and os.isatty(1)) or console.is_machine_interface() or layers.named_hooks():
        return False
    from gdbcuda.shell import install

    return not install.is_installed()
