"""Faults as typed: statuses, times, out-values; and what a user reads who mistypes one."""

from __future__ import annotations

import struct

import pytest

from gdbcuda import api
from gdbcuda.errors import UserError
from gdbcuda.faults import durations, fault_plan, out_values, statuses, typed_faults
from gdbcuda.faults.effects import Delay, Fail, Replace

TABLE = api.load()


def function(symbol: str) -> api.Function:
    found = TABLE.function(symbol)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("symbol", "typed", "status", "name"),
    [
        ("cuMemAlloc_v2", "CUDA_ERROR_OUT_OF_MEMORY", 2, "CUDA_ERROR_OUT_OF_MEMORY"),
        ("cuMemAlloc_v2", "2", 2, "CUDA_ERROR_OUT_OF_MEMORY (2)"),
        ("cuMemAlloc_v2", "0x2bc", 700, "CUDA_ERROR_ILLEGAL_ADDRESS (0x2bc)"),
        ("cudaMalloc", "cudaErrorMemoryAllocation", 2, "cudaErrorMemoryAllocation"),
        ("nvmlInit_v2", "NVML_ERROR_GPU_IS_LOST", 15, "NVML_ERROR_GPU_IS_LOST"),
        ("nvmlInit_v2", "0", 0, "NVML_SUCCESS (0)"),
    ],
)
def test_a_status(symbol: str, typed: str, status: int, name: str) -> None:
    assert statuses.read(typed, function(symbol)) == (status, name)


@pytest.mark.parametrize(
    ("symbol", "typed", "said"),
    [
        ("cuMemAlloc_v2", "cudaErrorMemoryAllocation", "cuMemAlloc_v2 returns CUresult, which has no 'cudaErr"),
        ("cuMemAlloc_v2", "CUDA_ERROR_OUTOFMEMORY", "did you mean CUDA_ERROR_OUT_OF_MEMORY?"),
        ("cuMemAlloc_v2", "-1", "-1 is no value of CUresult; with --any-number it is returned all the same"),
        ("cuMemAlloc_v2", "5000000000", "5000000000 has more than the 32 bits of a CUresult"),
        ("cuMemAlloc_v2", "2M", "which has no '2M'"),
        ("cudaGetErrorName", "2", "cudaGetErrorName returns const char *, no status"),
    ],
)
def test_no_status(symbol: str, typed: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        statuses.read(typed, function(symbol))
    assert said in str(caught.value)


def test_a_number_that_the_enum_has_not() -> None:
    assert statuses.read("-1", function("cuInit"), True) == (-1, "-1, which is no CUresult")
    found = fault_plan.failing(function("cuInit"), -1, "-1, which is no CUresult", 3, False)
    assert found == (Fail(-1), "with -1, which is no CUresult, 3 times", 3)
    made = fault_plan.failing(function("cuInit"), 2, "two", None, True)
    assert made == (Replace((), 2), "with two after the call", None)


@pytest.mark.parametrize(
    ("typed", "nanoseconds", "shown"),
    [("5ms", 5_000_000, "5ms"), ("200us", 200_000, "200us"), ("1.5s", 1_500_000_000, "1.5s"), ("7ns", 7, "7ns"),
     ("0ms", 0, "0ns"), ("1000ms", 10**9, "1s"), ("60s", 60 * 10**9, "60s"), ("0.123456789s", 123_456_789,
     "123.456789ms")],
)  # fmt: skip
def test_a_time(typed: str, nanoseconds: int, shown: str) -> None:
    assert durations.nanoseconds(typed) == nanoseconds and durations.shown(nanoseconds) == shown
    assert durations.nanoseconds(shown) == nanoseconds and fault_plan.delay(nanoseconds).effect == Delay(nanoseconds)


@pytest.mark.parametrize("typed", ["5", "5 ms", "-5ms", "5min", "ms", "٣ms", "1e3ms", "1_0ms"])
def test_no_time(typed: str) -> None:
    with pytest.raises(ValueError):
        durations.nanoseconds(typed)
    with pytest.raises(UserError):
        durations.nanoseconds("61s")


@pytest.mark.parametrize(
    ("symbol", "out", "value", "register", "offset", "raw"),
    [
        ("cuMemGetInfo_v2", "total", "2G", "rsi", 0, struct.pack("<Q", 2 << 30)),
        ("cuMemGetInfo_v2", "*free", "0x10", "rdi", 0, struct.pack("<Q", 16)),
        ("cuMemAlloc_v2", "dptr", "NULL", "rdi", 0, bytes(8)),
        ("cuDeviceGetCount", "count", "-1", "rdi", 0, b"\xff" * 4),
        ("cuDeviceGetCount", "count", "8", "rdi", 0, b"\x08\0\0\0"),
        ("nvmlDeviceGetMemoryInfo", "memory.free", "1M", "rsi", 8, struct.pack("<Q", 1 << 20)),
        ("nvmlDeviceGetMemoryInfo", "memory->total", "1", "rsi", 0, struct.pack("<Q", 1)),
        ("nvmlDeviceGetUtilizationRates", "utilization.memory", "99", "rsi", 4, b"c\0\0\0"),
        ("cudaGetDeviceProperties", "prop.maxGridSize[2]", "7", "rdi", None, b"\x07\0\0\0"),
        ("cuGetProcAddress_v2", "symbolStatus", "CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND", "r8", 0, b"\x01\0\0\0"),
        ("cudaPointerGetAttributes", "attributes.type", "cudaMemoryTypeManaged", "rdi", 0, b"\x03\0\0\0"),
        ("cudaEventElapsedTime", "ms", "1.5", "rdi", 0, struct.pack("<f", 1.5)),
    ],
)
def test_an_out_value(symbol: str, out: str, value: str, register: str, offset: int | None, raw: bytes) -> None:
    effect = out_values.plan(function(symbol), out, value).effect
    assert isinstance(effect, Replace) and effect.status is None
    (one,) = effect.written
    assert (one.pointer.register, one.raw) == (register, raw) and offset in (None, one.offset)


@pytest.mark.parametrize(
    ("symbol", "out", "value", "said"),
    [
        ("cuMemGetInfo_v2", "totl", "2G", "cuMemGetInfo_v2 does not write 'totl'; did you mean total?"),
        ("cuMemAlloc_v2", "bytesize", "2G", "cuMemAlloc_v2 does not write 'bytesize'; it writes dptr"),
        ("cuMemFree_v2", "dptr", "0", "does not write 'dptr'; it writes nothing"),
        ("cuMemcpyDtoH_v2", "dstHost", "0", "it writes nothing whose type is known"),
        ("cudaPointerGetAttributes", "attributes.type", "0x", "takes a number or a constant: cudaMemoryTypeUnreg"),
        ("cudaGetDeviceProperties", "prop.name", "3", "prop.name is an array (char[256])"),
        ("cuDeviceGetName", "name", "7", "name of cuDeviceGetName is text"),
        ("cuDeviceGetCount", "count", "8G", "8G does not fit into the 4 bytes of count (int)"),
        ("cuDeviceGetCount", "count", "-3G", "-3G does not fit into the 4 bytes of count (int)"),
        ("cuDeviceGetCount", "count", "many", "'many' is no value for count (int), which takes a number"),
        ("cuDeviceGetCount", "count.x", "1", "int, count of cuDeviceGetCount, has no member 'x'"),
        ("cuDeviceGetCount", "count[0]", "1", "there is no [0] in count of cuDeviceGetCount: it is int"),
        ("nvmlDeviceGetMemoryInfo", "memory", "1", "one of its members can be set: total, free and used"),
        ("nvmlDeviceGetMemoryInfo", "memory.totl", "1", "has no member 'totl'; did you mean total?"),
        ("cudaGetDeviceProperties", "prop.maxGridSize", "1", "one element can be set, as prop.maxGridSize[0]"),
        ("cudaGetDeviceProperties", "prop.maxGridSize[3]", "1", "there is no [3] in prop"),
        ("cudaPointerGetAttributes", "attributes.type", "cudaMemoryTypeHos", "did you mean cudaMemoryTypeHost?"),
        ("cudaEventElapsedTime", "ms", "long", "'long' is no value for ms, which takes a number like 1.5"),
        ("cuMemGetInfo_v2", "total+1", "1", "'total+1' is no out-value"),
        ("cudaGetErrorString", "x", "1", "cudaGetErrorString returns const char *, no status"),
    ],
)
def test_no_out_value(symbol: str, out: str, value: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        out_values.plan(function(symbol), out, value)
    assert said in str(caught.value)


def test_every_out_value_of_the_table_can_be_set_or_is_refused() -> None:
    """Of all functions, and the members of their structs: a pointer in one piece, bytes of the type's size."""
    done = refused = 0
    for symbol in TABLE.symbols:
        for out in dict.fromkeys(out_values.complete_outs([function(symbol)])):
            try:
                effect = out_values.plan(function(symbol), out, "1").effect
            except UserError as reason:
                assert str(reason)
                refused += 1
                continue
            assert isinstance(effect, Replace) and len(effect.written[0].raw) in (1, 2, 4, 8)
            done += 1
    assert done > 1000 and refused > 100


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("f with S", "f --with=S"),
        ("f if a > 1 with S", "f --with=S if a > 1"),
        ("f with S if a > 1", "f --with=S if a > 1"),
        ("f --in g if a == 2 && b with S --times 3", "f --in g --with=S --times 3 if a == 2 && b"),
        ("f if(a) with 2", "f --with=2 if (a)"),
        ('f if s == "go with it" with 2', 'f --with=2 if s == "go with it"'),
        ("f --with S", "f --with S"),
        ("", ""),
    ],
)  # fmt: skip
def test_words_of_a_status(typed: str, expected: str) -> None:
    assert typed_faults.status_as_option(typed, "an example").split() == expected.split()


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("f total = 2G on return", "f --to=total=2G"),
        ("f total=2G", "f --to=total=2G"),
        ("f total= 2G on return --in driver", "f --to=total=2G --in driver"),
        ("f g m.x[1] = NULL on return if a == 1 && b = 2", "f g --to=m.x[1]=NULL if a == 1 && b = 2"),
        ("f --from app *p =-1", "f --from app --to=*p=-1"),
        ("", ""),
    ],
)
def test_words_of_a_value(typed: str, expected: str) -> None:
    assert typed_faults.value_as_option(typed, "an example").split() == expected.split()


@pytest.mark.parametrize("typed", ["f", "f with", "f if a > 1", "f if a with 2 if b"])
def test_words_that_miss_a_status(typed: str) -> None:
    with pytest.raises(UserError):
        typed_faults.status_as_option(typed, "an example")


@pytest.mark.parametrize("typed", ["f", "f total", "f total =", "f if total == 2", "f = 2"])
def test_words_that_miss_a_value(typed: str) -> None:
    with pytest.raises(UserError):
        typed_faults.value_as_option(typed, "an example")
