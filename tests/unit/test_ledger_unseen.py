"""What the ledger says where the log has not seen every call."""

from __future__ import annotations

import pytest
from ledger_calls import TABLE, WRITER, alloc, at, fed, free, kinds, ledger_of
from log_files import call

from gdbcuda.calls.references import GAP, References
from gdbcuda.ledger import left_out, views


def told_unseen(*names: str) -> References:
    notes = References()
    for name in names:
        notes.add("unseen", {"name": name})
    return notes


def test_without_the_frees_nobody_knows_what_is_live() -> None:
    ledger = fed(told_unseen("cuMemFree", "cuMemFreeAsync"), alloc(0, 0x1000, 4096))
    assert views.leaked(ledger) == []
    for text in (views.leaks(ledger, WRITER), views.live(ledger, WRITER), views.overview(ledger, WRITER)):
        assert "Unknown whether freed: 1 block: device 4096 [4.00 KiB] in 1; not every call of cuMemFree" in text
        assert "Not freed" not in text


def test_of_each_family_for_itself() -> None:
    handle = call(1, "cuMemAllocHost_v2", {"pp": {"address": "0x7ffe0"}, "bytesize": 64}, out={"pp": at(0x9000)})
    ledger = fed(told_unseen("cuMemFree"), alloc(0, 0x1000, 4096), handle)
    assert [block.address for block in views.leaked(ledger)] == [0x9000]
    text = views.leaks(ledger, WRITER)
    assert "Not freed: 1 block: host 64 in 1\nUnknown whether freed: 1 block: device 4096" in text


def test_a_block_from_before_the_log_is_no_bad_free() -> None:
    late = fed(told_unseen("before"), free(0, 0x1000), alloc(1, 0x2000, 64), free(2, 0x2000), free(3, 0x2000))
    assert kinds(late) == ["double free"]  # this one the log knows all about
    assert "freed by 1 call, the first #0 cuMemFree_v2: the recording began later." in views.problems(late, WRITER)
    assert kinds(ledger_of(free(0, 0x1000))) == ["unknown pointer"]


def test_what_an_unrecorded_allocator_may_have_handed_out_is_no_bad_free() -> None:
    ledger = fed(told_unseen("cuMemAllocManaged"), alloc(0, 0x1000, 64), free(1, 0x1000), free(2, 0x1000))
    assert not ledger.problems
    assert "not every cuMemAllocManaged was recorded" in views.problems(ledger, WRITER)
    arrays = fed(told_unseen("cuMemAllocManaged"), call(0, "cuArrayDestroy", {"hArray": "0x77"}))
    assert kinds(arrays) == ["unknown pointer"]


def with_gap(until: float) -> References:
    notes = References()
    notes.add(GAP, {"until": until})
    return notes


def test_calls_that_are_missing_in_between() -> None:
    """What a block was before them, its memory need not be behind them; of what begins behind them all is known."""
    touch = call(3, "cuMemsetD8_v2", {"dstDevice": "0x1000", "uc": 0, "N": 64})
    calls = alloc(0, 0x1000, 64), free(1, 0x1000), free(2, 0x1000), touch, alloc(4, 0x2000, 64)
    assert kinds(fed(with_gap(0.0), *calls)) == ["double free", "use after free"]
    start = calls[1].start
    lossy = fed(with_gap(start + 1e-9), *calls)
    assert not lossy.problems and [block.address for block in views.leaked(lossy)] == [0x2000]
    assert "freed by 1 call, the first #2 cuMemFree_v2: calls are missing in between." in views.problems(lossy, WRITER)
    assert "Unknown whether freed: 1 block: device 64 in 1" in views.leaks(fed(with_gap(1e9), calls[4]), WRITER)
    assert kinds(fed(with_gap(start), *calls)) == ["double free", "use after free"]


@pytest.mark.parametrize("notes", [with_gap(1e9), told_unseen("before")], ids=["gap", "before"])
def test_what_a_missing_call_may_have_mapped_is_mapped(notes: References) -> None:
    unmap = call(0, "cuMemUnmap", {"ptr": "0x9000", "size": 64})
    assert not fed(notes, unmap).problems
    assert kinds(ledger_of(unmap)) == ["not mapped"]


def test_what_the_driver_refuses_was_no_new_block() -> None:
    refused = {"status": 1, "result": "CUDA_ERROR_INVALID_VALUE"}
    known = alloc(0, 0x1000, 64), free(1, 0x1000), free(2, 0x1000, **refused)
    unknown = free(3, 0x5000, **refused), free(4, 0x6000)
    ledger = fed(told_unseen("before", "cuExternalMemoryGetMappedBuffer"), *known, *unknown)
    assert kinds(ledger) == ["double free"]
    text = views.problems(ledger, WRITER)
    assert "Blocks that the log does not know were freed by 1 call, the first #4 cuMemFree_v2" in text
    assert "Frees of addresses that the log does not know failed: 1 call, the first #3 cuMemFree_v2" in text


def test_a_block_from_before_is_freed_twice_too() -> None:
    """Who freed it first is in the log, so the second one is told; but only what the driver refuses is no new block."""
    refused = {"status": 1, "result": "CUDA_ERROR_INVALID_VALUE"}
    late = fed(told_unseen("before"), free(0, 0x1000), free(1, 0x1000, **refused), free(2, 0x2000), free(3, 0x2000))
    assert [(one.kind, one.call.number, one.text) for one in late.problems] == [
        ("double free", 1, "what was at 0x1000 was freed by #0 cuMemFree_v2")]  # fmt: skip
    assert "freed by 3 calls, the first #0 cuMemFree_v2" in views.problems(late, WRITER)


def test_a_log_without_allocations_does_not_say_that_all_came_back() -> None:
    assert views.leaks(fed(told_unseen("before"), free(0, 0x1000)), WRITER) == "No block was handed out."


def test_another_program_of_the_process_begins_at_its_beginning() -> None:
    notes = told_unseen("before")
    notes.add("process", {"program": "a", "image": 1})
    assert not notes.unseen


@pytest.mark.parametrize(
    ("named", "is_some", "left"),
    [
        (["cuMemAlloc_v2"], False, {"cuMemFree", "cuMemFreeAsync"}),
        (["cuMemAlloc_v2", "cuMemFree_v2", "cuMemFreeAsync"], True, {"cuMemAlloc", "cuMemFree", "cuMemFreeAsync"}),
        (["cuMemHostRegister_v2", "cuMemHostUnregister"], False, set()),
        (["cuMemGetInfo_v2"], True, set()),
        (list(TABLE.functions), False, set()),
    ],
)
def test_which_functions_a_recorder_leaves_out(named: list[str], is_some: bool, left: set[str]) -> None:
    assert left <= left_out(named, TABLE, is_some)
    assert bool(left) == bool(left_out(named, TABLE, is_some))


def test_that_none_is_live_is_said_of_known_blocks_alone() -> None:
    """A block from before may be live still: the log that began in the middle does not know it."""
    late = fed(told_unseen("before"), alloc(0, 0x1000, 64), free(1, 0x1000))
    assert views.totals(late) == views.live(late, WRITER) == "No block that the log knows is live."
    assert views.leaks(late, WRITER) == "Everything that the log has seen handed out has been given back."
    assert views.totals(fed(told_unseen(), alloc(0, 0x1000, 64), free(1, 0x1000))) == "No block is live."
