"""``gdbcuda trace --with``: other ways to watch a program than the recorder."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gdbcuda.shell.hook_given import hook_given

if TYPE_CHECKING:
    from gdbcuda.shell.observers.options import ObserverOptions


def choose(wanted: ObserverOptions, words: Sequence[str]) -> None:
    """Of --with auto: the way that works here, said in one line."""
    from gdbcuda.shell.observers import auto

    wanted.way = auto.choose(wanted, words)


def run(wanted: ObserverOptions, words: Sequence[str], hook: str | None, log: str | None) -> int:
    """By the module that is called as the way is."""
    way = importlib.import_module(f"{__name__}.{wanted.way}")
    return int(way.run(wanted, words, hook_given(hook) if hook else None, log))
