"""Modules that are loaded when they are first used: a session that never logs or guards does not wait for them.

(importlib's LazyLoader: the module is in sys.modules at once, its code runs when an attribute is first asked for.)
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any, Callable

MODULES = (
    "gdbcuda.condition",
    "gdbcuda.files.places",
    "gdbcuda.decode",
    "gdbcuda.machine.abi",
    "gdbcuda.routes.judge",
    "gdbcuda.routes.requests",
    "gdbcuda.routes.reports.request_report",
    "gdbcuda.routes.right_function",
    "gdbcuda.routes.stub",
    "gdbcuda.log.selecting.select",
    "gdbcuda.log.views.tree",
    "gdbcuda.log.selecting.where",
    "gdbcuda.manual.pages",
    "gdbcuda.manual.plain",
    "gdbcuda.manual.search",
    "gdbcuda.rings.ring_functions",
    "gdbcuda.live.guarding.guards",
    "gdbcuda.live.guarding.lost_stacks",
    "gdbcuda.live.recording.call_log",
    "gdbcuda.live.recording.fast",
    "gdbcuda.live.recording.by_breakpoints.recorder",
    "gdbcuda.live.recording.in_process.ring_recorder",
    "gdbcuda.live.patching.counter_words",
    "gdbcuda.live.stopping.returning.next_places",
)


def load_later() -> None:
    """Before anyone imports them by name; ``from gdbcuda.live.guarding import guards`` then costs nothing."""
    for name in MODULES:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None or name in sys.modules:
            continue
        spec.loader = importlib.util.LazyLoader(spec.loader)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        package, _, short = name.rpartition(".")
        setattr(importlib.import_module(package), short, module)  # else ``from package import`` looks, and so loads


def is_loaded(name: str) -> bool:
    return type(sys.modules.get(name)) is ModuleType


def if_loaded(name: str, function: str) -> Callable[..., None]:
    """A handler of gdb's events that does nothing as long as nobody has used the module."""

    def handler(*event: Any) -> None:
        if is_loaded(f"gdbcuda.live.{name}"):
            getattr(sys.modules[f"gdbcuda.live.{name}"], function)(*event)

    handler.__module__, handler.__qualname__ = f"gdbcuda.live.{name}", function  # it is named where it fails
    return handler
