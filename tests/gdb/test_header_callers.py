"""A call that CUDA's own C++ headers make for the program: who called those is the caller, at a stop as in a log."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from scenario import Scenario
from test_fast_log import lists_locations

HEADER = """
extern "C" int cudaMalloc(void **devPtr, unsigned long size);
namespace { inline int cudaMalloc(void **devPtr, unsigned long size, int) { return ::cudaMalloc(devPtr, size); } }
template <class T> static inline int cudaMalloc(T **devPtr, unsigned long size)
{
    return cudaMalloc((void **)(void *)devPtr, size, 0);
}
"""
PROGRAM = """
#include "cuda_runtime.h"
extern "C" int cudaFree(void *devPtr);
__attribute__((noinline)) static int __device_stub__Z4giveif(void *block) { return cudaFree(block) + 1; }
__attribute__((noinline)) static int give(void *block) { return __device_stub__Z4giveif(block) + 1; }
struct Pool {
    __attribute__((noinline)) float *grow(unsigned long count)
    {
        float *found = 0;
        int status = cudaMalloc(&found, count * sizeof *found);
        return status ? nullptr : found;
    }
};
int main()
{
    Pool pool;
    float *last = (pool.grow(1000), pool.grow(2000));
    return give(last) - 2;
}
"""
LAUNCH = PROGRAM.split("\n").index("    return give(last) - 2;") + 1
LINE = PROGRAM.split("\n").index("        int status = cudaMalloc(&found, count * sizeof *found);") + 1


@pytest.fixture(params=["-O0", "-O2"])
def program(request: pytest.FixtureRequest, shim: Path, tmp_path: Path) -> Path:
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed")
    (tmp_path / "cuda_runtime.h").write_text(HEADER)
    (tmp_path / "app.cc").write_text(PROGRAM)
    line = ["g++", "-g", request.param, "-o", "app", "app.cc", f"-L{shim}/standin", "-lcudart"]
    subprocess.run(line, cwd=tmp_path, check=True, timeout=60)
    return tmp_path / "app"


def test_at_a_stop(scenario: Scenario, program: Path) -> None:
    text = scenario.run(program, "cuda-break cudaMalloc --from Pool::grow if size > 4000", "RUN", "cuda-call")
    assert re.search(rf"size=8000 .*\n +called by app Pool::grow\(.*\) at app.cc:{LINE}, thread 1", text), text
    assert f"{LINE}: int status = cudaMalloc(&found" in text
    assert "size=4000 " not in text


def test_what_nvcc_puts_into_the_place_of_a_kernel(scenario: Scenario, program: Path) -> None:
    text = scenario.run(program, "cuda-log start cudaFree", "cuda-break cudaFree", "RUN", "cuda-call", "continue",
                        "cuda-log show", hook=None)  # fmt: skip
    assert f"called by app main() at app.cc:{LAUNCH}, thread 1" in text, text
    assert re.search(rf"cudaFree\(.*  by main\(\) at app.cc:{LAUNCH}$", text, re.MULTILINE), text


@pytest.mark.parametrize("how", ["", " --stack 4"])
def test_in_a_log(scenario: Scenario, program: Path, how: str) -> None:
    text = scenario.run(program, f"cuda-log start --memory{how}", "RUN", "cuda-memory by-site",
                        "cuda-log show cudaMalloc --stack if caller in grow", hook=None)  # fmt: skip
    site = rf"Pool::grow\(unsigned long\) at app.cc:{LINE}"
    assert re.search(rf"^ +2  12000 \[11.72 KiB\] .* {site}$", text, re.MULTILINE), text
    above = r"\n +from (main)\(\) at app.cc:" if how else "()$"
    assert len(re.findall(rf"cudaMalloc\(devPtr=.*  by {site}{above}", text, re.MULTILINE)) == 2, text


@pytest.mark.skipif(not lists_locations(), reason="--fast needs a gdb that tells where its breakpoints are")
def test_in_a_log_of_the_recorder(local: Scenario, program: Path) -> None:
    """It has the return address alone: where that is in what was inlined, the function around it is known."""
    text = local.run(program, "cuda-log start --fast cudaMalloc", "RUN", "cuda-log show", hook=None)
    callers = re.findall(r"cudaMalloc\(devPtr=.*  by (.*)$", text, re.MULTILINE)
    outside = "Pool::grow(unsigned long)" in text
    assert len(callers) == 2 and (outside or all(" cudaMalloc" in one.replace("::", " ") for one in callers)), text
