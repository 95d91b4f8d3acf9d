"""The hook libraries that nobody has named, as `notice` has found them in each process."""

from __future__ import annotations

from dataclasses import dataclass, field

from gdbcuda.live.host.inferiors import PerInferior


@dataclass
class NoticedObjects:
    """Of one process. ``hooks`` are file name and what it exports; ``asked``: the files that were looked at
    before gdb told of them."""

    asked: set[str] = field(default_factory=set)
    unasked: list[str] = field(default_factory=list)
    hooks: dict[str, frozenset[str]] = field(default_factory=dict)


STATE: PerInferior[NoticedObjects] = PerInferior(NoticedObjects)


def hooks() -> list[str]:
    return list(STATE().hooks)
