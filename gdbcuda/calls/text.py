"""A recorded call as a line for people. Works from the data of the record alone, in gdb and over a file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, Callable

from gdbcuda import api
from gdbcuda.api import vendor
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import Details, Process, References
from gdbcuda.text.cplusplus import shortened
from gdbcuda.text.demangling import demangled
from gdbcuda.text.printable import visible
from gdbcuda.text.render import ROLES
from gdbcuda.text.units import human

Paint = Callable[[str, str], str]
Code = Callable[[str], str]


def plainly(text: str, role: str) -> str:
    return visible(text)


def as_it_is(text: str) -> str:
    return text


def value(data: Any, parameter: api.Parameter | None = None) -> str:
    """4096 [4.00 KiB], 0x7f00 -> 0x7f80, {x=1, y=2}: what `gdbcuda.decode` would say, from its data."""
    if data is None:
        return "NULL" if parameter is not None and is_address(parameter) else "(not known here)"
    if isinstance(data, bool):
        return str(data).lower()
    if isinstance(data, int):
        kind = enum_type(parameter) if parameter is not None else None
        if kind is not None:
            return nameless(data, kind)
        counts_bytes = parameter is not None and parameter.size_bytes and data >= 1024
        return f"{data} [{human(data)}]" if counts_bytes else str(data)
    if isinstance(data, str):
        return json.dumps(data) if parameter is not None and parameter.string else data
    if isinstance(data, dict) and "address" in data:
        return behind(data, parameter)
    if isinstance(data, (list, dict)):
        return parts(data, pointee(parameter) if parameter is not None else None)
    return str(data)


def parts(data: list[Any] | dict[str, Any], kind: api.Type | None) -> str:
    """The elements of an array, the members of a struct."""
    if isinstance(data, list):
        element = kind.target if kind is not None and kind.kind == "array" else kind
        return f"[{', '.join(value(one) if one is None else member(one, element) for one in data)}]"
    types = {field.name: field.type for field in kind.fields} if kind is not None else {}
    return "{" + ", ".join(f"{name}={member(one, types.get(name))}" for name, one in data.items()) + "}"


def pointee(parameter: api.Parameter) -> api.Type | None:
    """The type of the parameter, or of what it points to."""
    return parameter.type.target if parameter.type.kind == "pointer" else parameter.type


def enum_type(parameter: api.Parameter) -> api.Type | None:
    """Of the parameter, or of what it points to; flags are no constants."""
    kind = pointee(parameter)
    return kind if kind is not None and kind.enum is not None and not parameter.flags else None


def nameless(value: int, kind: api.Type) -> str:
    """A constant that has a name is recorded by that; "-1 (not in CUresult)", as at a stop."""
    return f"{value} (not in {kind.name})"


def returned(data: Any, function: api.Function | None) -> str:
    """ "CUDA_ERROR_OUT_OF_MEMORY", "-1 (not in CUresult)", of a pointer "NULL"."""
    if function is not None and function.result.enum and isinstance(data, int) and data:
        return nameless(data, function.result)
    return value(data) if data is not None else "NULL"


def behind(data: Mapping[str, Any], parameter: api.Parameter | None) -> str:
    if "unreadable" in data:
        return f"{data['address']} -> ({'unreadable' if data['unreadable'] else 'not recorded'})"
    if "value" not in data:
        return str(data["address"])
    found = data["value"]
    return f"{data['address']} -> {'NULL' if found is None else value(found, parameter)}"


def member(data: Any, kind: api.Type | None) -> str:
    if data is None:
        return "NULL"
    if isinstance(data, int) and not isinstance(data, bool) and kind is not None and kind.enum is not None:
        return nameless(data, kind)
    return parts(data, kind) if isinstance(data, (list, dict)) and "address" not in data else value(data)


def is_address(parameter: api.Parameter) -> bool:
    return parameter.type.kind == "pointer" or parameter.handle or parameter.type.name.startswith("CUdeviceptr")


def duration(seconds: float) -> str:
    """Three digits: 12.3 us, 1.23 ms, 4.56 s; of more seconds all."""
    for factor, unit in ((1e6, "us"), (1e3, "ms")):
        if seconds * factor < 999.5:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:.0f} s"


class CallWriter:
    """Lines of calls. ``notes`` name code addresses, ``paint`` colours a text by a role of `gdbcuda.text.render`,
    ``code`` a line of C that is visible already. In a line control characters are shown; `arguments`, `place`
    and `caller` are as the log has them."""

    def __init__(
        self, table: api.Table, notes: References, paint: Paint = plainly, code: Code = as_it_is
    ) -> None:  # fmt: skip
        self.table, self.notes, self.paint, self.code = table, notes, paint, code
        self.is_wide = False
        # A log says the same few things a million times.
        self.kept_outcome = lru_cache(4096, typed=True)(self.outcome_text)

    def line(self, call: Call, indent: str = "") -> str:
        """#12  0.001234  T2  hook  cuMemAlloc_v2(…) = CUDA_SUCCESS  12.3 us  by main at a.c:30"""
        head = f"#{call.number:<5} {call.start:10.6f}  T{call.thread:<2} {self.layer(call)} "
        took = f"  {duration(call.seconds)}" if call.seconds is not None else ""
        by = visible(self.short(self.caller(call))) if not indent else ""
        return f"{head} {indent}{self.call(call)}{self.paint(took, 'dim')}{'  by ' + by if by else ''}"

    def with_stack(self, call: Call) -> str:
        """And the recorded frames above the caller, outwards."""
        return "\n".join([self.line(call), *(f"         from {visible(self.short(one))}" for one in self.above(call))])

    def above(self, call: Call) -> list[str]:
        """The recorded frames above who has asked, as the log has them: code of CUDA's headers has not."""
        if not call.stack:
            return []
        frames = [(one, at) for at in call.stack for one in self.notes.frames(call.process, at)]
        asked = self.notes.site(call.process, call.site, call.stack)
        begin = next((index for index, (one, _) in enumerate(frames) if one == asked), 0)
        return [named(one, at) for one, at in frames[begin + 1 :]]

    def layer(self, call: Call) -> str:
        role = f"layer-{call.layer}"
        return self.paint(f"{call.layer:<7}", role if role in ROLES else "dim") if call.layer else " " * 7

    def call(self, call: Call) -> str:
        captured = self.paint(f" captured by {call.captured}", "dim") if call.captured else ""
        return f"{self.code(visible(f'{call.name}({self.arguments(call)})'))}{self.outcome(call)}{captured}"

    def arguments(self, call: Call) -> str:
        known = parameters(self.table, call.name)
        merged = {**call.arguments, **call.out}
        return ", ".join(f"{name}={value(data, known.get(name))}" for name, data in merged.items())

    def outcome(self, call: Call) -> str:
        can_be_kept = call.result.__hash__ is not None  # a struct's data is a dict
        text = self.kept_outcome if can_be_kept else self.outcome_text
        return text(call.name, call.ended, call.result, call.status, call.failed)

    def outcome_text(self, name: str, ended: str, result: Any, status: int | None, has_failed: bool) -> str:
        if ended:
            return self.paint(f" ... {ended}", "warning")
        if result is None and status is None:
            return ""
        shown = self.result(name, result)
        if has_failed and not isinstance(result, int) and str(status) != shown:
            shown += f" ({status})"
        return " = " + self.paint(shown, "error" if has_failed else "ok")

    def result(self, name: str, result: Any) -> str:
        return returned(result, self.table.function(name))

    def short(self, name: str) -> str:
        """A C++ name in a line or a table."""
        return name if self.is_wide else shortened(name)

    def caller(self, call: Call) -> str:
        """ "step at train.py:34", and the library of the vendor's through which that line has asked."""
        place = named(self.notes.site(call.process, call.site, call.stack), call.site)
        if call.site != call.python or not call.python:
            return place
        file = str(self.notes.place(call.process, call.caller).get("object", ""))
        return f"{place} through {os.path.basename(file)}" if vendor.is_compute_library(file) else place

    def place(self, process: Process, address: int) -> str:
        """ "main at a.c:30", "sum in libsum.so", "libsum.so+0x1330", or the address."""
        return named(self.notes.site(process, address), address)

    def source_text(self, process: Process, address: int) -> str:
        """What stands in the source line of a place, as the recorder has read it: "cuMemAlloc(&kept, 1 << 20);" """
        return str(self.notes.site(process, address).get("text") or "")


def named(place: Details, address: int) -> str:
    name = demangled(place.get("function") or "") or (f"{address:#x}" if address else "")
    if place.get("source"):
        return f"{name} at {place['source']}"
    file = str(place.get("object", "")).rsplit("/", 1)[-1]
    if file and not place.get("function") and place.get("offset"):
        return f"{file}+{place['offset']:#x}"  # the same in every run
    return f"{name} in {file}" if file and name else name


@cache
def parameters(table: api.Table, symbol: str) -> Mapping[str, api.Parameter]:
    function = table.function(symbol)
    return {p.name: p for p in function.parameters} if function is not None else {}
