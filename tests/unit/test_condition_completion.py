"""What TAB offers inside a condition."""

from __future__ import annotations

import pytest

from gdbcuda import api
from gdbcuda.condition.completion import complete

TABLE = api.load()


@pytest.mark.parametrize(
    "text, symbol, offered",
    [
        ("by", "cuMemAlloc_v2", ["bytesize"]),
        ("e", "cuMemAlloc_v2", ["every"]),
        ("th", "cuMemAlloc_v2", ["thread"]),
        ("(bytesize > 1G) && NU", "cuMemAlloc_v2", ["NULL"]),
        ("kind == cudaMemcpyDeviceToH", "cudaMemcpy", ["cudaMemcpyDeviceToHost"]),
        ("kind != cudaMemcpyDe", "cudaMemcpy",
         ["cudaMemcpyDefault", "cudaMemcpyDeviceToDevice", "cudaMemcpyDeviceToHost"]),
        ("count > 1 && kind==", "cudaMemcpy",
         ["cudaMemcpyDefault", "cudaMemcpyDeviceToDevice", "cudaMemcpyDeviceToHost", "cudaMemcpyHostToDevice",
          "cudaMemcpyHostToHost"]),
        ("kind == count_", "cudaMemcpy", []),
        ("flags & cudaMemAttach", "cudaMallocManaged",
         ["cudaMemAttachGlobal", "cudaMemAttachHost", "cudaMemAttachSingle"]),
        ("pCopy->Wid", "cuMemcpy2D_v2", ["pCopy->WidthInBytes"]),
        ("p->srcPos.", "cudaMemcpy3D", ["p->srcPos.x", "p->srcPos.y", "p->srcPos.z"]),
        ("gridDim.x > 1 && blockDim.", "cudaLaunchKernel", ["blockDim.x", "blockDim.y", "blockDim.z"]),
        ("paramArray[1].waitValue.al", "cuStreamBatchMemOp_v2", ["paramArray[1].waitValue.alias"]),
        ("array->", "cudaMallocArray", []),  # written by the function
        ("stream->", "cudaStreamSynchronize", []),  # a handle
        ("nothing->x", "cuMemAlloc_v2", []),
        ("bytesize.", "cuMemAlloc_v2", []),
    ],
)  # fmt: skip
def test_what_is_offered(text: str, symbol: str, offered: list[str]) -> None:
    assert complete(text, [TABLE.functions[symbol]], TABLE) == offered


def test_nothing_typed_offers_the_parameters_and_words() -> None:
    functions = [TABLE.functions["cuMemAlloc_v2"], TABLE.functions["cuMemFree_v2"]]
    offered = complete("", functions, TABLE)
    assert offered == ["NULL", "after", "bytesize", "caller", "dptr", "every", "nth", "thread"]
