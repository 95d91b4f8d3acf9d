"""By which way a call has come to its function, as far as a log and the caller's file tell."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping
from typing import Any

from gdbcuda import api, elf
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import BEFORE, NOTHING, References
from gdbcuda.errors import UserError

BY_NAME, HANDED_OUT, DLSYM, TABLE, UNKNOWN = "by name", "cuGetProcAddress", "dlsym", "table", "not known"
ENTRY, SLOT = "overwritten entry", "rewritten slot"
WAYS = (BY_NAME, HANDED_OUT, DLSYM, ENTRY, SLOT, TABLE, UNKNOWN)
RESOLVING = "proc-address"  # the role of functions that hand out functions
TABLES = "cuGetExportTable"
PER_THREAD, NEWEST = 2, 1 << 30  # of the flags; later than every version


def addresses(out: Mapping[str, Any]) -> Iterator[int]:
    for one in out.values():
        value = one.get("value") if isinstance(one, dict) else None
        if isinstance(value, str) and value.startswith("0x"):
            yield int(value, 16)


class CallerFile:
    """What the file of a caller says: which functions it gets from the loader."""

    def __init__(self, path: str) -> None:
        self.undefined: Mapping[str, Any] = {}
        self.is_known = False
        try:
            self.undefined = elf.open(path).undefined
            self.is_known = True
        except UserError:
            pass

    @property
    def asks_dlsym(self) -> bool:
        return "dlsym" in self.undefined or "dlvsym" in self.undefined


class Ways:
    """Feed it with each call when it begins. ``asked``: by the caller's file, the base names that it has asked for;
    ``with_tables``: the files that have got tables of functions."""

    def __init__(self, table: api.Table, notes: References) -> None:
        self.table, self.notes = table, notes
        self.asked: dict[str, set[str]] = {}
        self.with_tables: set[str] = set()
        self.files: dict[str, CallerFile] = {}
        self.of_resolvers: dict[tuple[str, str], str] = {}  # by the caller's file and their name: how it came first

    def learn(self, call: Call) -> None:
        function = self.table.function(call.name)
        if function is not None and function.base == TABLES:
            self.with_tables.add(self.caller(call))
        if function is None or function.role != RESOLVING:
            return
        name = call.arguments.get("symbol")
        self.way(call)  # the resolver's own, before what is asked for is known
        if isinstance(name, str):
            self.asked.setdefault(self.caller(call), set()).add(api.base_name(name))

    def handed_out(self, call: Call, file: str) -> Iterator[str]:
        """The function that it was answered with, where that is the file's: one of its names, or what was asked for."""
        function = self.table.function(call.name)
        if function is None or function.role != RESOLVING or not isinstance(call.arguments.get("symbol"), str):
            return
        for address in addresses(call.out):
            found = self.notes.functions.get((call.process, address), NOTHING)
            if os.path.basename(found.get("object") or "") == file:
                known = [name for name in found["names"] if self.table.function(name) is not None]
                yield from known or self.asked_for(call)

    def asked_for(self, call: Call) -> Iterator[str]:
        """By the version alone: a function without a name has no other."""
        version = call.arguments.get("cudaVersion")
        per_thread = PER_THREAD if "PER_THREAD" in str(call.arguments.get("flags")) else 0
        wanted = version if isinstance(version, int) else NEWEST
        symbol = self.table.proc_address(call.arguments["symbol"], wanted, per_thread)
        if symbol is not None:
            yield symbol

    def caller(self, call: Call) -> str:
        """The file that has called; "" where nobody knows."""
        return str(self.notes.place(call.process, call.caller).get("object") or "")

    def way(self, call: Call) -> str:
        path = self.caller(call)
        if self.is_resolver(call):  # with which it asks for the resolver too, and was not handed that out then
            return self.of_resolvers.setdefault((path, call.name), self.way_of(call, path))
        return self.way_of(call, path)

    def has_requests(self, call: Call) -> bool:
        """Whether the log has all that its process has asked of resolvers. A recorder may leave some functions out."""
        recorded = self.notes.recorded.get(call.process)
        is_from_start = BEFORE not in self.notes.unseen.get(call.process, ())
        return is_from_start and (recorded is None or self.resolvers <= recorded)

    @functools.cached_property
    def resolvers(self) -> set[str]:
        return {name for name in self.table.functions if self.table.functions[name].role == RESOLVING}

    def is_resolver(self, call: Call) -> bool:
        function = self.table.function(call.name)
        return function is not None and function.role == RESOLVING

    def way_of(self, call: Call, path: str) -> str:
        redirected = self.notes.redirected.get(call.process, ())
        if (call.name, "") in redirected:  # whoever has it by whatever way comes by there
            return ENTRY
        if (call.name, path) in redirected:
            return SLOT
        if call.base in self.asked.get(path, ()):
            return HANDED_OUT
        file = self.files.get(path) or self.files.setdefault(path, CallerFile(path))
        if call.name in file.undefined:
            return BY_NAME
        if not file.is_known or not self.has_requests(call):
            return UNKNOWN
        return DLSYM if file.asks_dlsym and path not in self.with_tables else TABLE
