"""From records of a ring to calls."""

from __future__ import annotations

import struct

import pytest

from gdbcuda import api
from gdbcuda.calls import record
from gdbcuda.data_classes import replace
from gdbcuda.ledger.effects import roles
from gdbcuda.machine import abi
from gdbcuda.rings import ring_calls, ring_functions
from gdbcuda.rings.ring import Record, Ring
from gdbcuda.rings.ring_functions import RecordedFunction, word_index
from gdbcuda.rings.ring_layout import FUNCTION, MORE_ROOM, MOST_CALLERS, REGISTERS, STACK_WORDS, WORD

TABLE = api.load()
RING = Ring(0x1000, lwp=7, pid=6, clock=(1000, 5_000_000_000, 3000, 5_000_001_000))  # two ticks a nanosecond
ALLOC, FREE, COPY, LAUNCH = 0, 1, 2, 3
NAMES = ("cuMemAlloc_v2", "cuMemFree_v2", "cuMemcpyHtoD_v2", "cuLaunchKernel")
KNOWN = {n: RecordedFunction(TABLE.functions[name], "driver", "libcuda.so.1") for n, name in enumerate(NAMES)}


def words(*given: int) -> tuple[int, ...]:
    return given + (0,) * (REGISTERS + STACK_WORDS - len(given))


def one(position: int, function: int, entered: int, left: int | None, top: int = 0x7000, result: int = 0,
        arguments: tuple[int, ...] = (), outs: tuple[int, ...] = ()) -> Record:  # fmt: skip
    return Record(position, function, entered, 0x4321, top, words(*arguments), (0,) * 8, left, result, outs)


def calls(*records: Record) -> list[record.Call]:
    return ring_calls.calls(RING, records, KNOWN, TABLE, 10)


def test_a_call_with_its_arguments_times_and_out_value() -> None:
    (call,) = calls(one(1, ALLOC, 1000, 2000, arguments=(0x7FF0, 4096), outs=(8, 0xD000)))
    assert (call.number, call.name, call.thread, call.lwp, call.pid) == (10, "cuMemAlloc_v2", 7, 7, 6)
    assert (call.layer, call.object, call.caller) == ("driver", "libcuda.so.1", 0x4321)
    assert call.start == 5.0 and call.seconds == pytest.approx(500e-9, rel=1e-3)
    assert call.arguments["bytesize"] == 4096
    assert call.out == {"dptr": {"address": "0x7ff0", "value": "0xd000"}}  # as `cuda-log` has it
    assert (call.status, call.result, call.ended) == (0, "CUDA_SUCCESS", "")


def test_a_failed_call_has_no_out_value() -> None:
    (call,) = calls(one(1, ALLOC, 1000, 2000, result=2, arguments=(0x7FF0, 4096), outs=(8, 0xD000)))
    assert (call.status, call.failed, call.out) == (2, True, {})


def test_an_out_value_that_could_not_be_read_is_left_out() -> None:
    (call,) = calls(one(1, ALLOC, 1000, 2000, arguments=(0, 4096), outs=((1 << 64) - 1, 0)))
    assert call.out == {}


def test_what_was_open_where_records_are_missing_is_not_said_to_be_unwound() -> None:
    """Nor to have called what comes behind the gap, deeper in the stack."""
    ring = replace(RING, gaps=[5], records=64)
    records = [one(1, ALLOC, 10, None, 0x7000), one(2, FREE, 20, 30, 0x6000),
               one(5, FREE, 40, 50, 0x5000), one(6, FREE, 60, 70, 0x7000)]  # fmt: skip
    found = ring_calls.calls(ring, records, KNOWN, TABLE)
    assert [(call.ended, call.parent) for call in found] == [
        (record.RETURN_LOST, None), ("", 0), ("", None), ("", None)]  # fmt: skip
    assert not found[0].went_wrong


@pytest.mark.parametrize(("records", "ended"), [(2, record.RETURN_LOST), (4, record.UNWOUND)])
def test_a_call_whose_record_was_overwritten_meanwhile(records: int, ended: str) -> None:
    ring = replace(RING, records=records)
    inner = [one(position, FREE, 10 * position, 10 * position + 5, 0x6000) for position in (2, 3, 4)]
    outer, *_ = ring_calls.calls(ring, [one(1, ALLOC, 10, None), *inner, one(5, FREE, 60, 70)], KNOWN, TABLE)
    assert outer.ended == ended


def test_depth_and_parent() -> None:
    found = calls(
        one(1, ALLOC, 10, 100, 0x7000), one(2, FREE, 20, 90, 0x6000), one(3, COPY, 30, 40, 0x5000),
        one(4, COPY, 50, 60, 0x5000), one(5, FREE, 110, 120, 0x7000),
    )  # fmt: skip
    assert [(call.depth, call.parent) for call in found] == [(0, None), (1, 10), (2, 11), (2, 11), (0, None)]


def test_what_was_left_without_a_return_ends_at_the_next_call() -> None:
    found = calls(one(1, ALLOC, 1000, None, 0x7000), one(2, FREE, 1200, None, 0x6000), one(3, COPY, 3000, 3100, 0x7000))
    assert [(call.depth, call.ended) for call in found] == [(0, record.UNWOUND), (1, record.UNWOUND), (0, "")]
    assert found[0].end == found[2].start


@pytest.mark.parametrize("deeper, depth", [(72, 0), (80, 1)])
def test_what_is_in_a_call_is_below_all_that_it_takes_of_the_stack(deeper: int, depth: int) -> None:
    """The return address of what it calls, and the frame in front of that, are there while it is under way."""
    found = calls(one(1, ALLOC, 1000, None, 0x7000), one(2, FREE, 1200, 1300, 0x7000 - deeper))
    assert found[1].depth == depth


def test_what_is_under_way_is_still_open() -> None:
    found = calls(one(1, ALLOC, 1000, None, 0x7000), one(2, FREE, 1200, 1300, 0x6000))
    assert [(call.depth, call.ended) for call in found] == [(0, record.STILL_OPEN), (1, "")]


def test_a_function_that_is_not_known_is_left_out() -> None:
    assert calls(one(1, 99, 1000, 1100)) == []


def test_stack_arguments() -> None:
    (call,) = calls(one(1, LAUNCH, 10, 20, arguments=tuple(range(1, 12))))
    assert [call.arguments[name] for name in ("gridDimX", "gridDimY", "gridDimZ", "blockDimX", "blockDimY")] == [
        2, 3, 4, 5, 6]  # fmt: skip
    assert [call.arguments[name] for name in ("blockDimZ", "sharedMemBytes")] == [7, 8]


def test_what_the_recorder_is_told_of_a_function() -> None:
    launch, alloc = KNOWN[LAUNCH].words(0x1234), KNOWN[ALLOC].words(0)
    assert (launch[FUNCTION["ORIGINAL"]], launch[FUNCTION["STACK"]], launch[FUNCTION["OUT_COUNT"]]) == (0x1234, 5, 0)
    assert (alloc[FUNCTION["STACK"]], alloc[FUNCTION["OUT_COUNT"]], alloc[FUNCTION["OUTS"]]) == (0, 1, 0 | 8 << 8)


def test_a_float_is_in_its_register() -> None:
    known = RecordedFunction(TABLE.functions["cuTexRefSetMipmapLevelBias"])
    bits = int.from_bytes(struct.pack("<f", 1.5), "little")
    found = one(1, 0, 1, 2, arguments=(0x99,))._replace(floats=(bits, *[0] * 7))
    assert known.words(0)[FUNCTION["FLOATS"]] == 1
    assert ring_functions.arguments(known.function, found) == [(0x99).to_bytes(8, "little"), struct.pack("<f", 1.5)]


def test_every_function_can_be_recorded() -> None:
    for symbol, function in TABLE.functions.items():
        try:
            assert len(RecordedFunction(function).words(0)) == FUNCTION["SIZE"]
            ring_functions.arguments(function, one(1, 0, 1, 2))
        except Exception as fault:  # whatever it is, the name of the function is what helps
            raise AssertionError(symbol) from fault


def test_what_a_recorded_function_jumps_to_is_called_by_its_caller() -> None:
    """It returns into the recorder. Where the call around it is not known, nobody is."""
    outer, inner = one(1, ALLOC, 1000, 2000, 0x7000), one(2, FREE, 1200, 1300, 0x6000)._replace(back=0x9999)
    found = replace(RING, own=set())
    assert ring_calls.backs([(found, [outer, inner])], lambda back: back == 0x9999) == {0x4321}
    stacked = [one._replace(callers=(0x4321, 0x5555)) for one in (outer, inner)]
    calls = ring_calls.calls(found, stacked, KNOWN, TABLE)
    assert [call.caller for call in calls] == [0x4321, 0x4321] and calls[1].stack == [0x4321, 0x5555]
    (alone,) = ring_calls.calls(found, stacked[1:], KNOWN, TABLE)
    assert (alone.caller, alone.stack) == (0, [])
    between = one(2, COPY, 1050, 1100, 0x6000)
    later = stacked[1]._replace(position=3)
    for records, caller in (([between, later], 0x4321), ([later], 0), ([between._replace(function=99), later], 0)):
        assert ring_calls.calls(found, [stacked[0], *records], KNOWN, TABLE)[-1].caller == caller


def test_a_ring_that_is_read_now_and_then() -> None:
    """Begins and ends are counted from the same moment; a return that comes later ends the call that was told of."""
    thread = ring_calls.ThreadCalls(RING, epoch=4.0)
    ((call, around),) = thread.add([one(1, ALLOC, 1000, None)], KNOWN, TABLE)
    assert (call.start, call.end, around, thread.ended) == (1.0, None, None, [])
    assert list(thread.add([one(1, ALLOC, 1000, 2000)], KNOWN, TABLE)) == []
    assert thread.ended == [call] and call.end == pytest.approx(1.0 + 500e-9, abs=1e-8) and not call.ended
    assert not thread.waiting


def test_what_is_not_told_any_more() -> None:
    """Calls that are open are abandoned, each once, and never before they began."""
    thread = ring_calls.ThreadCalls(RING, epoch=4.0)
    begun = [call for call, _ in thread.add([one(1, ALLOC, 1000, None, 0x7000), one(2, FREE, 1200, 1300, 0x6000)],
                                            KNOWN, TABLE)]  # fmt: skip
    assert thread.ended == [begun[1]]
    thread.abandon(0.5, record.STILL_OPEN)
    assert thread.ended == [begun[1], begun[0]] and (begun[0].end, begun[0].ended) == (1.0, record.STILL_OPEN)
    assert not thread.open and not thread.waiting


def test_no_call_has_more_than_a_record_has_room_for() -> None:
    """Where many had, the words of a record that is there would be those of later ones."""
    for one in (RecordedFunction(function) for function in TABLE.functions.values()):
        found = one.words(0)
        pointees = sum(1 + -(-size // WORD) for _, size in [*one.outs, *one.ins])
        assert found[FUNCTION["STACK"]] + found[FUNCTION["FLOATS"]] + pointees + MOST_CALLERS <= MORE_ROOM, one


def test_a_record_has_all_that_the_ledger_reads() -> None:
    """A block that comes in a struct, as a node of a graph does, and the extents of a copy."""
    changing = [one for one in TABLE.functions.values() if (role := roles.role(one)) and role.what in roles.CHANGES]
    for function in changing:
        recorded = RecordedFunction(function)
        there = {index for index, _ in [*recorded.outs, *recorded.ins]}
        for parameter, place in zip(function.parameters, abi.locate(function)):
            target = parameter.type.target
            is_struct = target and target.kind in ("struct", "union") and not target.incomplete
            if target and parameter.length is None and (is_struct or parameter.direction != "in"):
                assert word_index(place.pieces[0]) in there, (function.symbol, parameter.name)
