"""A recorded call as the lines of a file, as the call that these lines make again, and as data for scripts."""

from __future__ import annotations

import pytest

from gdbcuda import api
from gdbcuda.calls import data, record
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import References
from gdbcuda.calls.text import CallWriter

BEGIN = {
    "ts": 0.5, "op_id": 7, "phase": "B", "name": "cuMemAlloc_v2", "details": {"bytesize": 4096}, "thread": 2,
    "lwp": 301, "inferior": 1, "pid": 300, "depth": 3, "parent": 6, "layer": "hook", "object": "/lib/libhook.so",
    "caller": 0x401000, "stack": [0x401000, 0x402000], "addresses": {"name": 0x7000},
}  # fmt: skip
END = {"ts": 0.625, "op_id": 7, "phase": "E", "name": "cuMemAlloc_v2",
       "details": {"status": 2, "result": "CUDA_ERROR_OUT_OF_MEMORY", "out": {"dptr": 0}}}  # fmt: skip


def recorded() -> Call:
    call = Call(7, "cuMemAlloc_v2", 0.5, 2)
    call.lwp, call.inferior, call.pid, call.depth, call.parent = 301, 1, 300, 3, 6
    call.layer, call.object, call.caller = "hook", "/lib/libhook.so", 0x401000
    call.arguments, call.addresses, call.stack = {"bytesize": 4096}, {"name": 0x7000}, [0x401000, 0x402000]
    call.end, call.status, call.result = 0.625, 2, "CUDA_ERROR_OUT_OF_MEMORY"
    call.out, call.ended = {"dptr": 0}, ""
    return call


def fields(call: Call) -> dict[str, object]:
    return {name: getattr(call, name) for name in Call.__slots__}


def test_a_call_becomes_its_two_lines() -> None:
    assert (record.begin(recorded()), record.end(recorded())) == (BEGIN, END)


def test_the_lines_become_the_call_again() -> None:
    call = record.from_begin(BEGIN)
    assert call.ended == record.STILL_OPEN and call.seconds is None and not call.failed
    record.finish(call, END)
    assert fields(call) == fields(recorded())
    assert (call.seconds, call.last_seen, call.failed) == (0.125, 0.625, True)


def test_what_is_empty_is_not_written() -> None:
    line = record.begin(Call(1, "cuInit", 0.0))
    assert "stack" not in line and "addresses" not in line and line["parent"] is None
    assert record.end(Call(1, "cuInit", 0.25))["details"] == {"ended": record.STILL_OPEN}
    assert record.end(Call(1, "cuInit", 0.25))["ts"] == 0.25


def test_the_line_of_another_program_says_less() -> None:
    call = record.from_begin({"op_id": 1, "name": "cuInit", "ts": 0})
    assert fields(call) == fields(Call(1, "cuInit", 0))


@pytest.mark.parametrize("wrong", [{"ts": 1e12}, {"ts": -1e12}, {"ts": float("inf")}])
def test_a_time_that_is_none(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError):
        record.from_begin({**BEGIN, **wrong})
    with pytest.raises(ValueError):
        record.finish(record.from_begin(BEGIN), {**END, **wrong})


@pytest.mark.parametrize("name", ["op_id", "name", "ts", "details", "thread", "lwp", "inferior", "pid", "depth",
                                  "parent", "caller", "layer", "object", "stack"])  # fmt: skip
def test_a_field_of_another_type(name: str) -> None:
    with pytest.raises(TypeError):
        record.from_begin({**BEGIN, name: 1.5j})


def test_an_address_of_another_type() -> None:
    with pytest.raises(TypeError):
        record.from_begin({**BEGIN, "addresses": {"name": "0x7000"}})


def test_a_call_that_did_not_return_has_no_status() -> None:
    call = record.from_begin(BEGIN)
    record.finish(call, {"ts": 0.75, "details": {"ended": record.UNWOUND}})
    assert (call.ended, call.status, call.seconds, call.last_seen) == (record.UNWOUND, None, None, 0.75)
    assert not call.failed
    assert record.end(call)["details"] == {"ended": record.UNWOUND}


MAIN = {"address": "0x401000", "function": "main", "object": "/bin/app", "layer": "app", "source": "a.c:30"}
UNKNOWN = {"address": "0x402000", "function": None, "object": None, "layer": None, "source": None}


@pytest.fixture
def writer() -> CallWriter:
    notes = References()
    notes.add("place", {**MAIN, "address": 0x401000, "inferior": 1, "pid": 300})
    return CallWriter(api.load(), notes)


def test_as_data(writer: CallWriter) -> None:
    assert data.call(recorded(), writer) == {
        "number": 7, "name": "cuMemAlloc_v2", "base": "cuMemAlloc", "start": 0.5, "seconds": 0.125, "thread": 2,
        "lwp": 301, "inferior": 1, "pid": 300, "depth": 3, "parent": 6, "layer": "hook", "object": "/lib/libhook.so",
        "arguments": {"bytesize": 4096}, "out": {"dptr": 0}, "status": 2, "result": "CUDA_ERROR_OUT_OF_MEMORY",
        "ended": "", "caller": MAIN, "stack": [MAIN, UNKNOWN],
    }  # fmt: skip


def test_as_data_without_what_is_not_known(writer: CallWriter) -> None:
    found = data.call(Call(1, "cuInit", 1 / 3), writer)
    assert "stack" not in found and found["seconds"] is None and found["start"] == round(1 / 3, record.DIGITS)


def test_a_line_of_data_names_its_file_if_there_are_several() -> None:
    assert (data.line({"number": 1}), data.line({"number": 1}, "a.log")) == (
        '{"number":1}', '{"file":"a.log","number":1}'
    )  # fmt: skip


def test_a_long_name_of_cplusplus_is_whole_in_data_and_where_it_may_be_wide(writer: CallWriter) -> None:
    whole = f"at::{'Very' * 20}<{'std::pair<int, ' * 30}int{'>' * 30} >::make(at::Tensor const&)"
    for address in (0x401000, 0x402000):
        place = {**MAIN, "address": address, "function": whole, "inferior": 1, "pid": 300}
        writer.notes.add("place", place)
    shown = writer.with_stack(recorded()).splitlines()
    assert [len(line.rpartition("by ")[2]) for line in shown[:1]] == [72] and len(shown[1].split("from ")[1]) == 72
    writer.is_wide = True
    wide = writer.with_stack(recorded()).splitlines()
    assert wide[0].endswith(f"by {whole} at a.c:30") and wide[1].endswith(f"from {whole} at a.c:30")
    assert data.call(recorded(), writer)["caller"]["function"] == whole
