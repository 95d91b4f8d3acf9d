"""What a mistake in a condition says: where it is, and what exists."""

from __future__ import annotations

import condition_cases
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_condition_x86 import compiled

from gdbcuda import condition
from gdbcuda.errors import UserError
from gdbcuda.machine import abi

TABLE = condition_cases.TABLE
CALLER = '"caller" is written like caller in app, caller in libfoo.so, caller in main'
ONLY_AND = "counts the calls that the rest of the condition lets through, so only && can join it to the rest"
COPY = ", ".join(field.name for field in TABLE.types["CUDA_MEMCPY2D"].fields)


def parse(text: str, *symbols: str) -> condition.Condition:
    return condition.parse(text, TABLE, [TABLE.functions[symbol] for symbol in symbols])


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
        ("*size", 'cuMemAlloc_v2 has no parameter "size"; it has dptr, bytesize; did you mean bytesize?'),
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
        ("size > 1", 'cuMemAlloc_v2 has no parameter "size"; it has dptr, bytesize; did you mean bytesize?'),
        ("nosuch > 1", 'cuMemAlloc_v2 has no parameter "nosuch"; it has dptr, bytesize'),
        ("bytesize > -1", "bytesize of cuMemAlloc_v2 is never negative: it is unsigned"),
        ("-5 <= bytesize", "bytesize of cuMemAlloc_v2 is never negative: it is unsigned"),
        ("bytesize > 1G --once", "column 15: --once belongs in front of if, with the other options"),
        ("(int)bytesize > 1", "column 1: a condition needs no casts, all integers are 64 bits wide"),
        ("1 < (unsigned long)bytesize", "column 5: a condition needs no casts, all integers are 64 bits wide"),
        ("bytesize > 1 GB", 'column 14: an operator is missing before "GB"; write 1GB'),
        ("nth", 'column 1: "nth" is written like nth == 3'),
        ("bytesize || nth", 'column 13: "nth" is written like nth == 3'),
        ("(" * 41 + "bytesize" + ")" * 41, "column 41: nested too deeply, more than 40 times"),
        ("!" * 300 + "bytesize", "column 41: nested too deeply, more than 40 times"),
        (" || ".join(["bytesize == 1"] * 101), "the condition is too long: 403 words and signs, at most 400"),
        (
            "result == CUDA_ERROR_OUT_OF_MEMORY",
            "a condition is looked at when the function is entered: there is no result yet "
            "(--on error stops at an error)",
        ),
        (
            "bytesize == CU_EVENT_DEFUALT",
            'cuMemAlloc_v2 has no parameter "CU_EVENT_DEFUALT"; it has dptr, bytesize; did you mean CU_EVENT_DEFAULT?',
        ),
        (
            'bytesize == "1G"',
            "bytesize of cuMemAlloc_v2 is no string on entry (size_t); it cannot be compared with one",
        ),
        ('"a" == "a"', "column 5: a string can only be compared with a parameter"),
        ('CU_EVENT_DEFAULT == "a"', "CU_EVENT_DEFAULT is a number; it cannot be compared with a string"),
        ('"nth == 2"', "the condition is in quotes; here it is written without: nth == 2"),
        ('!"a"', '"a" can only be compared (== or !=) with a string parameter'),
    ],
)
def test_refused(written: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(written, "cuMemAlloc_v2")
    assert str(caught.value) == message


def test_as_long_and_as_deep_as_may_be() -> None:
    """Every back end manages what the parser lets through."""
    nested = "!" + "(" * 38 + "bytesize" + ")" * 38
    for written in (" || ".join(["bytesize == 7"] * 100), nested, " + ".join(["bytesize"] * 199) + " == 1393"):
        parsed = parse(written, "cuMemAlloc_v2")
        function = TABLE.functions["cuMemAlloc_v2"]
        assert parsed.evaluate({"bytesize": 7 * (written[0] != "!")})
        assert parsed.to_gdb(function, abi.locate(function)).why == ""
        assert compiled(parsed, function).bytes
        assert parse(str(parsed), "cuMemAlloc_v2").text == str(parsed)


def test_of_a_glob_the_functions_that_it_fits() -> None:
    functions = [TABLE.functions[symbol] for symbol in ("cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc")]
    parsed = condition.parse("bytesize > 1G", TABLE, functions, {one.symbol for one in functions})
    assert [parsed.fits(one.symbol) for one in functions] == [True, False, True]
    with pytest.raises(UserError, match="dptr; nor is the condition valid for cuMemHostAlloc"):
        condition.parse("dptr > nosuch", TABLE, functions[1:], {"cuMemFree_v2", "cuMemHostAlloc"})


@pytest.mark.parametrize(
    "written, symbol, message",
    [
        ("x", "cudaDeviceSynchronize", 'cudaDeviceSynchronize has no parameters, so no "x"'),
        (
            "gridDim == 1",
            "cudaLaunchKernel",
            "gridDim of cudaLaunchKernel is a struct (dim3); a condition takes one of its members: x, y, z",
        ),
        (
            "kind == DeviceToHost",
            "cudaMemcpy",
            'cudaMemcpy has no parameter "DeviceToHost"; it has dst, src, count, kind; did you mean '
            "cudaMemcpyDeviceToHost?",
        ),
        (
            "flags == 0",
            "cuEventCreate",
            'cuEventCreate has no parameter "flags"; it has phEvent, Flags; did you mean Flags?',
        ),
        (
            "gridDim > 1",
            "cuOccupancyMaxPotentialBlockSize",
            'cuOccupancyMaxPotentialBlockSize has no parameter "gridDim"; it has minGridSize, blockSize, func, '
            "blockSizeToDynamicSMemSize, dynamicSMemSize, blockSizeLimit",
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
        (
            "pCopy->Width",
            "cuMemcpy2D_v2",
            f'column 6: CUDA_MEMCPY2D has no member "Width"; it has {COPY}; did you mean WidthInBytes?',
        ),
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


def test_a_glob_over_everything_is_refused_at_once() -> None:
    with pytest.raises(
        UserError, match=r'no parameter.* "byteszie"; .* nor is the condition valid for .* and \d+ more$'
    ):
        condition.parse("byteszie > CU_EVENT_DEFUALT", TABLE, list(TABLE.functions.values()))


@given(st.text('abz159. ()<>=!&|+-*/%~"\\^_KG', max_size=30))
def test_any_text_parses_or_is_a_mistake_of_the_user(text: str) -> None:
    try:
        condition.parse(text, TABLE, [condition_cases.function("int a;size_t b;const char * z")])
    except UserError as reason:
        assert "\n" not in str(reason)
