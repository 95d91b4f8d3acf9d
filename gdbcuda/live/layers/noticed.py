"""The hook libraries that nobody has named, as `notice` has found them in each process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from gdbcuda.live.host.inferiors import PerInferior

if TYPE_CHECKING:
    from gdbcuda.linkage.image import Image


class NoticedObjects:
    """Of one process. ``hooks`` are file name and what it exports; ``asked``: the files that were looked at;
    ``is_left``: gdb has told of one that was not, as it is on another machine; ``images``: the loader's list when all
    of it were asked."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self.is_left = False
        self.images: list[Image] | None = None
        self.hooks: dict[str, frozenset[str]] = {}


STATE: PerInferior[NoticedObjects] = PerInferior(NoticedObjects)
SEEN: PerInferior[list[str]] = PerInferior(list, kept=True)  # stays when the process has ended
LOOKS: list[Callable[[NoticedObjects], None]] = []  # asks what is mapped and was not asked yet


def known() -> dict[str, frozenset[str]]:
    """Those that were found until now."""
    return STATE().hooks


def hooks() -> list[str]:
    state = STATE()
    for look in LOOKS:
        look(state)
    return list(state.hooks)


def exporting(name: str) -> list[str]:
    return [file for file in hooks() if name in STATE().hooks[file]]
