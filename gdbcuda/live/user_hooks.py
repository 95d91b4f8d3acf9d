"""Hooks in front of and behind gdb's own commands, where gdb has no event for them.

gdb has them for its users: so they are made when they are first needed, one that the user has is left alone, and they
are marked as deprecated, which keeps them out of ``help user-defined`` and of completion.
(gdb manual: "User-defined Command Hooks"; "Maintenance Commands", maint deprecate.)
"""

from __future__ import annotations

import importlib

from gdbcuda.live import gdb_cli, safely

NEEDED = ("hook-detach",)
_ours: set[str] = set()


def add(hook: str, module: str, function: str) -> None:
    """``hook`` as gdb's define takes it: "hook-detach", "info hookpost-breakpoints". It calls a function of a module of
    gdbcuda.live, and binds no name of the user's."""
    if hook in _ours:
        return
    _ours.add(hook)
    gdb_cli.when_possible(lambda: define(hook, module, function))


def define(hook: str, module: str, function: str) -> None:
    if f'"{hook}"' in gdb_cli.execute("show user"):
        return
    action = f"__import__('gdbcuda.live.user_hooks', fromlist=['*']).call({hook!r}, {module!r}, {function!r})"
    gdb_cli.execute(f"define {hook}\npython {action}\nend")
    gdb_cli.execute(f"maintenance deprecate {hook}")


def call(hook: str, module: str, function: str) -> None:
    """What fails is said, and gdb's command goes on; but not where it would leave what is ours in the process."""
    action = getattr(importlib.import_module(f"gdbcuda.live.{module}"), function)
    if hook not in NEEDED:
        return safely.contained(action)()
    try:
        action()
    except safely.ANYTHING as problem:
        raise safely.error(f"{hook.removeprefix('hook-')} is held back: ", problem) from None
