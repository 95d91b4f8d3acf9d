"""Of which process and which device a block is."""

from __future__ import annotations

from typing import Any

import pytest
from ledger_calls import NOTES, TABLE, alloc, at, free, ledger_of
from log_files import call

from gdbcuda.calls.reader import BEGIN, END
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import References
from gdbcuda.calls.sinks import in_order
from gdbcuda.ledger import Ledgers


def test_processes_do_not_mix() -> None:
    calls = [alloc(0, 0x1000, 64, pid=1), alloc(1, 0x1000, 32, pid=2, inferior=2), free(2, 0x1000, pid=1),
             alloc(3, 0x1000, 16, pid=1)]  # fmt: skip
    ledgers = Ledgers(TABLE, NOTES)
    for is_end, one in in_order(calls):
        (ledgers.exit if is_end else ledgers.entry)(one)
    assert [(one.usage.on_device, one.problems) for one in ledgers.all()] == [(16, []), (32, [])]
    assert ledgers.latest(2) is ledgers.all()[1]


def test_after_an_exec_nothing_is_left() -> None:
    notes = References()
    ledgers = Ledgers(TABLE, notes, keep_all=False)
    for number in range(2):
        notes.add("process", {"inferior": 0, "pid": 7, "program": "a"})
        ledgers.entry(alloc(number, 0x1000, 64, pid=7))
        ledgers.exit(alloc(number, 0x1000, 64, pid=7))
    (ledger,) = ledgers.all()
    assert ledger.usage.on_device == 64 and not ledger.problems


def test_another_recorder_finds_the_process_as_it_was() -> None:
    """An exec does not, though it runs the same program again."""
    notes = References()
    ledgers = Ledgers(TABLE, notes)
    for number, image in enumerate([1, 1, 2]):
        notes.add("process", {"program": "a", "image": image})
        ledgers.feed(((BEGIN, alloc(number, 0x1000 * (number + 1), 64)),))
        ledgers.feed(((END, alloc(number, 0x1000 * (number + 1), 64)),))
    assert [one.usage.on_device for one in ledgers.all()] == [128, 64]


def made(number: int, name: str, context: str, device: int, **fields: Any) -> Call:
    return call(number, name, {"dev": device}, out={"pctx": {"address": "0x1", "value": context}}, **fields)


def current(number: int, name: str, context: str | None, **fields: Any) -> Call:
    return call(number, name, {"ctx": context} if name != "cuCtxPopCurrent_v2" else {}, **fields)


@pytest.mark.parametrize(
    ("before", "device"),
    [
        ([], None),
        ([call(0, "cudaSetDevice", {"device": 3})], 3),
        ([made(0, "cuDevicePrimaryCtxRetain", "0xa", 2)], None),
        ([made(0, "cuDevicePrimaryCtxRetain", "0xa", 2), current(1, "cuCtxSetCurrent", "0xa")], 2),
        ([made(0, "cuCtxCreate_v2", "0xa", 1), made(1, "cuCtxCreate_v4", "0xb", 2)], 2),
        ([made(0, "cuCtxCreate_v2", "0xa", 1), made(1, "cuCtxCreate_v4", "0xb", 2),
          current(2, "cuCtxPopCurrent_v2", None)], 1),
        ([made(0, "cuCtxCreate_v2", "0xa", 1), current(1, "cuCtxSetCurrent", None)], None),
        ([made(0, "cuDevicePrimaryCtxRetain", "0xa", 2, thread=2), current(1, "cuCtxPushCurrent_v2", "0xa", end=0.9),
          current(2, "cuCtxPushCurrent_v2", "0xa", parent=1, depth=1, layer="driver"),
          current(950, "cuCtxPopCurrent_v2", None)], None),
    ],
)  # fmt: skip
def test_the_device_is_the_threads(before: list[Call], device: int | None) -> None:
    """The driver's by its current context; what a hook passes on counts once."""
    ledger = ledger_of(*before, alloc(1000, 0x1000, 64), alloc(1001, 0x2000, 64, thread=7))
    assert [block.device for block in ledger.blocks.live()] == [device, None]


def test_the_runtimes_device_is_0_until_another_is_set() -> None:
    ledger = ledger_of(call(0, "cudaMalloc", {"size": 64}, out={"devPtr": at(0x1000)}))
    assert [block.device for block in ledger.blocks.live()] == [0]


def test_physical_memory_says_itself_where_it_is() -> None:
    where = {"address": "0x1", "value": {"location": {"type": "CU_MEM_LOCATION_TYPE_DEVICE", "id": 5}}}
    ledger = ledger_of(call(0, "cuMemCreate", {"size": 64, "prop": where}, out={"handle": at(0x1000)}))
    assert [block.device for block in ledger.blocks.live()] == [5]
