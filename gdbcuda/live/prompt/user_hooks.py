"""Hooks in front of and behind gdb's own commands, where gdb has no event for them.

gdb has them for its users: so they are made when they are first needed, one that the user has is left alone, and they
are marked as deprecated, which keeps them out of ``help user-defined`` and of completion.
(gdb manual: "User-defined Command Hooks"; "Maintenance Commands", maint deprecate.)
"""

from __future__ import annotations

import importlib

from gdbcuda.live.host import gdb_cli, interrupts
from gdbcuda.live.prompt import safely

# in gdb's python command: binds no name of the user's
THIS = "__import__('gdbcuda.live.prompt.user_hooks', fromlist=['*'])"
_ours: set[str] = set()


def add(hook: str, module: str, function: str) -> None:
    """``hook`` as gdb's define takes it: "info hookpost-breakpoints". It calls a function of a module of gdbcuda.live;
    what fails there is said, and gdb's command goes on."""
    define_once(hook, f"python {THIS}.call({module!r}, {function!r})")


def add_condition(hook: str, function: str) -> None:
    """gdb's command is not executed where the convenience function fails: its line is that command's error. (What fails
    in gdb's python command comes with its traceback.)"""
    define_once(hook, f"if ${function}()\nend")


def define_once(hook: str, body: str) -> None:
    if hook not in _ours:
        _ours.add(hook)
        gdb_cli.when_possible(lambda: define(hook, body))


@interrupts.uninterrupted
def define(hook: str, body: str) -> None:
    if f'"{hook}"' in gdb_cli.execute("show user"):
        return
    gdb_cli.execute(f"define {hook}\n{body}\nend")
    gdb_cli.execute(f"maintenance deprecate {hook}")


def call(module: str, function: str) -> None:
    safely.contained(getattr(importlib.import_module(f"gdbcuda.live.{module}"), function))()
