"""Values, strings, arrays and results as they are shown."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from decode_calls import HERE, TABLE, THERE, call, texts

from gdbcuda import decode
from gdbcuda.memory import DictMemory


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
        ("cuStreamSetAttribute", (5, 8, 0), "0x5 CU_STREAM_ATTRIBUTE_PRIORITY (8) NULL"),
        ("cuStreamSetAttribute_ptsz", (5, 4, 0), "0x5 CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION (4) NULL"),
        ("cuGraphKernelNodeSetAttribute", (1, 8, 0), "0x1 CU_KERNEL_NODE_ATTRIBUTE_PRIORITY (8) NULL"),
        ("cudaStreamSetAttribute", (1, 8, 0), "cudaStreamLegacy (0x1) cudaStreamAttributePriority (8) NULL"),
        ("cudaGraphKernelNodeSetAttribute", (1, 99, 0), "0x1 99 (not in cudaLaunchAttributeID) NULL"),
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
