"""What the ledger knows, as data for scripts (--json)."""

from __future__ import annotations

from typing import Any

from gdbcuda.calls import data, record
from gdbcuda.calls.text import CallWriter
from gdbcuda.ledger.blocks import Block
from gdbcuda.ledger.book import Ledger, Problem
from gdbcuda.ledger.usage import Snapshot

Data = dict[str, Any]


def ledger(one: Ledger, writer: CallWriter) -> Data:
    """Bytes, and addresses as text; a block that nobody has freed has no "freed_by"."""
    return {
        "live": [block(each, writer) for each in one.blocks.live()],
        "bytes": {kind: count for kind, count in one.usage.bytes.items() if count},
        "peak": snapshot(one.usage.at_peak(), writer),
        "first_refusal": snapshot(one.out_of_memory, writer),
        "problems": [problem(each, writer) for each in one.problems],
        "unknown_whether_freed": [b.call.number for b in one.blocks.live() if one.not_followed(b)],
        "frees_of_unknown_blocks": [each.call.number for each in one.elsewhere.ended],
        "reported": [{"asked": name, "layer": layer, "used": r.used, "total": r.total, "ledger": r.ours,
                      "call": r.call.number} for (layer, name), r in one.reported.items()],
    }  # fmt: skip


def block(one: Block, writer: CallWriter) -> Data:
    found = {"address": hex(one.address), "bytes": one.size, "kind": one.counted_as, "device": one.device,
             "stream": one.stream, "call": one.call.number, "by": one.call.name, "thread": one.call.thread,
             "start": round(one.call.start, record.DIGITS), "site": data.place(one.call, one.site, writer)}  # fmt: skip
    if one.absent:
        found["given_back"] = one.absent
    if one.release is not None:
        found |= {"freed_by": one.release.number, "freed_at": round(one.release.start, record.DIGITS)}
    return found


def snapshot(one: Snapshot | None, writer: CallWriter) -> Data | None:
    if one is None:
        return None
    return {"bytes": one.bytes, "call": one.call.number, "blocks": [block(each, writer) for each in one.blocks]}


def problem(one: Problem, writer: CallWriter) -> Data:
    return {"kind": one.kind, "text": one.text, "call": data.call(one.call, writer),
            "block": None if one.block is None else block(one.block, writer)}  # fmt: skip
