from __future__ import annotations

import struct

import condition_cases
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdbcuda import abi, api, condition
from gdbcuda.condition import parser, place
from gdbcuda.condition.show import show
from gdbcuda.condition.to_gdb import Native
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.memory import DictMemory

TABLE = api.load()
CALLER = '"caller" is written like caller in app, caller in libfoo.so, caller in main'
ONLY_AND = "counts the calls that the rest of the condition lets through, so only && can join it to the rest"
COPY = ", ".join(field.name for field in TABLE.types["CUDA_MEMCPY2D"].fields)


def parse(text: str, *symbols: str) -> condition.Condition:
    return condition.parse(text, TABLE, [TABLE.functions[symbol] for symbol in symbols])


def to_gdb(text: str, symbol: str, machine: str = "x86-64") -> Native:
    function = TABLE.function(symbol) or condition_cases.function("int i;float fmin")
    return condition.parse(text, TABLE, [function]).to_gdb(function, abi.locate(function, machine))


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


@pytest.mark.parametrize(
    "written, message",
    [
        ("", "the condition is empty"),
        ("  ", "the condition is empty"),
        ("bytesize >", "column 11: a value is missing before the end"),
        ("bytesize > )", 'column 12: a value is missing before ")"'),
        ("(bytesize > 1", "column 14: the ) of the ( in column 1 is missing before the end"),
        ("bytesize > 1)", 'column 13: an operator is missing before ")"'),
        ("bytesize = 1", 'column 10: an operator is missing before "="; write =='),
        ("bytesize and dptr", 'column 10: an operator is missing before "and"; write &&'),
        ("not bytesize", 'column 1: a value is missing before "not"; write !'),
        ("bytesize @ 1", 'column 10: "@" has no meaning in a condition'),
        ("bytesize > 1X", 'column 12: "1X" is not a number; sizes are written 512, 4K, 1G or 1GiB'),
        ("bytesize > 010", 'column 12: "010" would be octal in C; write it without the leading 0'),
        ("bytesize > 99999999999999999999", 'column 12: "99999999999999999999" does not fit in 64 bits'),
        ("1 < bytesize < 3", "column 14: comparisons do not chain; join two of them with &&"),
        ("bytesize & 1 == 1", "column 10: C compares before it does &; write (a & b) == c"),
        ("1 == bytesize & 1", "column 15: C compares before it does &; write (a & b) == c"),
        ("&bytesize == 1", "column 1: & (an address) has no meaning in a condition"),
        (
            "*dptr == 1",
            "column 1: dptr of cuMemAlloc_v2 is written by the function: nothing is there yet when it is entered",
        ),
        ("dptr[0", "column 7: the ] of the [ in column 5 is missing before the end"),
        ("dptr[-1]", "column 6: an index is a number, 0 or more"),
        ("dptr[bytesize]", "column 6: an index is a number, 0 or more"),
        ("dptr->", "column 7: the name of a member is missing before the end"),
        ("**dptr == 1", "column 1: a condition follows one pointer, from a parameter"),
        ("dptr->x->y", "column 8: a condition follows one pointer, from a parameter"),
        ("*5 == 1", "column 1: * is for a parameter that points to something"),
        ("(dptr + 1)->x", "column 11: -> is for a parameter"),
        ("*bytesize", "column 1: bytesize of cuMemAlloc_v2 is of type size_t, which points to nothing"),
        ("*size", 'cuMemAlloc_v2 has no parameter "size"; it has dptr, bytesize'),
        ("bytesize == 'a'", 'column 13: strings are written in double quotes: "cuInit"'),
        ('bytesize == "a', "column 13: the string has no closing quote"),
        ('bytesize == "a*b"', r'column 13: * ends a string, as in "cuMem*"; as a character it is \*'),
        ("bytesize % 1.5", "% does not work on a fraction: bytesize % 1.5"),
        ("~1.5 < bytesize", "~ does not work on a fraction: ~1.5"),
        ("1e308*10 < bytesize", "column 6: the result of * is no finite number"),
        ("caller", f"column 1: {CALLER}"),
        ("caller in", f"column 1: {CALLER}"),
        ("bytesize && caller == hook", f"column 13: {CALLER}"),
        ("caller in ,", "column 11: a layer, an object or a function is missing"),
        ("thread", 'column 1: "thread" is written like thread == 2 or thread != 2'),
        ("thread > 2", "column 1: a thread is == or != a number, not > one"),
        ("thread == bytesize", "column 1: thread is compared with a number, 1 or more"),
        ("0 == thread", "column 6: thread is compared with a number, 1 or more"),
        ("nth == 0", "column 1: nth is compared with a number, 1 or more"),
        ("every", 'column 1: "every" is written like every 10'),
        ("bytesize && every x", 'column 13: "every" is written like every 10'),
        ("after 0", "column 1: after takes a number, 1 or more"),
        ("nth == 3 || bytesize", f"column 1: nth {ONLY_AND}"),
        ("bytesize && !(nth == 3)", f"column 15: nth {ONLY_AND}"),
        ("bytesize + every 3 > 1", f"column 12: every {ONLY_AND}"),
        ("bytesize && (dptr || after 3)", f"column 22: after {ONLY_AND}"),
        ("size > 1", 'cuMemAlloc_v2 has no parameter "size"; it has dptr, bytesize'),
        (
            "result == CUDA_ERROR_OUT_OF_MEMORY",
            "a condition is looked at when the function is entered: there is no result yet "
            "(--on error stops at an error)",
        ),
        (
            "bytesize == CU_EVENT_DEFUALT",
            'cuMemAlloc_v2 has no parameter "CU_EVENT_DEFUALT"; it has dptr, bytesize; '
            "or did you mean CU_EVENT_DEFAULT?",
        ),
        (
            'bytesize == "1G"',
            "bytesize of cuMemAlloc_v2 is no string on entry (size_t); it cannot be compared with one",
        ),
        ('"a" == "a"', "column 5: a string can only be compared with a parameter"),
        ('CU_EVENT_DEFAULT == "a"', "CU_EVENT_DEFAULT is a number; it cannot be compared with a string"),
        ('"a"', '"a" can only be compared (== or !=) with a string parameter'),
    ],
)
def test_refused(written: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(written, "cuMemAlloc_v2")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "written, symbol, message",
    [
        ("x", "cudaDeviceSynchronize", 'cudaDeviceSynchronize has no parameters, so no "x"'),
        (
            "gridDim == 1",
            "cudaLaunchKernel",
            "gridDim of cudaLaunchKernel is a struct (dim3); a condition takes one of its members: x, y, z",
        ),
        ("Flags == -1", "cuInit", "Flags of cuInit is never -1: it is of type unsigned int"),
        ("5G != device", "cudaSetDevice", "device of cudaSetDevice is never 5368709120: it is of type int"),
        ('symbol < "a"', "cuGetProcAddress_v2", "column 8: strings can only be compared with == and !="),
        ("gridDim.w == 1", "cudaLaunchKernel", 'column 8: dim3 has no member "w"; it has x, y, z'),
        (
            "gridDim.x == -1",
            "cudaLaunchKernel",
            "gridDim.x of cudaLaunchKernel is never -1: it has 32 bits, unsigned",
        ),
        (
            "gridDim->x",
            "cudaLaunchKernel",
            "column 8: gridDim of cudaLaunchKernel is of type dim3, which points to nothing",
        ),
        (
            "*pCopy == 1",
            "cuMemcpy2D_v2",
            f"column 1: this is a struct (CUDA_MEMCPY2D); a condition takes one of its members: {COPY}",
        ),
        ("pCopy.Height", "cuMemcpy2D_v2", "column 6: pCopy of cuMemcpy2D_v2 is a pointer: write -> instead of ."),
        ("pCopy->Width", "cuMemcpy2D_v2", f'column 6: CUDA_MEMCPY2D has no member "Width"; it has {COPY}'),
        (
            "pCopy[1].Height",
            "cuMemcpy2D_v2",
            "column 9: pCopy of cuMemcpy2D_v2 points to one CUDA_MEMCPY2D, as far as is known",
        ),
        ("pCopy->Height.x", "cuMemcpy2D_v2", "column 14: size_t has no members"),
        ("pCopy->Height[0]", "cuMemcpy2D_v2", "column 14: [0] is for an array, not for size_t"),
        ("pCopy->srcHost[0]", "cuMemcpy2D_v2", "column 15: a condition follows one pointer, from a parameter"),
        (
            "*hStream",
            "cuStreamSynchronize",
            "column 1: hStream of cuStreamSynchronize is a handle (CUstream): what is there is not known",
        ),
        (
            "*kernelParams",
            "cuLaunchKernel",
            "column 1: how many pointers kernelParams of cuLaunchKernel points to is not known, maybe none",
        ),
        (
            "*srcHost",
            "cuMemcpyHtoD_v2",
            "column 1: srcHost of cuMemcpyHtoD_v2 is of type const void *: what is there is not known",
        ),
        (
            "pBorderColor[4] > 1",
            "cuTexRefSetBorderColor",
            "column 13: pBorderColor of cuTexRefSetBorderColor points to 4 float, as far as is known",
        ),
        (
            "nodes[0]",
            "cuGraphGetNodes",
            "column 6: nodes of cuGraphGetNodes is written by the function: nothing is there yet when it is entered",
        ),
        (
            'name == "a"',
            "cuDeviceGetName",
            "name of cuDeviceGetName is no string on entry (char *); it cannot be compared with one",
        ),
    ],
)
def test_refused_for_its_type(written: str, symbol: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(written, symbol)
    assert str(caught.value) == message


def test_every_function_must_fit() -> None:
    assert parse("count > 1", "cudaMemcpy", "cudaMemcpyAsync", "cudaMemset").text == "count > 1"
    with pytest.raises(UserError) as caught:
        parse("bytesize > 1", "cuMemAlloc_v2", "cuMemFree_v2", "cuInit", "cudaMalloc")
    message = str(caught.value)
    assert message.startswith('cuMemFree_v2 has no parameter "bytesize"; it has dptr; ')
    assert message.endswith("nor is the condition valid for cuInit, cudaMalloc")


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
        ("z > -1", {"z": 5}, False),
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


@pytest.mark.parametrize(
    "text, symbol, terms",
    [
        ("bytesize > 1G", "cuMemAlloc_v2", ["((unsigned long)$rsi > 1073741824)"]),
        ("bytesize > 8G", "cuMemAlloc_v2", ["((unsigned long)$rsi > 8589934592ul)"]),
        ("bytesize", "cuMemAlloc_v2", ["(unsigned long)$rsi"]),
        ("device == 1", "cudaSetDevice", ["((int)($rdi & 0xffffffff) == 1)"]),
        ("device == -1", "cudaSetDevice", ["((long)(int)($rdi & 0xffffffff) == (-1l))"]),
        ("Flags + 1 > 1", "cuInit", ["((($rdi & 0xffffffff) + 1l) > 1)"]),
        ("kind == cudaMemcpyDeviceToHost", "cudaMemcpy", ["(($rcx & 0xffffffff) == 2)"]),
        ("fmin > 0.5", "made", ["((double)$xmm0.v4_float[0] > 0.5)"]),
        ("dptr && bytesize == 1", "cuMemAlloc_v2", ["(unsigned long)$rdi", "((unsigned long)$rsi == 1)"]),
        ("gridDim.y == 2", "cudaLaunchKernel", ["((($rsi >> 32) & 0xffffffff) == 2)"]),
        ("gridDim.z == 2", "cudaLaunchKernel", ["(($rdx & 0xffffffff) == 2)"]),
        (
            "*numNodes > 1",
            "cuGraphGetNodes",
            ["(((unsigned long)$rdx != 0) && ((unsigned long)*(unsigned long *)$rdx > 1))"],
        ),
        (
            "pCopy->Height == 1",
            "cuMemcpy2D_v2",
            ["(((unsigned long)$rdi != 0) && ((unsigned long)*(unsigned long *)($rdi + 120) == 1))"],
        ),
    ],
)
def test_what_gdbserver_can_evaluate(text: str, symbol: str, terms: list[str]) -> None:
    assert to_gdb(text, symbol) == Native(tuple(terms), "", "")


def test_gdb_expressions_on_aarch64() -> None:
    assert to_gdb("bytesize > 1G", "cuMemAlloc_v2", "aarch64").terms == ("((unsigned long)$x1 > 1073741824)",)


@pytest.mark.parametrize(
    "text, symbol, terms, count, why",
    [
        ("sharedMem > 1", "cudaLaunchKernel", ['$_cuda_if("sharedMem > 1")'], "", "sharedMem is passed on the stack"),
        (
            'flags && symbol == "cuInit"',
            "cuGetProcAddress_v2",
            ["(unsigned long)$rcx", r'$_cuda_if("symbol == \"cuInit\"")'],
            "",
            "the string symbol is in memory, and gdb's own conditions compare only numbers",
        ),
        (
            "caller in hook,libfoo.so && bytesize",
            "cuMemAlloc_v2",
            ['$_cuda_from("hook,libfoo.so")', "(unsigned long)$rsi"],
            "",
            "who calls has to be looked up in gdb",
        ),
        (
            "!(caller in hook) || thread != 2",
            "cuMemAlloc_v2",
            ['(!$_cuda_from("hook") || !($_thread == 2))'],
            "",
            "who calls has to be looked up in gdb",
        ),
        ("thread == 2", "cuMemAlloc_v2", ["($_thread == 2)"], "", "only gdb knows its threads' numbers"),
        ("nth == 3", "cuMemAlloc_v2", [], "nth == 3", "calls are counted in gdb"),
        (
            "every 10 && bytesize && after 1K",
            "cuMemAlloc_v2",
            ["(unsigned long)$rsi"],
            "every 10 && after 1024",
            "calls are counted in gdb",
        ),
    ],
)
def test_what_gdb_itself_has_to_evaluate(text: str, symbol: str, terms: list[str], count: str, why: str) -> None:
    assert to_gdb(text, symbol) == Native(tuple(terms), count, why)


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


@given(st.text('abz159. ()<>=!&|+-*/%~"\\^_KG', max_size=30))
def test_any_text_parses_or_is_a_mistake_of_the_user(text: str) -> None:
    try:
        condition.parse(text, TABLE, [condition_cases.function("int a;size_t b;const char * z")])
    except UserError as reason:
        assert "\n" not in str(reason)


def test_a_glob_over_everything_is_refused_at_once() -> None:
    with pytest.raises(
        UserError, match=r'no parameter.* "byteszie"; .* nor is the condition valid for .* and \d+ more$'
    ):
        condition.parse("byteszie > CU_EVENT_DEFUALT", TABLE, list(TABLE.functions.values()))
