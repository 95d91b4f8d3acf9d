"""GDBCUDA_CALL: a hook library, built by CMake with our package, has calls of its own in the log of gdbcuda trace."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from shim_support import ROOT, Run
from traced_programs import Trace, needs_recorder, trace

__all__ = ["trace"]  # the fixture
pytestmark = [*needs_recorder, pytest.mark.skipif(not shutil.which("cmake"), reason="no cmake here")]

CMAKE = """
cmake_minimum_required(VERSION 3.16)
project(small_hook C CXX)
find_package(gdbcuda REQUIRED)
add_library(small_hook SHARED hook.c other.cpp)
target_compile_options(small_hook PRIVATE -Wall -Wextra -Werror)
target_link_libraries(small_hook PRIVATE gdbcuda::call ${CMAKE_DL_LIBS})
"""
# What it calls is in a table of its own, and inside itself: neither is bound by the loader.
HOOK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include "gdbcuda_call.h"
int counted(int (*real)(unsigned long), unsigned long block);
static int engine(unsigned long *block, unsigned long bytes)
{
    int (*real)(unsigned long *, unsigned long) = dlsym(RTLD_NEXT, "cuMemAlloc_v2");
    return bytes > 2ul << 30 ? 2 : real(block, bytes);
}
static int (*const table[])(unsigned long *, unsigned long) = {engine};
int cuMemAlloc_v2(unsigned long *block, unsigned long bytes)
{
    return GDBCUDA_CALL(cuMemAlloc_v2, table[0])(block, bytes);
}
static int released(unsigned long block)
{
    int (*real)(unsigned long) = dlsym(RTLD_NEXT, "cuMemFree_v2");
    return real(block);
}
int cuMemFree_v2(unsigned long block)
{
    return counted(released, block);
}
"""
OTHER = """
#include "gdbcuda_call.h"
extern "C" int counted(int (*real)(unsigned long), unsigned long block)
{
    return GDBCUDA_CALL(cuMemFree_v2, real)(block);
}
"""


@pytest.fixture
def hook(shim: Path, tmp_path: Path) -> Path:
    for name, text in (("CMakeLists.txt", CMAKE), ("hook.c", HOOK), ("other.cpp", OTHER)):
        (tmp_path / name).write_text(text)
    package = f"-Dgdbcuda_DIR={ROOT}/shim/linked"
    subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "made", package], check=True, capture_output=True)
    subprocess.run(["cmake", "--build", tmp_path / "made"], check=True, capture_output=True)
    return tmp_path / "made" / "libsmall_hook.so"


def test_calls_inside_a_hook_library(trace: Trace, run: Run, hook: Path) -> None:
    found = trace("test_alloc", options=("--hook", str(hook)))
    assert found.done.stdout == run("test_alloc", preload=[hook]).stdout and found.done.stderr == ""
    names = ("cuMemAlloc_v2", "cuMemFree_v2")
    rows = [(one["name"], one["layer"], one["depth"], one["result"]) for one in found.calls() if one["name"] in names]
    assert rows[:6] == [("cuMemAlloc_v2", layer, depth, "CUDA_SUCCESS") for _ in range(2)
                        for layer, depth in (("hook", 0), ("hook", 1), ("driver", 2))]  # fmt: skip
    assert rows[6:8] == [("cuMemAlloc_v2", "hook", depth, "CUDA_ERROR_OUT_OF_MEMORY") for depth in (0, 1)]
    assert rows[8:11] == [("cuMemFree_v2", layer, depth, "CUDA_SUCCESS")
                          for layer, depth in (("hook", 0), ("hook", 1), ("driver", 2))]  # fmt: skip


def test_without_gdbcuda_trace_it_is_as_if_nothing_were_there(run: Run, hook: Path) -> None:
    assert "freed " in run("test_alloc", preload=[hook]).stdout
    wanted = subprocess.run(["nm", "-D", hook], capture_output=True, text=True, check=True).stdout
    assert "w gdbcuda_wrapped_v1" in wanted and " T gdbcuda" not in wanted
