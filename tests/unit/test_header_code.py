"""Whoever asked is no template of CUDA's headers: a site of a log is the caller's of that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from log_files import alloc_of, run, write

from gdbcuda.calls.header_code import asker, is_header_code


@pytest.mark.parametrize(("function", "source"), [
    ("cudaMalloc<float>", ""), ("cudaError cudaMalloc<float>(float**, unsigned long)", ""),
    ("cudaMallocAsync_ptsz<int>(int**, unsigned long, CUstream_st*)", ""), ("cudaEventCreate", "cuda_runtime.h:656"),
    ("cudaEventCreate(CUevent_st**, unsigned int)", ""), ("cudaLaunchKernel<char>", "inc/cuda_runtime.h:216"),
    ("__device_stub__Z4axpyif", ""), ("__cudaLaunchKernel_helper(void*, dim3)", "device_functions.h:2963"),
    ("void eng::__wrapper__device_stub_axpy<float>(int const&)", "p.cu:2"), ("axpy(int)", "tmp_p.cudafe1.stub.c:13"),
])  # fmt: skip
def test_code_of_the_headers(function: str, source: str) -> None:
    assert is_header_code("app", function, source)
    assert not is_header_code("hook", function, source), "a hook library's own function, whatever it is called"


@pytest.mark.parametrize(("function", "source"), [
    ("cudaMalloc", "a.c:3"), ("cudaMallocHelper<float>", "a.cu:3"), ("eng::Pool::grow(unsigned long)", "p.cu:5"),
    ("main", "cuda_runtime.h.cu:3"), ("", ""), ("operator()() const", ""),
])  # fmt: skip
def test_code_of_the_program(function: str, source: str) -> None:
    assert not is_header_code("app", function, source)


HEADER = {"function": "cudaMalloc<float>", "source": "cuda_runtime.h:879", "layer": "app", "object": "/bin/a",
          "text": "return ::cudaMalloc((void**)(void*)devPtr, size);"}  # fmt: skip
GROW = {"function": "Pool::grow(unsigned long)", "source": "p.cu:5"}


@pytest.mark.parametrize("details", [
    {0x400: {**HEADER, "inlined_into": [GROW]}},
    {0x400: HEADER, 0x500: {**GROW, "layer": "app", "object": "/bin/a"}},
], ids=["inlined", "above"])  # fmt: skip
def test_the_site_is_who_called_that(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], details: dict[int, dict[str, Any]]
) -> None:
    """Inlined into its caller, or in a stack that was recorded."""
    log = write(tmp_path / "log", [alloc_of(0, "0x10", 4096, caller=0x400, stack=[0x400, 0x500])], details)
    assert "  by Pool::grow(unsigned long) at p.cu:5" in run(capsys, "show", log)
    assert "Pool::grow(unsigned long) at p.cu:5" in run(capsys, "memory", log, "--view", "by-site")
    assert "bytesize=4096" in run(capsys, "show", log, "--if", "bytesize > 1 && caller in cudaMalloc<float>")


def test_where_nothing_else_is_known_it_is_the_header(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = write(tmp_path / "log", [alloc_of(0, "0x10", 4096, caller=0x400)], {0x400: HEADER})
    assert "  by cudaMalloc<float> at cuda_runtime.h:879" in run(capsys, "show", log)


def frame(function: str, source: str = "p.cu:1", layer: str = "app") -> tuple[str, str, str]:
    return layer, function, source


HELPER, MAIN = frame("__cudaLaunchKernel_helper(void*)", "device_functions.h:2963"), frame("main", "p.cu:11")
STUB = frame("__device_stub__ZN3eng4axpyIfEEvi", "tmp_p.cudafe1.stub.c:13")


@pytest.mark.parametrize("between", [
    [], [HELPER, STUB, frame("axpy(int)", "tmp_p.cudafe1.stub.c:14")], [HELPER, STUB, frame("axpy<float>(int)")],
    [HELPER, STUB, frame("void eng::__wrapper__device_stub_axpy<float>(int const&)"), frame("eng::axpy<float>(int)")],
    [frame("cudaLaunchKernel<char>", "cuda_runtime.h:216"), STUB, frame("axpy(int)")],
])  # fmt: skip
def test_who_launches_a_kernel(between: list[tuple[str, str, str]]) -> None:
    """nvcc puts a function into the place of the kernel, which calls stubs; it is named by the call's arguments."""
    assert asker([*between, MAIN, frame("_start")], lambda one: one) == MAIN
    assert asker(between[:2], lambda one: one) is None, "nothing else is known"
