"""Which functions of which files a kernel is told to watch: a probe costs time to attach, so few are chosen."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from gdbcuda import api, elf
from gdbcuda.api import vendor
from gdbcuda.data_classes import dataclass
from gdbcuda.errors import UserError
from gdbcuda.rings.ring_functions import RecordedFunction
from gdbcuda.text.sentences import counted, some

MOST = 1000  # functions: beyond, attaching takes minutes
# What is watched where no file names the calls: of a driver below a runtime, and of what a script loads.
MAIN = ("alloc", "free", "copy", "set", "launch")
RARE = re.compile(r"Array|2D|3D|Ato|toA|Peer|Mipmapped|Param|External|Ipc|Grid|cuLaunch$|Pool|Batch|Multi|Symbol")


@dataclass(frozen=True)
class WatchedFile:
    """``path`` is how the kernel finds it from here; ``name`` its path where the process is."""

    path: str
    name: str

    @property
    def short(self) -> str:
        return os.path.basename(self.name)


class Place(NamedTuple):
    """A function in a file. ``offset``: in bytes from the file's beginning, where no other file finds it by name."""

    symbol: str
    address: int
    offset: int | None


class Probe(NamedTuple):
    """``number`` is what the kernel's events say; ``file`` where the function is, ``known`` what it is."""

    number: int
    known: RecordedFunction
    file: WatchedFile
    place: Place

    @property
    def target(self) -> str:
        """As bpftrace names it."""
        where = self.place.symbol if self.place.offset is None else f"{self.place.offset:#x}"
        return f'"{self.file.path}":{where}'


def launches(table: api.Table) -> frozenset[str]:
    """What nvcc makes of <<<>>>: no function of the headers, and nothing else tells of kernels."""
    return frozenset(one.symbol for one in table.extras.values() if one.role == "launch")


def places(file: elf.Elf, table: api.Table) -> dict[str, Place]:
    """The API functions that a file implements, by symbol: exported ones, and those of a runtime inside a program."""
    found, known = {}, table.functions.keys() | launches(table)
    for symbol, one in file.exported.items():
        if one.is_function and symbol in known:
            found[symbol] = Place(symbol, one.value, None)
    for symbol, one in file.hidden_functions.items():
        if symbol in known and one.size:
            found[symbol] = Place(symbol, one.value, file.addresses.extent_in_file(one.value)[0])
    return found


def layer(watched: WatchedFile, file: elf.Elf, function: api.Function) -> str:
    """A file that is none of the vendor's and implements the API is a hook library, or has the runtime inside."""
    known = vendor.layer_of(watched.name)
    has_runtime = file.kind in ("pie", "executable") and function.api == "runtime"
    return known or ("runtime" if has_runtime else "hook")


class Choice:
    """``wanted``: symbols, base names or globs. None: what the program uses by name (``used``), and what allocates,
    copies and launches in libraries that it uses without a word."""

    def __init__(self, table: api.Table, wanted: Sequence[str], used: Collection[str]) -> None:
        self.table, self.wanted, self.used = table, wanted, used
        self.apis: set[str] = set()  # of which nothing is named by the program
        for name in wanted:
            if not table.find(name):
                near = table.nearest(name, 1)
                raise UserError(f"no function {name!r}" + (f"; did you mean {near[0]}?" if near else ""))

    def is_of(self, name: str) -> bool:
        """May functions of that API be among them?"""
        return not self.wanted or any(one.api == name for wanted in self.wanted for one in self.table.find(wanted))

    def takes(self, symbol: str) -> bool:
        if self.wanted:
            return any(name in (symbol, api.base_name(symbol)) or fnmatchcase(symbol, name) for name in self.wanted)
        return symbol in self.used or (self.function(symbol).api in self.apis and self.is_main(symbol))

    def function(self, symbol: str) -> api.Function:
        found = self.table.function(symbol)
        assert found is not None, "places are of the table's functions"
        return found

    def is_main(self, symbol: str) -> bool:
        """Of several versions the newest."""
        function = self.function(symbol)
        if function.role not in MAIN or RARE.search(symbol) or symbol.endswith(api.STREAM_SUFFIXES):
            return False
        return function.api != "driver" or symbol == self.table.proc_address(function.base, sys.maxsize)

    def probes(self, files: Iterable[tuple[WatchedFile, elf.Elf]]) -> list[Probe]:
        """`UserError` where there is nothing to watch, or too much."""
        opened = [(watched, file, places(file, self.table)) for watched, file in files]
        named = {self.function(one).api for one in self.used}
        self.apis = {"driver"} - named if "runtime" in named else {"driver", "runtime", "nvml"} if not named else set()
        chosen = [one for watched, file, found in opened for one in self.of_file(watched, file, found)]
        if len(chosen) > MOST:
            raise UserError(f"{counted(len(chosen), 'function')} are too many to watch, {MOST} is the most: "
                            f"name some with --function")  # fmt: skip
        return [Probe(number, *one) for number, one in enumerate(chosen)]

    def of_file(
        self, watched: WatchedFile, file: elf.Elf, found: dict[str, Place]
    ) -> Iterator[tuple[RecordedFunction, WatchedFile, Place]]:
        """Of several names for the same code one, that which the program uses if it uses one."""
        names = sorted(filter(self.takes, found), key=lambda name: (name not in self.used, *api_order(name)))
        seen: set[int] = set()
        for name in names:
            place, function = found[name], self.function(name)
            if place.address not in seen:
                seen.add(place.address)
                yield RecordedFunction(function, layer(watched, file, function), watched.short), watched, place


def api_order(symbol: str) -> tuple[str, int]:
    return api.base_name(symbol), -len(symbol)


def said(probes: Sequence[Probe]) -> str:
    """cuMemAlloc_v2, cuMemFree_v2 and 12 more of libcuda.so.1 (driver)"""
    by_file: dict[tuple[str, str], list[str]] = {}
    for one in probes:
        by_file.setdefault((one.file.short, one.known.layer), []).append(one.place.symbol)
    return "; ".join(f"{some(names, 4)} of {file} ({where})" for (file, where), names in by_file.items())

