"""What was found out about the objects of a process, kept until they change."""

from __future__ import annotations

import functools
from typing import Any, Callable, TypeVar, cast

import gdb

F = TypeVar("F", bound=Callable[..., Any])
CACHES: list[Callable[[], None]] = []


def until_objects_change(function: F) -> F:
    """A cache that holds until a process starts, ends, or loads or unloads an object (live/__init__.py).

    Each inferior has its own answers."""

    @functools.lru_cache(maxsize=4096)
    def cached(inferior: int, *arguments: Any) -> Any:
        return function(*arguments)

    @functools.wraps(function)
    def of_selected(*arguments: Any) -> Any:
        return cached(gdb.selected_inferior().num, *arguments)

    CACHES.append(cached.cache_clear)
    return cast(F, of_selected)


def forget(event: object = None) -> None:
    for clear in CACHES:
        clear()
