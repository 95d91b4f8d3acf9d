"""The implementations of dlsym and its kin, and which one each object reaches."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from gdbcuda.routes import collect
from gdbcuda.routes.reports import route_table
from gdbcuda.routes.snapshot import LOADERS_RESOLVERS, ProcessSnapshot
from gdbcuda.text import render

if TYPE_CHECKING:
    from gdbcuda.linkage import Linkage
    from gdbcuda.routes.collect import Route
    from gdbcuda.routes.reports.route_table import Paint


class Implementation(NamedTuple):
    """One function that answers requests by name. ``versions``: "GLIBC_2.34", the default one marked "(default)";
    () where the symbol has none. Not ``exported``: only the debugger knows its name."""

    name: str
    address: int
    file: str
    layer: str
    versions: tuple[str, ...] = ()
    exported: bool = True

    def as_json(self) -> dict[str, Any]:
        return {**self._asdict(), "object": self.file, "versions": list(self.versions)}


def implementations(snapshot: ProcessSnapshot, names: Iterable[str] = LOADERS_RESOLVERS) -> list[Implementation]:
    """Every exported implementation, in search order."""
    return [found for name in names for one in snapshot.objects.all for found in of_object(snapshot, one, name)]


def of_object(snapshot: ProcessSnapshot, linkage: Linkage, name: str) -> list[Implementation]:
    """One row an address: a name with two versions is often one function."""
    versions: dict[int, list[str]] = {}
    for definition in linkage.symbols.find(name):
        version = definition.version + (" (default)" if definition.version and definition.default else "")
        versions.setdefault(definition.address, []).append(version)
    place = snapshot.file_of(linkage), snapshot.layers[linkage]
    return [Implementation(name, address, *place, tuple(filter(None, found))) for address, found in versions.items()]


def references(snapshot: ProcessSnapshot, everything: bool) -> list[Route]:
    """Which implementation each object's own calls reach. The system's libraries only with ``everything``."""
    askers = [one for one in snapshot.objects.all if everything or snapshot.layers[one] != "system"]
    wanted = frozenset(LOADERS_RESOLVERS)
    return [route for asker in askers for route in collect.references(snapshot, asker, wanted)]


def table(found: list[Implementation], paint: Paint) -> str:
    rows = [(paint(one.name, "function"), paint(one.layer, f"layer-{one.layer}"), os.path.basename(one.file),
             shown_version(one), f"{one.address:#x}") for one in found]  # fmt: skip
    return render.table(rows, ("function", "layer", "object", "version", "address"), colour=paint("x", "ok") != "x")


def shown_version(one: Implementation) -> str:
    return ", ".join(one.versions) or ("-" if one.exported else "not exported")


def reference_table(routes: list[Route], paint: Paint) -> str:
    rows = [(route_table.asker(route, paint), paint(route.function, "function"), route_table.way(route),
             route_table.reached(route.reached, paint)) for route in routes]  # fmt: skip
    return render.table(rows, ("asked by", "function", "way", "reaches"), colour=paint("x", "ok") != "x")
