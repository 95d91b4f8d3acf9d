"""All objects of a process, and who finds what: the loader's search, done again from what is in memory.

Which object was loaded with RTLD_GLOBAL or RTLD_DEEPBIND is written only in the loader's private data, so a search
is what the loader *would* do without those flags. A slot that is bound tells what it did do.
(ld.so(8); dlopen(3); glibc's do_lookup_x for the rules of symbol versions.)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from gdbcuda.api import vendor
from gdbcuda.errors import Unreadable
from gdbcuda.linkage.dynamic_symbols import Definition
from gdbcuda.linkage.slots import Linkage


class Found(NamedTuple):
    linkage: Linkage
    definition: Definition


class Linkages:
    """The objects in search order, the program first. ``linkages`` are reused where the caller has kept them."""

    def __init__(self, linkages: Iterable[Linkage]) -> None:
        self.all = [one for one in linkages if one.is_there or is_there(one)]
        self._scopes: dict[Linkage, list[Linkage]] = {}
        self._of_startup: dict[tuple[str, str, bool], Found | None] = {}  # what each object's search begins with

    @cached_property
    def _by_name(self) -> dict[str, Linkage]:
        """By soname, file name and path, as DT_NEEDED may name them; the first one wins."""
        found: dict[str, Linkage] = {}
        for one in self.all:
            for name in (one.dynamic.soname, one.image.name.rsplit("/", 1)[-1], one.image.name):
                found.setdefault(name, one)
        return found

    def closure(self, root: Linkage) -> list[Linkage]:
        """The object and all that it needs, breadth first: what dlsym with its handle searches."""
        found, seen = [root], {root}
        for one in found:
            for name in one.dynamic.needed:
                needed = self._by_name.get(name)
                if needed is not None and needed not in seen:
                    seen.add(needed)
                    found.append(needed)
        return found

    @cached_property
    def startup(self) -> list[Linkage]:
        """The program, what was preloaded, and what they need: the global scope. dlopen adds behind these."""
        place = {one: number for number, one in enumerate(self.all, 1)}
        end, wanted = 0, min(1, len(self.all))
        while end < wanted:
            end, start = wanted, end
            wanted = max(place[needed] for root in self.all[start:end] for needed in self.closure(root))
        return self.all[:end]

    def scope(self, linkage: Linkage) -> list[Linkage]:
        """Where the object's references are looked for: the global scope, then what it was loaded with."""
        if linkage in self.startup:
            return self.startup
        if linkage not in self._scopes:
            self._scopes[linkage] = self._later_scope(linkage)
        return self._scopes[linkage]

    def _later_scope(self, linkage: Linkage) -> list[Linkage]:
        roots = self.all[len(self.startup) :]
        group = next((group for group in map(self.closure, roots) if linkage in group), [linkage])
        return [*self.startup, *(one for one in group if one not in self.startup)]

    def next_scope(self, linkage: Linkage) -> list[Linkage]:
        """What RTLD_NEXT searches when this object asks: its scope behind itself."""
        scope = self.scope(linkage)
        return scope[scope.index(linkage) + 1 :] if linkage in scope else []

    def lookup(
        self, name: str, scope: Sequence[Linkage], version: str = "", exactly: bool = False
    ) -> Found | None:
        """The definition that the loader takes; ``exactly`` as dlvsym asks: with versions, no other one will do."""
        ahead, key = len(self.startup), (name, version, exactly)
        if not ahead or scope[:ahead] != self.startup:
            return self._lookup(scope, *key)
        if key not in self._of_startup:
            self._of_startup[key] = self._lookup(self.startup, *key)
        return self._of_startup[key] or self._lookup(scope[ahead:], *key)

    def _lookup(self, scope: Sequence[Linkage], name: str, version: str, exactly: bool) -> Found | None:
        for one in scope:
            strict = exactly and one.symbols.versions.exist
            fitting = next((d for d in one.symbols.find(name) if fits(d, version, strict)), None)
            if fitting is not None:
                return Found(one, fitting)
        return None

    @cached_property
    def _ranges(self) -> tuple[list[int], list[tuple[int, Linkage]]]:
        """Starts of all segments, ascending, and their ends and objects."""
        rows = [(start, end, one) for one in self.all for start, end, _ in one.image.segments]
        rows.sort(key=lambda row: row[:2])
        return [row[0] for row in rows], [row[1:] for row in rows]

    def holder(self, address: int) -> Linkage | None:
        """The object that the address lies in."""
        starts, objects = self._ranges
        at = bisect_right(starts, address) - 1
        return objects[at][1] if at >= 0 and address < objects[at][0] else None

    def of_handle(self, handle: int) -> Linkage | None:
        """The object of a handle from dlopen: in glibc it is the address of the link_map."""
        return next((one for one in self.all if one.image.handle == handle), None)


def fits(definition: Definition, version: str, strict: bool) -> bool:
    """A definition without a version answers every reference; a reference without one takes the default."""
    if definition.version == version:
        return True
    return not strict and (not definition.version or (not version and definition.default))


def is_there(linkage: Linkage) -> bool:
    """An object that is half unmapped is as good as not there, and the vdso defines nothing that is looked for."""
    try:
        linkage.is_there = not vendor.is_vdso(linkage.image.name) and linkage.dynamic.needed is not None
    except Unreadable:
        return False
    return linkage.is_there
