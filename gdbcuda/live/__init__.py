"""The only room with ``import gdb``. ``start()`` registers everything and connects all events, nowhere else."""

from __future__ import annotations

import importlib
import pkgutil

import gdb


def start() -> None:
    from gdbcuda.live.later import load_later

    load_later()
    from gdbcuda.live import commands, console, events, functions, link, settings  # noqa: F401  (functions register)

    link.is_cuda_gdb()
    settings.register()
    for module in pkgutil.iter_modules(commands.__path__):
        importlib.import_module(f"gdbcuda.live.commands.{module.name}")
    events.connect()
    console.keep_internal_breakpoints_out()
    console.keep_internal_hits_out()


def sourced_again() -> None:
    from gdbcuda.live import welcome

    if not welcome.is_starting():  # before, it is the user's own files that source it, one by one
        gdb.write("gdbcuda is already loaded; for another one start gdb again.\n")
