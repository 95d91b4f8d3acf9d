from __future__ import annotations

import itertools
import json
import random
import struct
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdbcuda import api, decode
from gdbcuda.errors import Unreadable
from gdbcuda.memory import DictMemory

TABLE = api.load()
FUNCTIONS = list(TABLE.functions.values())
HERE, THERE = 0x7FFE0C58, 0x7F00_0000


def raws(function: api.Function, values: tuple[Any, ...]) -> list[bytes | None]:
    """Numbers as the bytes of each parameter's type; bytes and None as they are."""
    sizes = [parameter.type.size for parameter in function.parameters]
    return [
        (v & ((1 << 8 * size) - 1)).to_bytes(size, "little") if isinstance(v, int) else v
        for v, size in zip(values, sizes)
    ]


def call(
    symbol: str, *values: Any, memory: Mapping[int, bytes] | None = None, **how: Any
) -> dict[str, decode.Argument]:
    function = TABLE.functions[symbol]
    assert len(values) == len(function.parameters), function
    how.setdefault("phase", "enter")
    found = decode.arguments(function, raws(function, values), DictMemory(memory or {}), TABLE, **how)
    return {argument.name: argument for argument in found}


def texts(symbol: str, *values: Any, **how: Any) -> list[str]:
    return [argument.text for argument in call(symbol, *values, **how).values()]


def test_one_line_says_the_call() -> None:
    function = TABLE.functions["cuMemAlloc_v2"]
    found = list(call("cuMemAlloc_v2", HERE, (1 << 30) + 1).values())
    assert decode.call_text(function, found) == (
        "cuMemAlloc_v2(dptr=0x7ffe0c58 -> (not written yet), bytesize=1073741825 [1.00 GiB])"
    )
    assert found[0] == ("dptr", "CUdeviceptr *", "0x7ffe0c58 -> (not written yet)", {"address": "0x7ffe0c58"}, HERE)
    assert found[1] == ("bytesize", "size_t", "1073741825 [1.00 GiB]", 1073741825, 1073741825)


@pytest.mark.parametrize(
    "how, text, data",
    [
        ({"phase": "enter"}, "0x7ffe0c58 -> (not written yet)", {"address": "0x7ffe0c58"}),
        ({"phase": "return"}, "0x7ffe0c58 -> 0x7f000000", {"address": "0x7ffe0c58", "value": "0x7f000000"}),
        ({"phase": "return", "succeeded": False}, "0x7ffe0c58 -> (not written)", {"address": "0x7ffe0c58"}),
        (
            {"phase": "return", "memory": {}},
            "0x7ffe0c58 -> (unreadable)",
            {"address": "0x7ffe0c58", "unreadable": True},
        ),
        (
            {"phase": "return", "memory": {HERE: bytes(8)}},
            "0x7ffe0c58 -> NULL",
            {"address": "0x7ffe0c58", "value": None},
        ),
    ],
)
def test_out_pointer(how: dict[str, Any], text: str, data: Any) -> None:
    how = {"memory": {HERE: struct.pack("<Q", THERE)}, **how}
    found = call("cuMemAlloc_v2", HERE, 4096, **how)["dptr"]
    assert (found.text, found.data) == (text, data)


def test_an_out_pointer_to_nowhere_is_told_before_the_call_has_written() -> None:
    assert texts("cuMemAlloc_v2", 0x10, 1, memory={}, live=True)[0] == "0x10 -> (unreadable)"
    assert texts("cuMemAlloc_v2", HERE, 1, memory={HERE: bytes(8)}, live=True)[0] == "0x7ffe0c58 -> (not written yet)"
    assert texts("cuMemAlloc_v2", 0, 1, memory={}, live=True)[0] == "NULL"


def test_null_and_unknown() -> None:
    for phase in ("enter", "return"):
        found = call("cuMemAlloc_v2", 0, None, phase=phase)
        assert found["dptr"][2:] == ("NULL", None, 0)
        assert found["bytesize"][2:] == ("(not known here)", None, None)


@pytest.mark.parametrize(
    "symbol, values, expected",
    [
        ("cudaMemcpy", (THERE, 0, 1 << 20, 2), "0x7f000000 NULL 1048576 [1.00 MiB] cudaMemcpyDeviceToHost (2)"),
        ("cudaMemcpy", (1, 2, 1023, 77), "0x1 0x2 1023 77 (not in cudaMemcpyKind)"),
        ("cudaMemcpy", (1, 2, -1, -1), "0x1 0x2 18446744073709551615 -1 (not in cudaMemcpyKind)"),
        ("cudaSetDevice", (-1,), "-1"),
        ("cuInit", (0,), "0"),
        ("cuStreamDestroy_v2", (0,), "NULL"),
        ("cuStreamDestroy_v2", (2,), "CU_STREAM_PER_THREAD (0x2)"),
        ("cudaStreamDestroy", (1,), "cudaStreamLegacy (0x1)"),
        ("cudaStreamDestroy", (0x55550000,), "0x55550000"),
        ("cuMemFree_v2", (THERE,), "0x7f000000"),
        ("cuMemFree_v2", (0,), "NULL"),
        ("cuMemRelease", (0x1234,), "0x1234"),
        ("cuEventRecordWithFlags", (1, 0, 1), "0x1 NULL CU_EVENT_RECORD_EXTERNAL (1)"),
        ("cuTexRefSetMipmapLevelBias", (0, struct.pack("<f", 0.1)), "NULL 0.1"),
        ("cuTexRefSetMipmapLevelBias", (0, struct.pack("<f", float("inf"))), "NULL inf"),
        ("cudaGetErrorName", (2,), "cudaErrorMemoryAllocation (2)"),
    ],
)
def test_numbers(symbol: str, values: tuple[Any, ...], expected: str) -> None:
    assert " ".join(texts(symbol, *values)) == expected


@pytest.mark.parametrize(
    "flags, text, data",
    [
        (0, "0", 0),
        (1, "CU_MEMHOSTALLOC_PORTABLE (1)", "CU_MEMHOSTALLOC_PORTABLE"),
        (3, "CU_MEMHOSTALLOC_PORTABLE|CU_MEMHOSTALLOC_DEVICEMAP (3)", None),
        (0x41, "CU_MEMHOSTALLOC_PORTABLE|0x40 (65)", "CU_MEMHOSTALLOC_PORTABLE|0x40"),
        (0x40, "64", 64),
    ],
)
def test_flags(flags: int, text: str, data: Any) -> None:
    found = call("cuMemHostAlloc", HERE, 1, flags)["Flags"]
    assert (found.text, found.data, found.raw) == (text, data or found.data, flags)


def test_a_flag_word_of_zero_has_its_name() -> None:
    assert call("cuEventCreate", HERE, 0)["Flags"].text == "CU_EVENT_DEFAULT (0)"


def test_flags_and_sizes_behind_pointers() -> None:
    memory = {HERE: struct.pack("<I", 3)}
    found = texts("cuMemHostGetFlags", HERE, THERE, memory=memory, phase="return")
    assert found[0] == "0x7ffe0c58 -> CU_MEMHOSTALLOC_PORTABLE|CU_MEMHOSTALLOC_DEVICEMAP (3)"
    memory = {HERE: struct.pack("<QQ", 5 << 30, 16 << 30)}
    assert texts("cuMemGetInfo_v2", HERE, HERE + 8, memory=memory, phase="return") == [
        "0x7ffe0c58 -> 5368709120 [5.00 GiB]",
        "0x7ffe0c60 -> 17179869184 [16.00 GiB]",
    ]


@pytest.mark.parametrize(
    "raw, text",
    [
        (b"cuMemAlloc\0", '"cuMemAlloc"'),
        (b"\0", '""'),
        (b'a "b"\\\n\t\x01\0', '"a \\"b\\"\\\\\\n\\t\\x01"'),
        ("größe".encode() + b"\0", '"größe"'),
        (b"A" * 200 + b"\0", '"' + "A" * 200 + '"'),
        (b"A" * 201 + b"\0", '"' + "A" * 200 + '"…'),
        (b"A" * 5000, '"' + "A" * 200 + '"…'),
        (b"cut", '"cut"…'),
        (b"\xff\xfe \\ \xc3\xa4\0", '"\\xff\\xfe \\\\ ä"'),
        (b"", "0x2000 -> (unreadable)"),
    ],
)
def test_strings(raw: bytes, text: str) -> None:
    found = call("cuGetProcAddress_v2", 0x2000, HERE, 12040, 0, 0, memory={0x2000: raw} if raw else {})
    assert found["symbol"].text == text


def test_a_string_that_ends_at_the_last_readable_byte_of_a_page() -> None:
    found = call("cuGetProcAddress_v2", 0x1FF9, HERE, 12040, 0, 0, memory={0x1000: bytes(0xFF9) + b"cuInit\0"})
    assert found["symbol"][2:4] == ('"cuInit"', "cuInit")


def test_buffers_for_strings() -> None:
    memory = {0x2000: b"NVIDIA H200\0rubbish", 0x3000: b"12345678"}
    assert texts("cuDeviceGetName", 0x2000, 100, 0, memory=memory)[0] == "0x2000 -> (not written yet)"
    how: dict[str, Any] = {"memory": memory, "phase": "return"}
    assert texts("cuDeviceGetName", 0x2000, 100, 0, **how)[0] == '0x2000 -> "NVIDIA H200"'
    assert texts("cuDeviceGetName", 0x3000, 8, 0, **how)[0] == '0x3000 -> "12345678"'
    assert texts("cuDeviceGetName", 0x3000, 4, 0, **how)[0] == '0x3000 -> "1234"'
    assert texts("cuDeviceGetLuid", 0x3000, 0, 0, **how)[0] == "0x3000 -> 0x3132333435363738"


def test_a_pointer_to_a_string_of_the_api() -> None:
    memory = {HERE: struct.pack("<Q", 0x4000), 0x4000: b"out of memory\0"}
    found = texts("cuGetErrorString", 2, HERE, memory=memory, phase="return")
    assert found == ["CUDA_ERROR_OUT_OF_MEMORY (2)", '0x7ffe0c58 -> "out of memory"']


def test_structs_by_value() -> None:
    found = call("cudaLaunchKernel", 0x401000, struct.pack("<3I", 1, 2, 3), bytes(12), HERE, 0, 0)
    assert found["gridDim"][2:] == ("{x=1, y=2, z=3}", {"x": 1, "y": 2, "z": 3}, None)
    assert found["args"].text == "0x7ffe0c58"  # how many there are only the kernel knows
    extent = call("cudaMalloc3D", HERE, struct.pack("<3Q", 4096, 2, 3))["extent"]
    assert extent.text == "{width=4096, height=2, depth=3}"


def test_structs_behind_pointers() -> None:
    memory = {HERE: struct.pack("<4Q", THERE, 4096, 512, 2)}
    found = call("cudaMalloc3D", HERE, bytes(24), memory=memory, phase="return")["pitchedDevPtr"]
    assert found.text == "0x7ffe0c58 -> {ptr=0x7f000000, pitch=4096 [4.00 KiB], xsize=512, ysize=2}"
    assert found.data["value"] == {"ptr": "0x7f000000", "pitch": 4096, "xsize": 512, "ysize": 2}
    memory = {HERE: struct.pack("<QQQ", 16 << 30, 5 << 30, 1)}
    assert texts("nvmlDeviceGetMemoryInfo", 1, HERE, memory=memory, phase="return")[1] == (
        "0x7ffe0c58 -> {total=17179869184 [16.00 GiB], free=5368709120 [5.00 GiB], used=1}"
    )


def test_a_struct_that_is_read_before_it_is_written() -> None:
    """NVML's structs begin with the version that the caller speaks."""
    memory = {HERE: struct.pack("<IIQQQQ", 0x2000028, 0, 0, 0, 0, 0)}
    assert texts("nvmlDeviceGetMemoryInfo_v2", 1, HERE, memory=memory)[1].startswith("0x7ffe0c58 -> {version=33554472")


def test_a_large_struct_by_its_members() -> None:
    kind = TABLE.struct("cudaDeviceProp")
    assert kind is not None
    raw = bytearray(kind.size)
    fields = {field.name: field for field in kind.fields}
    raw[:5] = b"H200\0"
    raw[fields["uuid"].offset : fields["uuid"].offset + 16] = bytes(range(16))
    struct.pack_into("<Q", raw, fields["totalGlobalMem"].offset, 141 << 30)
    struct.pack_into("<3i", raw, fields["maxThreadsDim"].offset, 1024, 1024, 64)
    found = call("cudaGetDeviceProperties", HERE, 0, memory={HERE: bytes(raw)}, phase="return")["prop"]
    assert '{name="H200", uuid=00010203-0405-0607-0809-0a0b0c0d0e0f, ' in found.text
    assert "totalGlobalMem=151397597184 [141.00 GiB]" in found.text
    assert "maxThreadsDim=[1024, 1024, 64]" in found.text
    assert set(found.data["value"]) == set(fields) - {"reserved"}


def test_nested_structs_end_somewhere() -> None:
    kind = TABLE.type("cudaMemcpy3DParms")
    text = decode.value(kind, bytes(kind.size), DictMemory({}), TABLE).text
    assert text.startswith("{srcArray=NULL, srcPos={x=0, y=0, z=0}, srcPtr={ptr=NULL, pitch=0, xsize=0, ysize=0}")
    structs = [kind for kind in map(TABLE.type, TABLE.types.texts) if kind.kind == "struct"]
    shown = [decode.value(kind, bytes(kind.size), DictMemory({}), TABLE).text for kind in structs]
    assert any("{…}" in text for text in shown)
    assert max(map(nesting, shown)) <= 7  # three structs, a union between each two


def nesting(text: str) -> int:
    depths = itertools.accumulate(1 if c == "{" else -1 if c == "}" else 0 for c in text)
    return max(depths)


def test_unions_say_that_they_are() -> None:
    def show(name: str, raw: bytes) -> str:
        return decode.value(TABLE.type(name), raw, DictMemory({}), TABLE).text

    assert show("nvmlValue_t", struct.pack("<q", 5)) == (
        "union {dVal=2.5e-323, siVal=5, uiVal=5, ulVal=5, ullVal=5, sllVal=5, usVal=5}"
    )
    assert show("CUDA_RESOURCE_DESC", struct.pack("<IIQ", 0, 0, THERE) + bytes(128)).startswith(
        "{resType=CU_RESOURCE_TYPE_ARRAY (0), res=union {array={hArray=0x7f000000}, …}"
    )


def test_handles_for_other_processes_are_hex() -> None:
    found = call("cudaIpcOpenMemHandle", HERE, bytes(range(64)), 1)["handle"]
    assert found.text == "0x000102030405060708090a0b0c0d0e0f… (64 bytes)"
    assert found.data == bytes(range(64)).hex()


def test_arrays_by_their_length() -> None:
    memory = {HERE: struct.pack("<20Q", *range(1, 21))}

    def dependencies(count: int) -> str:
        return call("cuGraphAddEmptyNode", THERE, 1, HERE, count, memory=memory)["dependencies"].text

    assert dependencies(0) == "0x7ffe0c58 -> []"
    assert dependencies(2) == "0x7ffe0c58 -> [0x1, 0x2]"
    assert dependencies(20).endswith("0xf, 0x10, … (20 in all)]")
    assert dependencies(1 << 62).endswith("0xf, 0x10, … (4611686018427387904 in all)]")


def test_lengths_that_are_behind_a_pointer_too() -> None:
    entry = struct.pack("<IIQII", 11, 0, 1 << 30, 1, 2)
    memory = {HERE: struct.pack("<I", 2), THERE: entry * 2}

    def infos(**how: Any) -> str:
        return texts("nvmlDeviceGetComputeRunningProcesses_v3", 1, HERE, THERE, phase="return", **how)[2]

    shown = "{pid=11, usedGpuMemory=1073741824 [1.00 GiB], gpuInstanceId=1, computeInstanceId=2}"
    assert infos(memory=memory) == f"0x7f000000 -> [{shown}, {shown}]"
    assert infos(memory={THERE: entry}) == "0x7f000000"  # how many there are is not known


def test_blocks_of_bytes() -> None:
    memory = {HERE: b"\x7fELF" + bytes(60)}
    found = call("cuLinkAddData_v2", 1, 1, HERE, 64, 0, 0, 0, 0, memory=memory)["data"]
    assert found.text == "0x7ffe0c58 -> 0x7f454c46000000000000000000000000… (64 bytes)"


@pytest.mark.parametrize(
    "symbol, code, text, data",
    [
        ("cuInit", 0, "CUDA_SUCCESS", "CUDA_SUCCESS"),
        ("cudaMalloc", 0, "cudaSuccess", "cudaSuccess"),
        ("nvmlInit_v2", 0, "NVML_SUCCESS", "NVML_SUCCESS"),
        ("cuInit", 2, "CUDA_ERROR_OUT_OF_MEMORY (2)", "CUDA_ERROR_OUT_OF_MEMORY"),
        ("cuInit", 0xDEAD_0000_0002, "CUDA_ERROR_OUT_OF_MEMORY (2)", "CUDA_ERROR_OUT_OF_MEMORY"),
        ("cuInit", -1, "-1 (not in CUresult)", -1),
        ("cuInit", 0xFFFFFFFF, "-1 (not in CUresult)", -1),
        ("nvmlInit_v2", 12345, "12345 (not in nvmlReturn_t)", 12345),
        ("cudaGetErrorString", HERE, '"no error"', "no error"),
        ("cudaGetErrorString", 0, "NULL", None),
        ("cudaCreateChannelDesc", THERE, "0x7f000000 -> {x=1, y=2, z=3, w=4, f=cudaChannelFormatKindFloat (2)}", None),
    ],
)
def test_results(symbol: str, code: int, text: str, data: Any) -> None:
    memory = DictMemory({HERE: b"no error\0", THERE: struct.pack("<5I", 1, 2, 3, 4, 2)})
    found = decode.result(TABLE.functions[symbol], code, TABLE, memory)
    assert found.text == text and (data is None or found.data == data)


def test_results_without_memory() -> None:
    assert decode.result(TABLE.functions["cudaGetErrorString"], HERE, TABLE).text == "0x7ffe0c58"
    nothing = TABLE.function("__cudaUnregisterFatBinary")
    assert nothing is not None and decode.result(nothing, 7, TABLE) == ("", None)


def test_one_value() -> None:
    memory = DictMemory({HERE: struct.pack("<2Q", 1, 2)})
    function = TABLE.functions["cuGraphAddEmptyNode"]
    parameter = function.parameter("dependencies")
    assert parameter is not None
    raw = struct.pack("<Q", HERE)
    shown = decode.value(parameter.type, raw, memory, TABLE, parameter=parameter, siblings={"numDependencies": 2})
    assert shown.text == "0x7ffe0c58 -> [0x1, 0x2]"
    assert decode.value(parameter.type, raw, memory, TABLE).text == "0x7ffe0c58"
    out = TABLE.functions["cuMemAlloc_v2"].parameters[0]
    shown = decode.value(out.type, raw, memory, TABLE, parameter=out, written=False)
    assert shown.text == "0x7ffe0c58 -> (not written yet)"


class Noise:
    """Memory with random contents, some of it unreadable; says how much was read at most."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.readable = self.random.choice([0.0, 0.5, 0.95, 1.0])
        self.largest = 0

    def read(self, address: int, size: int) -> bytes:
        self.largest = max(self.largest, size)
        assert size >= 0 and 0 <= address < 1 << 64
        if self.random.random() >= self.readable:
            raise Unreadable(address, size)
        if self.random.random() < 0.3:
            return bytes(self.random.choice([0, 0, 1, 2, 0x41, 0xFF]) for _ in range(size))
        return self.random.getrandbits(8 * size).to_bytes(size, "little")


def argument_bytes(kind: api.Type) -> st.SearchStrategy[bytes | None]:
    size = kind.size
    edges = st.sampled_from([b"\0" * size, b"\xff" * size, b"\1" + b"\0" * (size - 1)])
    return st.one_of(st.binary(min_size=size, max_size=size), edges, st.none())


@given(st.data(), st.sampled_from(FUNCTIONS), st.integers(0, 1 << 30), st.booleans(), st.booleans())
def test_nothing_in_memory_can_make_it_fail(
    data: st.DataObject, function: api.Function, seed: int, is_return: bool, succeeded: bool
) -> None:
    raw = [data.draw(argument_bytes(parameter.type)) for parameter in function.parameters]
    check(function, raw, Noise(seed), phase="return" if is_return else "enter", succeeded=succeeded)


def check(function: api.Function, raw: list[bytes | None], memory: Noise, **how: Any) -> None:
    found = decode.arguments(function, raw, memory, TABLE, **how)
    assert [argument.name for argument in found] == [parameter.name for parameter in function.parameters]
    json.dumps([argument.data for argument in found], allow_nan=False)
    text = decode.call_text(function, found)
    assert text.isprintable() and len(text) < 10000
    assert memory.largest <= 16 << 10


@pytest.mark.parametrize("versions", [("11.8", "12.9"), ("12.9", "12.9"), ("13.0", "13.5")])
def test_every_function_of_every_version(versions: tuple[str, str]) -> None:
    table = api.load(*versions)
    noise = random.Random(7)
    for function in table.functions.values():
        sizes = [parameter.type.size for parameter in function.parameters]
        raw: list[bytes | None] = [noise.getrandbits(8 * size).to_bytes(size, "little") for size in sizes]
        for phase in ("enter", "return"):
            check(function, raw, Noise(noise.randint(0, 1 << 30)), phase=phase)
        decode.result(function, noise.getrandbits(64), table, Noise(1))
