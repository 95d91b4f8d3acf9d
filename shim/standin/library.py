"""What the generator knows of one stand-in library: its functions from the API table, its hand-written bodies."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from gdbcuda import api
from gdbcuda.api.table import STATUS_TYPES

MARKER = re.compile(r"^(DRIVER|RUNTIME|NVML|PLAIN)(?:_(INIT|ANY|ERROR))?\((?:[^(),]+, )?(\w+)\)\(", re.MULTILINE)
STREAM_SUFFIX = re.compile(r"_pt[sd][sz]$")
TOP = '/* Written by generate.py. Do not edit. */\n#include "gdbcuda_api.h"\n#include <stdbool.h>\n'


class Body(NamedTuple):
    """A hand-written function: its symbol, and the marker that it is written with."""

    symbol: str
    marker: str


def find_bodies(sources: Iterable[Path]) -> dict[str, Body]:
    found = {}
    for source in sources:
        for kind, need, symbol in MARKER.findall(source.read_text()):
            found[symbol] = Body(symbol, f"{kind}_{need}" if need else kind)
    return found


def exported(table: api.Table, library: str) -> list[api.Function]:
    functions = [*table.functions.values(), *table.extras.values()]
    return sorted((f for f in functions if f.api == library), key=lambda f: f.symbol)


def signature(function: api.Function) -> tuple[str, ...]:
    return (function.result.spelling, *(p.type.spelling for p in function.parameters))


class Library:
    def __init__(self, name: str, table: api.Table, sources: Iterable[Path]) -> None:
        self.name = name
        self.table = table
        self.sources = list(sources)
        self.bodies = find_bodies(self.sources)
        # what returns no status and has no body could only pretend to have worked: it is not there
        self.functions = [
            f for f in exported(table, name) if f.result.spelling == STATUS_TYPES[name] or f.symbol in self.bodies
        ]
        self.variants: dict[str, list[api.Function]] = {}
        for function in self.functions:
            self.variants.setdefault(function.base, []).append(function)

    def check(self) -> None:
        """A body of no known function would never be called."""
        known = {f.symbol for v in api.CUDA_VERSIONS for f in exported(api.load(cuda=v), self.name)}
        strangers = sorted(set(self.bodies) - known)
        if strangers:
            sys.exit(f"generate.py: not in the API table: {', '.join(strangers)}")

    def body_of(self, function: api.Function) -> Body | None:
        """Its own body, or that of the same function for another default stream, or of a newer version
        that has the same parameters."""
        for symbol in (function.symbol, STREAM_SUFFIX.sub("", function.symbol)):
            if symbol in self.bodies:
                return self.bodies[symbol]
        for variant in reversed(self.variants[function.base]):
            if variant.symbol in self.bodies and signature(variant) == signature(function):
                return self.bodies[variant.symbol]
        return None
