from __future__ import annotations

import struct

import condition_cases
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdbcuda import api, condition
from gdbcuda.condition import place
from gdbcuda.condition.grammar import parser
from gdbcuda.condition.grammar.show import show
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.memory import DictMemory

TABLE = api.load()


def parse(text: str, *symbols: str) -> condition.Condition:
    return condition.parse(text, TABLE, [TABLE.functions[symbol] for symbol in symbols])


@pytest.mark.parametrize(
    "written, shown",
    [
        ("bytesize>1<<30", "bytesize > 1073741824"),
        ("bytesize > 1G", "bytesize > 1073741824"),
        ("bytesize > 1GiB", "bytesize > 1073741824"),
        ("bytesize > 1.5K", "bytesize > 1536"),
        ("bytesize > 0x10", "bytesize > 16"),
        ("bytesize == ~0", "bytesize == -1"),
        ("bytesize == 5 - 7u", "bytesize == 18446744073709551614"),
        ("bytesize == 7u / 2", "bytesize == 3u"),
        ("(bytesize & (4 * 1K - 1)) != 0", "(bytesize & 4095) != 0"),
        ("dptr == NULL || !(bytesize == 0)", "dptr == NULL || !(bytesize == 0)"),
        ("bytesize - (bytesize - 1) == 1", "bytesize - (bytesize - 1) == 1"),
        ("((bytesize)) / 2 * 2 == bytesize", "bytesize / 2 * 2 == bytesize"),
        ("bytesize == CU_EVENT_DEFAULT", "bytesize == CU_EVENT_DEFAULT"),
    ],
)
def test_shown(written: str, shown: str) -> None:
    assert parse(written, "cuMemAlloc_v2").text == shown
    assert parse(shown, "cuMemAlloc_v2").text == shown


def test_a_parameter_may_be_called_like_a_word_of_the_language() -> None:
    assert parse("error == CUDA_ERROR_OUT_OF_MEMORY", "cuGetErrorName").evaluate({"error": 2})


@pytest.mark.parametrize(
    "text, values, holds",
    [
        ("u > 5", {"u": 6}, True),
        ("u > 5", {"u": 0x1_0000_0002}, False),  # what is above its 32 bits is noise
        ("i < 0", {"i": 0xFFFFFFFF}, True),
        ("i == -1", {"i": -1}, True),
        ("u < -1", {"u": 5}, False),  # not turned into an unsigned comparison, as 32-bit C would
        ("z == -1", {"z": (1 << 64) - 1}, True),  # but a 64-bit one is
        ("z > l", {"z": 5, "l": -1}, False),
        ("l < 5u", {"l": -1}, False),
        ("i + u > 4G - 1", {"i": 1, "u": 0xFFFFFFFF}, True),  # no wrap at 32 bits
        ("z + 1 == 0", {"z": (1 << 64) - 1}, True),
        ("i / 0 == 0 && i % 0 == 0", {"i": 5}, True),
        ("i / -2 == -3 && i % -2 == 1", {"i": 7}, True),
        ("i / 2 == -3 && i % 2 == -1", {"i": -7}, True),
        ("l / i == l", {"l": -(1 << 63), "i": -1}, True),
        ("1 << u == 2", {"u": 65}, True),
        ("l >> 1 == -1", {"l": -1}, True),
        ("p >> 63 == 1", {"p": (1 << 64) - 1}, True),
        ("f > 0.25 && f < 1", {"f": 0.5}, True),
        ("f", {"f": 0.5}, True),
        ("!f", {"f": -0.0}, True),
        ("1 / f > 1e308", {"f": 0.0}, True),
        ("0 / f == 0 / f", {"f": 0.0}, False),
        ("z * 1.0 == 18446744073709551616.0", {"z": (1 << 64) - 1}, True),
        ("e == cudaMemcpyDeviceToHost", {"e": 2}, True),
        ("(i > 0) + (u > 0) == 2", {"i": 1, "u": 1}, True),
        ("p == NULL || z", {"p": 0, "z": 0}, True),
        ("p != NULL && z", {"p": 0, "z": 1}, False),
        ("+i == -(-i)", {"i": 3}, True),
        ("~u == -4", {"u": 3}, True),
    ],
)
def test_meaning(text: str, values: dict[str, float], holds: bool) -> None:
    assert condition.parse(text, TABLE, [condition_cases.WIDE]).evaluate(values) is holds


MEMORY = DictMemory({0x1000: struct.pack("<8Q", 5, 6, 7, 8, 2, 0, 0, 0), 0x2000: b"ab\0d" + bytes(60)})


@pytest.mark.parametrize(
    "text, symbol, values, holds",
    [
        ("*numNodes == 5", "cuGraphGetNodes", {"numNodes": 0x1000}, True),
        ("numNodes[0] > 5", "cuGraphGetNodes", {"numNodes": 0x1000}, False),
        ("*numNodes != 5", "cuGraphGetNodes", {"numNodes": 0}, False),  # nothing is true of what is not there
        ("!*numNodes", "cuGraphGetNodes", {"numNodes": 0}, False),
        ("*numNodes", "cuGraphGetNodes", {"numNodes": 0}, False),
        ("!(*numNodes == 5)", "cuGraphGetNodes", {"numNodes": 0}, True),
        ("*numNodes + 1 || numNodes == NULL", "cuGraphGetNodes", {"numNodes": 0}, True),
        ("sizes[2] == 7", "cuMemDiscardBatchAsync", {"sizes": 0x1000, "count": 3}, True),
        ("sizes[2] == 7", "cuMemDiscardBatchAsync", {"sizes": 0x1000, "count": 2}, False),  # behind the end
        ("sizes[2] != 9", "cuMemDiscardBatchAsync", {"sizes": 0x1000, "count": 2}, False),
        ("sizes[1] + sizes[2] == 13", "cuMemDiscardBatchAsync", {"sizes": 0x1000, "count": 3}, True),
        ("pBorderColor[3] == 0", "cuTexRefSetBorderColor", {"pBorderColor": 0x1000}, True),
        ("pBorderColor[3] > 1e-30", "cuTexRefSetBorderColor", {"pBorderColor": 0x1000}, False),
        (
            "pgpuMetadata->version == 5",
            "nvmlDeviceGetVgpuMetadata",
            {"pgpuMetadata": 0x1000, "bufferSize": 0x1020},
            False,
        ),
        ("pCopy->srcMemoryType == CU_MEMORYTYPE_ARRAY", "cuMemcpy2D_v2", {"pCopy": 0x0FE8}, None),
        ("pCopy->srcMemoryType == 7 && pCopy->srcY == 6", "cuMemcpy2D_v2", {"pCopy": 0x1000}, True),
        ("symbol[1] == 98", "cuGetProcAddress_v2", {"symbol": 0x2000}, True),
        ("symbol[2] == 0", "cuGetProcAddress_v2", {"symbol": 0x2000}, True),
        ("symbol[3] == 100", "cuGetProcAddress_v2", {"symbol": 0x2000}, False),  # behind its end
        ("gridDim.y == 2 && gridDim.z == 3", "cudaLaunchKernel", {"gridDim": 1 | 2 << 32 | 3 << 64}, True),
        ("config->numAttrs == 0", "cuLaunchKernelEx", {"config": 0}, False),
    ],
)
def test_what_pointers_lead_to(text: str, symbol: str, values: dict[str, int], holds: bool | None) -> None:
    parsed = parse(text, symbol)
    if holds is None:
        with pytest.raises(Unreadable):
            parsed.evaluate(values, memory=MEMORY)
    else:
        assert parsed.evaluate(values, memory=MEMORY) is holds


@pytest.mark.parametrize(
    "text, holds",
    [
        ("nth == 3", [3]),
        ("nth != 3 && every 2", [2, 4, 6, 8, 10]),
        ("after 7", [8, 9, 10]),
        ("nth < 3", [1, 2]),
        ("3 >= nth && every 1", [1, 2, 3]),
        ("every 3 && after 3", [6, 9]),
    ],
)
def test_counting(text: str, holds: list[int]) -> None:
    test = condition.ordinal_test(text)
    assert [number for number in range(1, 11) if test(number)] == holds


def test_only_what_counts_is_a_count() -> None:
    with pytest.raises(UserError, match="does not count"):
        condition.ordinal_test("every 3 && bytesize")


def test_ranges() -> None:
    ranges = [(10, 20), (15, 30), (30, 31), (50, 60)]
    assert place.union(ranges) == [(10, 31), (50, 60)]
    assert place.complement(ranges) == [(0, 10), (31, 50), (60, (1 << 64) - 1)]
    assert place.complement([]) == [place.EVERYWHERE] and place.complement([place.EVERYWHERE]) == []
    assert [place.within(address, ranges) for address in (10, 11, 31, 32, 60, 61)] == [
        False,
        True,
        True,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    "text, name, holds",
    [
        ('symbol == "cuInit"', "cuInit", True),
        ('symbol == "cuInit"', "cuInit_v2", False),
        ('symbol == "cuInit"', "cuIni", False),
        ('symbol == "cuMem*"', "cuMemAlloc", True),
        ('symbol == "cuMem*"', "cuMem", True),
        ('symbol == "cuMem*"', "cuMe", False),
        ('"cuMem*" != symbol', "cuMemAlloc", False),
        (r'symbol == "a\*"', "a*", True),
        (r'symbol == "a\*"', "ab", False),
        ('symbol == "*"', "", True),
        ('symbol == "*"', None, False),
        ('symbol != "cuInit"', None, True),
        ("symbol == NULL", None, True),
        ("symbol == NULL", "", False),
        ('symbol == "é"', "é", True),
    ],
)
def test_strings(text: str, name: str | None, holds: bool) -> None:
    parsed = parse(text, "cuGetProcAddress_v2")
    function = TABLE.functions["cuGetProcAddress_v2"]
    assert parsed.evaluate({"symbol": name}) is holds
    assert parsed.evaluate({"symbol": name.encode() if name is not None else None}) is holds
    address = 0x1000 - len(name.encode()) - 1 if name is not None else 0
    memory = DictMemory({address: name.encode() + b"\0"} if name is not None else {})
    assert parsed.evaluate({"symbol": address}, memory=memory) is holds
    raws = [struct.pack("<Q", address), *[None] * 4]
    assert parsed.holds(function, raws, memory) is holds


def test_an_unreadable_string_equals_nothing() -> None:
    parsed = parse('symbol == "cuInit" || symbol == "*"', "cuGetProcAddress_v2")
    assert not parsed.evaluate({"symbol": 0x1000}, memory=DictMemory({}))
    with pytest.raises(TypeError, match="symbol"):
        parsed.evaluate({"symbol": 0x1000})


def test_an_argument_that_is_not_known_is_no_answer() -> None:
    function = TABLE.functions["cuMemAlloc_v2"]
    parsed = parse("bytesize > 1", "cuMemAlloc_v2")
    assert parsed.arguments(function) == {"bytesize": 1}
    assert parsed.holds(function, [None, b"\2" + bytes(7)], DictMemory({}))
    with pytest.raises(Unreadable):
        parsed.holds(function, [None, None], DictMemory({}))


def test_types_are_those_of_the_function() -> None:
    """One name, two types: an enum of 32 bits here, a size there."""
    functions = [condition_cases.function("size_t n"), condition_cases.function("unsigned int n")]
    functions[1].symbol = "other"
    parsed = condition.parse("n > 4G - 1", TABLE, functions)
    assert [parsed.evaluate({"n": 1 << 32}, function) for function in functions] == [True, False]


@given(st.integers(0, 1 << 30), st.integers(0, 4))
def test_what_is_shown_means_the_same(seed: int, depth: int) -> None:
    text = condition_cases.Conditions(seed, condition_cases.WIDE).condition(depth)
    try:
        tree = parser.parse(text)
    except UserError:
        return
    shown = show(tree)
    assert parser.parse(shown) == tree
    assert show(parser.parse(shown)) == shown
