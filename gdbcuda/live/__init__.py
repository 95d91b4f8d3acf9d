"""The only room with ``import gdb``. ``start()`` registers everything and connects all events, nowhere else."""

from __future__ import annotations

import os

import gdb

from gdbcuda.packages import load_all
from gdbcuda.text import error_lines


def start() -> None:
    from gdbcuda.live.host import interrupts

    interrupts.listen()
    interrupts.unheard(load)()


def load() -> None:
    keep_folder()
    from gdbcuda.live.host.lazily import load_later

    load_later()
    from gdbcuda.live import commands, events
    from gdbcuda.live.host import console
    from gdbcuda.live.placing import link
    from gdbcuda.live.prompt import settings

    link.is_cuda_gdb()
    settings.register()
    load_all(commands)
    events.connect()
    console.keep_internal_breakpoints_out()
    console.keep_internal_hits_out()


def keep_folder() -> None:
    """gdb dies over each relative name of a source where its current folder was deleted before it started: it has no
    name for that folder. This one leads to the same, and changes nothing for the program."""
    from gdbcuda.live.host import gdb_cli

    if not error_lines.has_folder() and os.path.isdir("/proc/self/cwd"):
        gdb_cli.execute("cd /proc/self/cwd")


def sourced_again() -> None:
    from gdbcuda.live import welcome

    if not welcome.is_starting():  # before, it is the user's own files that source it, one by one
        gdb.write("gdbcuda is already loaded; for another one start gdb again.\n")
