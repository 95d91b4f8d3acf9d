"""Which adapter a hook library has: the one that cuda-load was given for it, else the one that lies beside it.

One that lies there is read without gdb's safe path: it holds expressions that only read, and text.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from gdbcuda.adapter import adapter_file
from gdbcuda.adapter.adapter_file import Adapter
from gdbcuda.errors import UserError
from gdbcuda.live import layers, process

_named: dict[str, str] = {}  # a hook library's path, as cuda-load was given it: its adapter's
_read: dict[tuple[str, float], Adapter] = {}


class AdaptedHook(NamedTuple):
    """``hook``: the library's name, as the loader has it, or as it was named before a run."""

    hook: str
    adapter: Adapter


def name_for(hook: str, path: str) -> Adapter:
    """UserError for a file that is none."""
    found = read(path)
    _named[hook] = os.path.abspath(path)
    return found


def forget(hook: str) -> None:
    _named.pop(hook, None)


def all_here() -> list[AdaptedHook]:
    """Of the hook libraries that are meant. UserError for one that is damaged."""
    found = ((hook, path_of(hook)) for hook in layers.hooks())
    return [AdaptedHook(hook, read(path)) for hook, path in found if path]


def path_of(hook: str) -> str:
    """Of the file with its debug info, where gdb has found the library elsewhere; "" without an adapter."""
    objfile = process.objfile_of(hook)
    elsewhere = process.strip_prefix(objfile.filename or "") if objfile is not None else ""
    return _named.get(hook) or adapter_file.found_beside(hook) or adapter_file.found_beside(elsewhere)


def read(path: str) -> Adapter:
    """Again where the file has changed."""
    try:
        changed = os.stat(path).st_mtime
    except OSError:
        changed = 0.0
    if (path, changed) not in _read:
        _read[path, changed] = adapter_file.read(path)
    return _read[path, changed]


def internal_functions() -> list[str]:
    """Those that adapters name, for completion; [] where one cannot be read."""
    try:
        return [name for one in all_here() for name in one.adapter.functions]
    except UserError:
        return []
