"""Hook libraries that keep the contract in a way of their own: `gdbcuda conform` has nothing to say of that."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from conform_hooks import ConformFiles, found_in


class Right(NamedTuple):
    """A library's source, and the cases of which nothing is said."""

    name: str
    cases: list[str]
    text: str


RIGHT = [
    Right("memory_by_another_function", ["faults/cuMemAlloc_v2"], """
        CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
        {
            CUdevice device = 0;
            CUresult result = NEXT(cuMemAllocManaged)(dptr, bytesize, CU_MEM_ATTACH_GLOBAL);
            NEXT(cuCtxGetDevice)(&device);
            return result;
        }"""),
    Right("memory_inside_a_slab", ["faults/cuMemAlloc_v2"], """
        CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
        {
            static CUdeviceptr slab, used;
            CUcontext context = NULL;
            if (NEXT(cuCtxGetCurrent)(&context) != CUDA_SUCCESS || !dptr)
                return NEXT(cuMemAlloc_v2)(dptr, bytesize);
            if (!slab && NEXT(cuMemAlloc_v2)(&slab, 64 << 20) != CUDA_SUCCESS)
                return CUDA_ERROR_OUT_OF_MEMORY;
            *dptr = slab + used;
            used += bytesize;
            return CUDA_SUCCESS;
        }"""),
    Right("context_put_back", ["transparent", "status", "faults/cuMemFree_v2"], """
        CUresult cuMemFree_v2(CUdeviceptr dptr)
        {
            CUcontext context = NULL;
            NEXT(cuCtxGetCurrent)(&context);
            CUresult pushed = NEXT(cuCtxPushCurrent_v2)(context), result = NEXT(cuMemFree_v2)(dptr);
            if (pushed == CUDA_SUCCESS)
                NEXT(cuCtxPopCurrent_v2)(&context);
            return result;
        }"""),
    Right("without_versions", ["resolving/cuCtxDestroy_v2"], """
        CUresult cuCtxDestroy_v2(CUcontext ctx) { return CUDA_ERROR_INVALID_CONTEXT; }"""),
]  # fmt: skip


@pytest.mark.parametrize("right", RIGHT, ids=lambda right: right.name)
def test_nothing_is_said_of_it(shim: Path, tmp_path: Path, right: Right) -> None:
    hook = ConformFiles(tmp_path, shim).hook(right.name, right.text)
    assert found_in(hook, right.cases, [], 0) == []


def test_a_limit_refuses_nothing_of_what_the_cases_ask_for(shim: Path) -> None:
    cases = ["transparent/cu*Array*Create*", "transparent/cuMemAllocPitch*", "status/cuMemAllocPitch"]
    assert found_in(shim / "libgdbcuda-hook.so", cases, ["GDBCUDA_MEMORY_LIMIT=256m"], 256 << 20) == []
