"""Calls that hand out memory and give it back, and the ledger over them."""

from __future__ import annotations

from typing import Any

from log_files import call

from gdbcuda import api
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import References
from gdbcuda.calls.sinks import in_order
from gdbcuda.calls.text import CallWriter
from gdbcuda.ledger import Ledger

TABLE = api.load()
NOTES = References()
NOTES.add("place", {"address": 0x400, "function": "load_model", "source": "model.c:7", "layer": "app"})
WRITER = CallWriter(TABLE, NOTES)


def at(address: int) -> dict[str, Any]:
    return {"address": "0x7ffe0", "value": f"{address:#x}"}


def alloc(number: int, address: int, size: int, **fields: Any) -> Call:
    return call(number, "cuMemAlloc_v2", {"dptr": {"address": "0x7ffe0"}, "bytesize": size},
                **{"out": {"dptr": at(address)}, "caller": 0x400, **fields})  # fmt: skip


def free(number: int, address: int, name: str = "cuMemFree_v2", **fields: Any) -> Call:
    return call(number, name, {"dptr": f"{address:#x}" if address else None}, **fields)


def ledger_of(*calls: Call) -> Ledger:
    return fed(NOTES, *calls)


def fed(notes: References, *calls: Call) -> Ledger:
    ledger = Ledger(TABLE, notes)
    for is_end, one in in_order(calls):
        (ledger.exit if is_end else ledger.entry)(one)
    return ledger


def kinds(ledger: Ledger) -> list[str]:
    return [problem.kind for problem in ledger.problems]
