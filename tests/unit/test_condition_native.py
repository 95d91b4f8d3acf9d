"""The gdb expressions of conditions: which terms gdbserver can evaluate, and which need gdb."""

from __future__ import annotations

import condition_cases
import pytest

from gdbcuda import condition
from gdbcuda.condition.to_gdb import Native
from gdbcuda.machine import abi

TABLE = condition_cases.TABLE


def to_gdb(text: str, symbol: str, machine: str = "x86-64") -> Native:
    function = TABLE.function(symbol) or condition_cases.function("int i;float fmin")
    return condition.parse(text, TABLE, [function]).to_gdb(function, abi.locate(function, machine))


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
            ["(unsigned long)$rsi", '$_cuda_from("hook,libfoo.so")'],  # the cheap one first
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
