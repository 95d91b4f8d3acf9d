"""Which function of which object a code address of a traced process is in, by the files on the disk."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any

from gdbcuda import api, elf
from gdbcuda.api import vendor
from gdbcuda.calls.record import Call
from gdbcuda.elf.dwarf.lines import SourceLine, source_lines
from gdbcuda.errors import UserError
from gdbcuda.files import places
from gdbcuda.files.source_text import line_text
from gdbcuda.rings.ring_layout import DOOR_SIZE, DOORS_SYMBOL
from gdbcuda.rings.traced.trace_files import LoadedObject, TracedProcess

FARTHEST = 1 << 32  # bytes of code behind the beginning of an object
EXECUTE = 1
NANOSECONDS = 10**9
RESOLVING = "proc-address"  # the role of what hands out functions


class CodeOfProcess:
    """Of one process. Names of functions come from files that have not changed since it began."""

    def __init__(self, process: TracedProcess) -> None:
        self.process = process
        self.objects = sorted(process.objects, key=lambda one: one.address)
        self.starts = [one.address for one in self.objects]
        self.files: dict[LoadedObject, NamedCode] = {}
        self.hooks = {one.object for one in process.functions.values() if one.object is not None}

    def object_at(self, address: int) -> LoadedObject | None:
        at = bisect_right(self.starts, address) - 1
        return self.objects[at] if at >= 0 and address - self.starts[at] < FARTHEST else None

    def is_recorders(self, address: int) -> bool:
        one = self.object_at(address)
        return one is not None and os.path.basename(one.file) in (places.TRACER, places.AGENT)

    def layer(self, one: LoadedObject | None) -> str:
        """A library that is none of the vendor's and implements what was called is a hook library."""
        if one is None or one in self.process.hooks:
            return "hook" if one is not None else ""
        is_hook = one in self.hooks and one != self.program
        return vendor.layer_of(one.file) or ("hook" if is_hook else "app")

    @property
    def program(self) -> LoadedObject | None:
        """The loader tells of it first."""
        return self.process.objects[0] if self.process.objects else None

    def function(self, address: int) -> dict[str, Any]:
        """Which one begins there, or has its calls recorded by the code there: its names and its object."""
        one = self.object_at(address)
        if one is None:
            return {"names": []}
        if os.path.basename(one.file) != places.TRACER:
            return {"names": self.code_of(one).begins(address - one.address), "object": self.path(one)}
        doors = self.code_of(one).address_of(DOORS_SYMBOL)
        number, rest = divmod(address - one.address - doors, DOOR_SIZE)
        known = self.process.functions.get(number) if doors and not rest else None
        return self.function(known.address) if known is not None and known.address != address else {"names": []}

    def path(self, one: LoadedObject) -> str:
        return os.path.join(self.process.folder, one.file)

    def details(self, addresses: Iterable[int]) -> list[dict[str, Any]]:
        """As a log describes a place, of each."""
        by_object: dict[LoadedObject, list[int]] = {}
        for address in addresses:
            found = self.object_at(address)
            if found is not None:
                by_object.setdefault(found, []).append(address)
        return [details for one, some in by_object.items() for details in self.of_object(one, some)]

    def code_of(self, one: LoadedObject) -> NamedCode:
        if one not in self.files:
            self.files[one] = NamedCode(self.path(one), self.process.realtime)
        return self.files[one]

    def stack(self, addresses: list[int]) -> list[int]:
        """As far as they are code; a function without a frame pointer leaves anything. Without the recorder itself."""
        kept = addresses[:1]
        for address in addresses[1:]:
            one = self.object_at(address)
            if one is None or not self.code_of(one).holds(address - one.address - 1):
                break
            if not self.is_recorders(address):
                kept.append(address)
        return kept

    def of_object(self, one: LoadedObject, addresses: list[int]) -> Iterable[dict[str, Any]]:
        offsets = {address: address - one.address - 1 for address in addresses}  # where the call is
        file = self.code_of(one)
        sources = file.sources(offsets.values())
        for address, offset in offsets.items():
            source = sources.get(offset)
            name, text = file.function(offset), file.text_of(source)
            distance = 0 if name else address - one.address
            known = {"function": name, "source": str(source or ""), "text": text, "offset": distance}
            yield {"address": address, **{name: found for name, found in known.items() if found},
                   "object": self.path(one), "layer": self.layer(one)}  # fmt: skip


class NamedCode:
    """Of one file, by its symbols and debug info; nothing where it cannot be read or is newer than ``realtime``."""

    def __init__(self, path: str, realtime: int) -> None:
        self.file: elf.Elf | None = None
        self.realtime = realtime
        self.symbols: list[tuple[int, int, str]] = []
        try:
            if os.stat(path).st_mtime_ns <= realtime:
                self.file = elf.open(path)
                self.symbols = functions(self.file)
        except (OSError, ValueError, UserError):
            pass
        self.starts = [start for start, _, _ in self.symbols]

    def holds(self, offset: int) -> bool:
        parts = [one for one in self.file.segments if one.flags & EXECUTE] if self.file is not None else []
        return any(one.address <= offset < one.address + one.memory_size for one in parts if one.type == "PT_LOAD")

    def function(self, offset: int) -> str:
        at = bisect_right(self.starts, offset) - 1
        if at < 0:
            return ""
        start, size, name = self.symbols[at]
        return name if offset < start + max(size, 1) else ""

    def begins(self, offset: int) -> list[str]:
        """All names of the function: a library may give it several."""
        first = bisect_left(self.starts, offset)
        return [name for _, _, name in self.symbols[first : bisect_right(self.starts, offset)]]

    def address_of(self, name: str) -> int:
        """0 where there is no such symbol."""
        tables = [self.file.symtab, self.file.dynamic_symbols] if self.file is not None else []
        return next((one.value for table in tables for one in table.defined() if one.name == name), 0)

    def sources(self, offsets: Iterable[int]) -> dict[int, SourceLine]:
        """Of each that is known."""
        try:
            return source_lines(self.file.dwarf, offsets) if self.file is not None else {}
        except UserError:
            return {}

    def text_of(self, source: SourceLine | None) -> str:
        """What stands there, unless it was written after the trace."""
        try:
            is_as_it_was = source is not None and os.stat(source.path).st_mtime_ns <= self.realtime
        except (OSError, ValueError):
            return ""
        return line_text(source.path, source.line) if source is not None and is_as_it_was else ""


def handed_out(call: Call, table: api.Table) -> set[int]:
    """The functions that one of cuGetProcAddress and its kin has answered with."""
    known = table.function(call.name)
    if known is None or known.role != RESOLVING:
        return set()
    answers = [one["value"] for one in call.out.values() if isinstance(one, dict) and "value" in one]
    return {int(one, 16) for one in answers if isinstance(one, str) and one.startswith("0x")}


def functions(file: elf.Elf) -> list[tuple[int, int, str]]:
    tables = [file.symtab, file.dynamic_symbols]
    return sorted({(one.value, one.size, one.name) for table in tables for one in table.defined() if one.is_function})
