"""Who is who: the objects of the process in search order, their layers, what of the API each exports, and why."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from gdbcuda.api import vendor
from gdbcuda.linkage import Linkage
from gdbcuda.linkage.hook_library import RESOLVERS
from gdbcuda.live import layers
from gdbcuda.live.layers import this_snapshot
from gdbcuda.routes.snapshot import ProcessSnapshot

PROGRAM, NAMED, NOTICED, BY_NAME, OTHER = "the program", "cuda-load", "what it exports", "its name", "the program's"


class Member(NamedTuple):
    """An object of the process. ``exports``: kind of function ("driver", "nvml", "runtime") -> how many; ``resolvers``
    are those that it defines (dlsym …); ``order`` is its place in the loader's search, None for what dlopen brought."""

    layer: str
    file: str
    exports: dict[str, int]
    resolvers: tuple[str, ...]
    known_by: str
    order: int | None


def members() -> list[Member]:
    """UserError where there is no process, or the loader has not begun."""
    snapshot = this_snapshot.now()
    order = {one: number for number, one in enumerate(snapshot.objects.startup, 1)}
    return [member(snapshot, one, order.get(one)) for one in snapshot.objects.all]


def member(snapshot: ProcessSnapshot, one: Linkage, order: int | None) -> Member:
    layer, file = snapshot.layers[one], snapshot.file_of(one)
    table, resolvers = snapshot.table.functions, tuple(name for name in RESOLVERS if one.symbols.find(name))
    exports: dict[str, int] = {}
    if layer != "system":
        exports = dict(Counter(table[name].api for name in one.symbols.defined(snapshot.api_names) if name in table))
    return Member(layer, file, exports, resolvers, known_by(snapshot, one, layer, file), order)


def known_by(snapshot: ProcessSnapshot, one: Linkage, layer: str, file: str) -> str:
    if one is snapshot.objects.all[0]:
        return PROGRAM
    if layer == "hook":
        return NAMED if layers.is_named(file) else NOTICED
    return BY_NAME if vendor.layer_of(file) else OTHER
