"""Where a request for a function stands among the arguments of each resolver.

dlsym's and dlvsym's from dlsym(3), dlopen's and dlmopen's, which are asked for objects, from dlopen(3); those of the
CUDA API from the parameter names and types of the table.
"""

from __future__ import annotations

from typing import NamedTuple

from gdbcuda import api

RTLD_DEFAULT, RTLD_NEXT = 0, (1 << 64) - 1  # <dlfcn.h>
RTLD_NOLOAD = 4
OPEN_FLAGS = {1: "RTLD_LAZY", 2: "RTLD_NOW", RTLD_NOLOAD: "RTLD_NOLOAD", 8: "RTLD_DEEPBIND", 0x100: "RTLD_GLOBAL",
              0x1000: "RTLD_NODELETE"}  # fmt: skip


class ResolverShape(NamedTuple):
    """Numbers of the arguments, all of them integers or pointers; None: the resolver has no such argument.
    ``out``: where the answer is written (None: it is returned). ``status``: where an int says why not."""

    symbol: str
    name: int | None = None
    handle: int | None = None
    symbol_version: int | None = None  # a string, dlvsym's
    version: int | None = None  # a CUDA version
    flags: int | None = None
    out: int | None = None
    status: int | None = None
    uuid: int | None = None  # of an export table

    @property
    def arity(self) -> int:
        return 1 + max(number for number in self[1:] if isinstance(number, int))


LOADERS = (ResolverShape("dlsym", name=1, handle=0), ResolverShape("dlvsym", name=1, handle=0, symbol_version=2))
DLSYMS = tuple(shape.symbol for shape in LOADERS)
OPENERS = (ResolverShape("dlopen", name=0, flags=1), ResolverShape("dlmopen", name=1, flags=2))
OPENER_NAMES = frozenset(shape.symbol for shape in OPENERS)


def shapes(table: api.Table, bases: tuple[str, ...]) -> dict[str, ResolverShape]:
    """The loader's resolvers and the API's, by symbol."""
    functions = [function for base in bases for function in table.find(base)]
    return {shape.symbol: shape for shape in (*LOADERS, *map(of_function, functions), *OPENERS)}


def of_function(function: api.Function) -> ResolverShape:
    places = {kind_of(parameter): number for number, parameter in enumerate(function.parameters)}
    places.pop("", None)
    return ResolverShape(function.symbol, **places)


def kind_of(parameter: api.Parameter) -> str:
    """Which field of a `ResolverShape` the parameter is."""
    target = parameter.type.target
    if parameter.string:
        return "name"
    if target is None:
        return "version" if parameter.name.endswith("ersion") else "flags" if parameter.name == "flags" else ""
    if target.kind == "pointer":
        return "out"
    return "status" if target.kind == "enum" else "uuid"
