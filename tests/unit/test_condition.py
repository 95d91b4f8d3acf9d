from __future__ import annotations

import struct

import condition_cases
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdbcuda import abi, api, condition
from gdbcuda.condition import syntax
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.memory import DictMemory

TABLE = api.load()


def parse(text: str, *symbols: str) -> condition.Condition:
    return condition.parse(text, TABLE, [TABLE.functions[symbol] for symbol in symbols])


def to_gdb(text: str, symbol: str, machine: str = "x86-64") -> str | None:
    function = TABLE.functions[symbol]
    return parse(text, symbol).to_gdb(function, abi.locate(function, machine))


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
        ("*dptr == 1", "column 1: * reads memory; a condition sees whole parameters only"),
        ("dptr[0] == 1", "column 5: no members or elements; a condition sees whole parameters only"),
        ("dptr->x", "column 5: no members or elements; a condition sees whole parameters only"),
        ("bytesize == 'a'", 'column 13: strings are written in double quotes: "cuInit"'),
        ('bytesize == "a', "column 13: the string has no closing quote"),
        ('bytesize == "a*b"', r'column 13: * ends a string, as in "cuMem*"; as a character it is \*'),
        ("bytesize % 1.5", "% does not work on a fraction: bytesize % 1.5"),
        ("~1.5 < bytesize", "~ does not work on a fraction: ~1.5"),
        ("1e308*10 < bytesize", "column 6: the result of * is no finite number"),
        ("caller in libfoo.so", "the caller cannot be part of a condition yet"),
        ("every 10", "calls cannot be counted in a condition yet; gdb's ignore command can"),
        ("thread == 1", "the thread cannot be part of a condition yet"),
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
            "gridDim of cudaLaunchKernel is a struct (dim3); a condition takes numbers, enums, pointers and strings",
        ),
        ("Flags == -1", "cuInit", "Flags of cuInit is never -1: it is of type unsigned int"),
        ("5G != device", "cudaSetDevice", "device of cudaSetDevice is never 5368709120: it is of type int"),
        ('symbol < "a"', "cuGetProcAddress_v2", "column 8: strings can only be compared with == and !="),
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
    "text, symbol, expected",
    [
        ("bytesize > 1G", "cuMemAlloc_v2", "(unsigned long)$rsi > 1073741824"),
        ("bytesize > 8G", "cuMemAlloc_v2", "(unsigned long)$rsi > 8589934592ul"),
        ("bytesize", "cuMemAlloc_v2", "(unsigned long)$rsi"),
        ("device == 1", "cudaSetDevice", "(int)($rdi & 0xffffffff) == 1"),
        ("device == -1", "cudaSetDevice", "(long)(int)($rdi & 0xffffffff) == (-1l)"),
        ("Flags + 1 > 1", "cuInit", "(($rdi & 0xffffffff) + 1l) > 1"),
        ("kind == cudaMemcpyDeviceToHost", "cudaMemcpy", "($rcx & 0xffffffff) == 2"),
        ("fmin > 0.5", "made", "(double)$xmm0.v4_float[0] > 0.5"),
    ],
)
def test_gdb_expressions(text: str, symbol: str, expected: str) -> None:
    function = TABLE.function(symbol) or condition_cases.function("int i;float fmin")
    parsed = condition.parse(text, TABLE, [function])
    assert parsed.to_gdb(function, abi.locate(function)) == expected and parsed.why is None


def test_gdb_expressions_on_aarch64() -> None:
    assert to_gdb("bytesize > 1G", "cuMemAlloc_v2", "aarch64") == "(unsigned long)$x1 > 1073741824"


@pytest.mark.parametrize(
    "text, symbol, why",
    [
        ("sharedMem > 1", "cudaLaunchKernel", "sharedMem is passed on the stack"),
        ('symbol == "cuInit"', "cuGetProcAddress_v2", "the string symbol is in memory"),
    ],
)
def test_what_gdb_cannot_be_told(text: str, symbol: str, why: str) -> None:
    function = TABLE.functions[symbol]
    parsed = parse(text, symbol)
    assert parsed.to_gdb(function, abi.locate(function)) is None
    assert parsed.why is not None and parsed.why.startswith(why)


@given(st.integers(0, 1 << 30), st.integers(0, 4))
def test_what_is_shown_means_the_same(seed: int, depth: int) -> None:
    text = condition_cases.Conditions(seed, condition_cases.WIDE).condition(depth)
    try:
        tree = syntax.parse(text)
    except UserError:
        return
    shown = syntax.show(tree)
    assert syntax.parse(shown) == tree
    assert syntax.show(syntax.parse(shown)) == shown


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
