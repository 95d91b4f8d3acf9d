"""gdbcuda wrap-flags: a program that has the runtime inside is linked with what it prints, and recorded."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

import pytest
from forking_gdbcuda import run_gdbcuda
from shim_support import SHIM, make
from traced_programs import Trace, needs_recorder, trace

__all__ = ["trace"]  # the fixture
pytestmark = needs_recorder

RUNTIME = """\
int cuMemAlloc_v2(unsigned long *block, unsigned long size), cuMemFree_v2(unsigned long block);
int cudaMalloc(void **block, unsigned long size) { return cuMemAlloc_v2((unsigned long *)block, size); }
int cudaFree(void *block) { return cuMemFree_v2((unsigned long)block); }
"""
PROGRAM = """\
#include <stdio.h>
int cudaMalloc(void **block, unsigned long size), cudaFree(void *block), cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device), cuCtxSetCurrent(void *context);
int main(void)
{
    void *block, *context;
    cuInit(0), cuDevicePrimaryCtxRetain(&context, 0), cuCtxSetCurrent(context);
    int first = cudaMalloc(&block, 4096), then = cudaFree(block);
    printf("%d %d\\n", first, then);
    return 0;
}
"""


@pytest.fixture(scope="module")
def flags(shim: Path) -> None:
    with open(shim / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = make(SHIM, "-s", "wrap")
    assert made.returncode == 0, made.stdout + made.stderr


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "runtime.c").write_text(RUNTIME)
    (tmp_path / "program.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-c", "runtime.c"], cwd=tmp_path, check=True)
    subprocess.run(["ar", "rcs", "libstatic.a", "runtime.o"], cwd=tmp_path, check=True)
    return tmp_path


def printed(*words: str) -> subprocess.CompletedProcess[str]:
    return run_gdbcuda("wrap-flags", *words)


def check(program: Path, trace: Trace) -> None:
    found = trace(program)
    assert (found.done.returncode, found.done.stdout) == (0, "0 0\n")
    alloc, below, free, _ = found.calls()[-4:]
    assert (alloc["name"], alloc["layer"], alloc["caller"]["function"]) == ("cudaMalloc", "runtime", "main")
    assert alloc["arguments"]["size"] == 4096 and alloc["result"] == "cudaSuccess"
    assert (below["name"], below["layer"], below["parent"]) == ("cuMemAlloc_v2", "driver", alloc["number"])
    assert free["name"] == "cudaFree"


@pytest.mark.usefixtures("flags")
@pytest.mark.parametrize("options", [(), ("-no-pie",), ("-O2", "-Wl,-z,now")], ids=" ".join)
def test_with_gcc(sources: Path, shim: Path, trace: Trace, options: tuple[str, ...]) -> None:
    wrapped = printed("cudaMalloc", "cudaFree").stdout.split()
    line = ["gcc", *options, "program.c", "-o", "program", *wrapped, "libstatic.a", f"-L{shim}/standin", "-lcuda"]
    subprocess.run(line, cwd=sources, check=True)
    alone = subprocess.run(["./program"], cwd=sources, env={"LD_LIBRARY_PATH": f"{shim}/standin"}, capture_output=True)
    assert (alone.returncode, alone.stdout) == (0, b"0 0\n")
    check(sources / "program", trace)


@pytest.mark.usefixtures("flags")
@pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake")
def test_with_cmake(sources: Path, shim: Path, trace: Trace) -> None:
    wrapped = printed("cudaMalloc", "cudaFree", "--for", "cmake").stdout.replace("TARGET", "program")
    (sources / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.13)\nproject(P C)\nadd_executable(program program.c)\n{wrapped}\n"
        f"target_link_libraries(program PRIVATE {sources}/libstatic.a {shim}/standin/libcuda.so)\n"
    )
    for line in (["cmake", "-B", "build"], ["cmake", "--build", "build"]):
        subprocess.run(line, cwd=sources, check=True, capture_output=True)
    check(sources / "build" / "program", trace)


@pytest.mark.usefixtures("flags")
@pytest.mark.skipif(shutil.which("meson") is None or shutil.which("ninja") is None, reason="no meson or no ninja")
def test_with_meson(sources: Path, shim: Path, trace: Trace) -> None:
    wrapped = printed("cudaMalloc", "cudaFree", "--for", "meson").stdout.strip()
    (sources / "meson.build").write_text(
        f"project('p', 'c')\nfind = meson.get_compiler('c')\n"
        f"libraries = [find.find_library('static', dirs: '{sources}'),\n"
        f"  find.find_library('cuda', dirs: '{shim}/standin')]\n"
        f"executable('program', 'program.c', dependencies: libraries,\n{wrapped})\n"
    )
    for line in (["meson", "setup", "build"], ["meson", "compile", "-C", "build"]):
        subprocess.run(line, cwd=sources, check=True, capture_output=True)
    check(sources / "build" / "program", trace)


@pytest.mark.usefixtures("flags")
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")
def test_with_nvcc_and_all_functions(tmp_path: Path, trace: Trace) -> None:
    (tmp_path / "flags").write_text(printed("--all", "--for", "nvcc").stdout)
    (tmp_path / "p.cu").write_text("int main() { int *p; cudaMalloc(&p, 1000); return 0; }\n")
    subprocess.run(["nvcc", "-o", "p", "p.cu", "--options-file", "flags"], cwd=tmp_path, check=True, timeout=300)
    runtime = [call for call in trace(tmp_path / "p").calls() if call["layer"] == "runtime"]
    assert [call["name"] for call in runtime] == ["cudaMalloc"] and runtime[0]["arguments"]["size"] == 1000


@pytest.mark.usefixtures("flags")
def test_a_base_name_is_all_its_variants() -> None:
    names = [word.rpartition("=")[2] for word in printed("cudaMemcpyAsync", "cuMemAlloc").stdout.split()[:-1]]
    assert names == ["cudaMemcpyAsync", "cudaMemcpyAsync_ptsz", "cuMemAlloc", "cuMemAlloc_v2"]
    assert "'-Wl,--wrap=cudaFree'," in printed("cudaFree", "--for", "meson").stdout


@pytest.mark.parametrize(
    "words, said",
    [(["cudaMaloc"], "no function 'cudaMaloc'; did you mean cudaMalloc?"), ([], "name functions or --all")],
)
def test_mistakes_are_one_line(words: list[str], said: str) -> None:
    done = printed(*words)
    assert done.returncode == 2 and done.stderr.startswith(f"gdbcuda: {said}") and done.stderr.count("\n") == 1
