"""A recorded call as a line for people, and what its numbers stand for: places, processes, kernels."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gdbcuda import api
from gdbcuda.calls import kernels, reader, record, text
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import BEFORE, NOTHING, References, is_sound, process_of, require_words
from gdbcuda.calls.text import CallWriter

P1, P2 = (1, 300), (2, 300)


def noted(*lines: tuple[str, dict[str, Any]]) -> References:
    notes = References()
    for kind, details in lines:
        notes.add(kind, {"inferior": 1, "pid": 300, **details})
    return notes


NOTES = noted(
    ("place", {"address": 0x401000, "function": "main", "source": "a.c:30", "object": "/bin/app", "layer": "app",
               "inlined_into": [{"function": "outer", "source": "b.c:4"}]}),
    ("place", {"address": 0x402000, "function": "sum", "object": "/lib/libsum.so"}),
    ("place", {"address": 0x403000, "object": "/lib/libsum.so"}), ("place", {"address": 0x404000, "function": "start"}),
)  # fmt: skip


def call(**more: Any) -> Call:
    found = Call(7, "cuMemAlloc_v2", 0.5, 2)
    found.inferior, found.pid, found.layer, found.caller = 1, 300, "hook", 0x401000
    found.arguments, found.out, found.end, found.status, found.result = {"bytesize": 4096}, {}, 0.625, 0, "CUDA_SUCCESS"
    found.ended = ""
    for name, value in more.items():
        setattr(found, name, value)
    return found


def marked(shown: str, role: str) -> str:
    return f"<{role}>{shown}"


def test_a_line() -> None:
    writer = CallWriter(api.load(), NOTES)
    head = "#7       0.500000  T2  hook    "
    alloc = "cuMemAlloc_v2(bytesize=4096 [4.00 KiB]) = CUDA_SUCCESS"
    assert writer.line(call()) == f"{head} {alloc}  125 ms  by main at a.c:30"
    assert writer.line(call(), "  ") == f"{head}   {alloc}  125 ms"
    assert writer.line(call(caller=0)) == f"{head} {alloc}  125 ms"
    assert writer.line(call(layer="", end=None)) == f"{head.replace('hook', '    ')} {alloc}  by main at a.c:30"
    coloured = CallWriter(api.load(), NOTES, marked, lambda code: f"[{code}]")
    assert coloured.line(call(name="a\nb", arguments={})) == (
        "#7       0.500000  T2  <layer-hook>hook     [a\\nb()] = <ok>CUDA_SUCCESS<dim>  125 ms  by main at a.c:30"
    )
    assert coloured.layer(call(layer="strange")) == "<dim>strange" and coloured.layer(call(layer="")) == " " * 7


def test_the_frames_above() -> None:
    writer = CallWriter(api.load(), NOTES)
    found = call(stack=[0x401000, 0x402000, 0x77])
    assert writer.above(found) == ["outer at b.c:4", "sum in libsum.so", "0x77"]
    assert writer.with_stack(found).splitlines()[1:] == [
        "         from outer at b.c:4", "         from sum in libsum.so", "         from 0x77"]  # fmt: skip
    assert writer.with_stack(call()) == writer.line(call())


@pytest.mark.parametrize(
    ("address", "said"),
    [
        (0x401000, "main at a.c:30"),
        (0x402000, "sum in libsum.so"),
        (0x403000, "0x403000 in libsum.so"),
        (0x404000, "start"),
        (0x405000, "0x405000"),
        (0, ""),
    ],
)
def test_a_place(address: int, said: str) -> None:
    assert CallWriter(api.load(), NOTES).place(P1, address) == said


@pytest.mark.parametrize(("more", "said"), [
    ({"ended": record.UNWOUND}, f"<warning> ... {record.UNWOUND}"), ({"result": None, "status": None}, ""),
    ({}, " = <ok>CUDA_SUCCESS"), ({"result": "CUDA_ERROR_OUT_OF_MEMORY", "status": 2}, " = <error>"
                                 "CUDA_ERROR_OUT_OF_MEMORY (2)"),
    ({"result": 4711, "status": 4711}, " = <error>4711 (not in CUresult)"), ({"result": None, "status": 0},
                                                                          " = <ok>NULL"),
    ({"name": "cudaGetErrorName", "result": '"x"', "status": None}, ' = <ok>"x"'),
])  # fmt: skip
def test_the_outcome(more: dict[str, Any], said: str) -> None:
    assert CallWriter(api.load(), NOTES, marked).outcome(call(**more)) == said


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "(not known here)"),
        (True, "true"),
        (5000, "5000"),
        ("word", "word"),
        ([1, None], "[1, (not known here)]"),
        ({"address": "0x10", "unreadable": True}, "0x10 -> (unreadable)"),
        ({"address": "0x10", "unreadable": None}, "0x10 -> (not recorded)"),
        ({"address": "0x10"}, "0x10"),
        ({"address": "0x10", "value": None}, "0x10 -> NULL"),
        ({"address": "0x10", "value": 7}, "0x10 -> 7"),
        ({"x": 1, "y": None}, "{x=1, y=NULL}"),
        (0.5, "0.5"),
    ],
)
def test_a_value_without_its_parameter(data: Any, said: str) -> None:
    assert text.value(data) == said


@pytest.mark.parametrize(("symbol", "name", "data", "said"), [
    ("cuMemAlloc_v2", "bytesize", 1023, "1023"), ("cuMemAlloc_v2", "bytesize", 1024, "1024 [1.00 KiB]"),
    ("cuMemAlloc_v2", "dptr", None, "NULL"), ("cuMemFree_v2", "dptr", None, "NULL"),
    ("cuDeviceGet", "ordinal", None, "(not known here)"), ("cuCtxDestroy_v2", "ctx", None, "NULL"),
    ("cuGetProcAddress_v2", "symbol", 'a"b', '"a\\"b"'), ("cuDeviceGetAttribute", "attrib", 4711,
                                                         "4711 (not in CUdevice_attribute)"),
    ("cuMemCreate", "prop", {"address": "0x10", "value": {"type": 77, "location": {"type": 88, "id": 0}}},
     "0x10 -> {type=77 (not in CUmemAllocationType), location={type=88 (not in CUmemLocationType), id=0}}"),
    ("cuMemAdvise_v2", "location", {"type": -1, "id": 3}, "{type=-1 (not in CUmemLocationType), id=3}"),
    ("cuMemSetAccess", "desc", [{"flags": 9}, None], "[{flags=9 (not in CUmemAccess_flags)}, (not known here)]"),
])  # fmt: skip
def test_a_value_of_a_parameter(symbol: str, name: str, data: Any, said: str) -> None:
    parameter = next(one for one in api.load().functions[symbol].parameters if one.name == name)
    assert text.value(data, parameter) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (12.34e-6, "12.3 us"),
        (999.4e-6, "999 us"),
        (999.6e-6, "1 ms"),
        (1.234e-3, "1.23 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1 s"),
        (4.5678, "4.57 s"),
        (999.4, "999 s"),
        (12345.6, "12346 s"),
    ],
)
def test_a_duration(seconds: float, said: str) -> None:
    assert text.duration(seconds) == said


# -- what the numbers stand for


def test_one_processs_places_are_not_anothers() -> None:
    assert NOTES.place(P1, 0x402000)["function"] == "sum"
    assert NOTES.place(P2, 0x402000) is NOTHING and list(NOTES.frames(P2, 1)) == [NOTHING]
    assert process_of({}) == (0, 0) and process_of({"inferior": 2, "pid": 9}) == (2, 9)


def test_how_many_programs_a_process_has_run() -> None:
    """The same line again is no other program, unless it does not say which program it is."""
    first, other = {"image": "/bin/a"}, {"image": "/bin/b"}
    notes = noted(("process", first), ("process", first), ("process", other), ("process", {"pid": 5}))
    assert dict(notes.programs) == {P1: 2, (1, 5): 1} and notes.started == 3
    assert notes.processes[P1]["image"] == "/bin/b"
    notes = noted(("process", {}), ("process", {}))
    assert notes.programs[P1] == 2 and notes.started == 2


def test_what_was_not_seen_is_of_one_program() -> None:
    notes = noted(("process", {"image": "/a"}), ("unseen", {"name": BEFORE}), ("unseen", {"name": "cuMemFree"}))
    assert notes.unseen == {P1: {"before", "cuMemFree"}}
    notes.add("process", {"image": "/a", "inferior": 1, "pid": 300})
    assert notes.unseen == {P1: {"before", "cuMemFree"}}
    notes.add("process", {"image": "/b", "inferior": 1, "pid": 300})
    assert notes.unseen == {}


def test_things_by_name() -> None:
    notes = noted(("thread", {"thread": 3, "name": "worker"}), ("object", {"file": "/lib/x.so", "layer": "hook"}),
                  ("kernel", {"name": "_Z1fv", "demangled": "f()"}), ("of the future", {"name": "x"}))  # fmt: skip
    assert notes.threads[3]["name"] == "worker" and notes.objects[P1, "/lib/x.so"]["layer"] == "hook"
    assert notes.kernels == {"_Z1fv": "f()"}


@pytest.mark.parametrize("name", ["function", "object", "layer", "source", "name", "file", "demangled", "program",
                                  "build_id"])  # fmt: skip
def test_a_word_is_a_word(name: str) -> None:
    assert is_sound({name: "x"}) and is_sound({name: None}) and not is_sound({name: 1}) and not is_sound(name)
    with pytest.raises(TypeError):
        require_words({"inlined_into": [{name: 1}]})


@pytest.mark.parametrize("name", ["address", "thread", "inferior", "pid", "lwp"])
def test_a_number_is_a_number(name: str) -> None:
    assert is_sound({name: 1}) and is_sound({}) and not is_sound({name: "1"}) and not is_sound({name: None})


# -- kernels


def launch(arguments: dict[str, Any], notes: References = NOTES) -> kernels.Launch | None:
    return kernels.Kernels(notes).launch(call(name="cuLaunchKernel", arguments=arguments))


FLAT = {f"{what}Dim{axis}": number for what in ("grid", "block") for number, axis in enumerate("XYZ", 1)}


def test_a_launch() -> None:
    assert launch({"f": "0x404000", **FLAT, "sharedMemBytes": 64}) == ("start", "1x2x3", "1x2x3", 64)
    whole = {"gridDim": {"x": 4, "y": 5, "z": 6}, "blockDim": {"x": 7, "y": 8, "z": 9}}
    assert launch({"func": "0x77", **whole, "sharedMem": None}) == ("0x77", "4x5x6", "7x8x9", 0)
    inside = {"config": {"address": "0x1", "value": {**whole, "dynamicSmemBytes": 8}}, "kernel": "k"}
    assert launch(inside) == ("k", "4x5x6", "7x8x9", 8)
    assert launch({"f": "k"}) is None and launch(FLAT) is None and launch({**FLAT, "f": 5}) is None
    assert launch({**FLAT, "f": "k", "gridDimZ": None}) is None


def test_a_kernel_is_named_as_a_person_writes_it() -> None:
    notes = noted(("kernel", {"name": "_Z3addi", "demangled": "add(int)"}),
                  ("place", {"address": 0x10, "function": "__device_stub___Z3addi"}),
                  ("place", {"address": 0x20, "function": "_Z3addi"}))  # fmt: skip
    found = kernels.Kernels(notes)
    assert [found.name(P1, what) for what in ("0x10", "0x20", "0x30", "k", "")] == [
        "add(int)", "add(int)", "0x30", "k", ""]  # fmt: skip


def test_handles_are_learned() -> None:
    table, found = api.load(), kernels.Kernels(NOTES)
    get = call(name="cuModuleGetFunction", arguments={"name": "_Z3addi"}, out={"hfunc": {"address": "0x1",
                                                                                       "value": "0x99"}})  # fmt: skip
    found.learn(table.functions["cuModuleGetFunction"], get)
    assert found.names == {(P1, "0x99"): "_Z3addi"}
    found.learn(table.functions["cuModuleGetFunction"], call(arguments={"name": None}, out={"hfunc": "0x98"}))
    assert len(found.names) == 1


def test_names_that_want_a_reading() -> None:
    said = [list(kernels.mangled_names(one)) for one in (
        {"deviceName": "_Z3addi", "name": "_Z3subi"}, {"name": "_Z3subi"}, {"name": "add"}, {"name": "x_Z3addi"},
        {"deviceName": 5}, {"name": "_Z3addi "}, {})]  # fmt: skip
    assert said == [["_Z3addi", "_Z3subi"], ["_Z3subi"], [], [], [], [], []]


# -- lines of a file


@pytest.mark.parametrize(
    ("said", "expected"),
    [("13.0", "13.0"), ("13", "13"), ("13.", None), ("x13", None), ("13.0.1", None), (13, None), (None, None)],
)
def test_the_version_in_a_header(said: Any, expected: str | None) -> None:
    assert reader.version({"cuda": said, "nvml": "1"}, "cuda") == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [(b'{"gdbcuda_log": 1}', {"gdbcuda_log": 1}), (b'{"x": 1}', {}), (b"[1]", {}), (b"{", {}), (b"", {})],
)
def test_a_header(line: bytes, expected: dict[str, Any]) -> None:
    assert reader.header(line) == expected


def read(*lines: Any) -> tuple[list[tuple[str, int, str]], dict[str, int]]:
    """Events as (phase, number, how it ended), and what was wrong."""
    log = reader.Log()
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    found = [event for line in reader.parsed(text.encode(), log) if (event := reader.read(line, log))]
    found += reader.close(log)
    return [(phase, call.number, call.ended) for phase, call in found], dict(log.problems)


FIRST = {"phase": "B", "op_id": 1, "name": "cuInit", "ts": 0}
LAST = {"phase": "E", "op_id": 1, "name": "cuInit", "ts": 1, "details": {"status": 0, "result": "CUDA_SUCCESS"}}
OPEN = ("E", 1, record.STILL_OPEN)


@pytest.mark.parametrize(("lines", "events", "problems"), [
    ([FIRST, LAST], 2, {}), ([FIRST, FIRST, LAST], 3, {"a call that begins twice": 1}),
    ([LAST, LAST], 0, {"an end without its begin": 2}), ([FIRST, {**LAST, "name": "cuOther"}], 2, {
        "an end without its begin": 1, "a call without its end": 1}),
    ([FIRST], 2, {"a call without its end": 1}), ([{"phase": "X"}], 0, {"a line of an unknown kind": 1}),
    ([{}, {}], 0, {"a line of an unknown kind": 2}), ([{"phase": "B"}], 0, {"a line with something missing": 1}),
    ([{"phase": "M", "name": "kernel", "details": {}}], 0, {"a line with something missing": 1}),
    (["[1]", FIRST, LAST], 2, {"a line that is no JSON object": 1}), (["x", FIRST, LAST], 2, {
        "a line that is no JSON object": 1}),
    ([FIRST, LAST, '{"phase":'], 2, {"the last line is cut off": 1}), ([FIRST, "", LAST, " "], 2, {}),
    (['{"x": NaN}', FIRST, LAST], 2, {"a line that is no JSON object": 1}),
])  # fmt: skip
def test_what_is_wrong_with_a_log_is_counted(lines: list[Any], events: int, problems: dict[str, int]) -> None:
    found, wrong = read(*lines)
    assert (len(found), wrong) == (events, problems)
    assert ("a call without its end" in problems) == (OPEN in found[1:])


def test_another_format_is_said() -> None:
    log = reader.Log()
    log.add_header({"gdbcuda_log": record.FORMAT + 1, "cuda": "1"})
    log.add_header({"gdbcuda_log": record.FORMAT, "cuda": "2"})
    said = f"written in format {record.FORMAT + 1}, this is a reader for {record.FORMAT}"
    assert dict(log.problems) == {said: 1} and log.header["cuda"] == "1"
