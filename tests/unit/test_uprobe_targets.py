"""Which files are watched of a program that has not started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from elf_build import compiled

from gdbcuda import api, elf
from gdbcuda.observe import watched_files
from gdbcuda.observe.probes import Choice
from gdbcuda.shell.trace import starting


def test_the_runtime_that_a_packaged_pytorch_brings(tmp_path: Path) -> None:
    """The loader would find another one, or none: PyTorch asks for the one in its packages."""
    packages = tmp_path / "lib" / "python3.12" / "site-packages" / "nvidia" / "cu13" / "lib"
    packages.mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    for name in ("python3", "other"):
        (tmp_path / "bin" / name).symlink_to(os.path.realpath(sys.executable))
    built = compiled(packages, "int cudaMalloc(void **a, long b) { return 0; }", "-Wl,-soname,libcudart.so.13",
                     name="libcudart.so.13", source_name="cudart.c")  # fmt: skip

    def watched(name: str) -> list[str]:
        found = watched_files.of_program([str(tmp_path / "bin" / name)], [], api.load())
        return [one.path for one, _ in found.files if one.path == str(built)]

    assert watched("python3") == [str(built)] and watched("other") == []


# What nvcc makes where nobody says -cudart shared: names of all functions in its constants, and calls of dlopen.
RUNTIME_INSIDE = """
#include <dlfcn.h>
static const char *const names[] = {"cudaErrorCudartUnloading", "cuMemAlloc_v2", "cuInit", "cuCtxGetCacheConfig"};
__attribute__((noinline)) static int cudaMalloc(void **block, long size) { return (*block = 0, size == 7); }
int main(int count, char **words) {
    void *block, *library = dlopen("libcuda.so.1", RTLD_NOW);
    return cudaMalloc(&block, count) + (words[0] && library && dlsym(library, names[count]));
}
"""


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    source, program = tmp_path / "train.c", tmp_path / "train"
    source.write_text(RUNTIME_INSIDE)
    subprocess.run(["gcc", "-o", program, source, "-ldl"], check=True)
    return program


def test_a_runtime_inside_the_program(inside: Path) -> None:
    """It names all functions of the driver, of which the program itself need not use any."""
    found = watched_files.of_program([str(inside)], [], api.load())
    assert not found.used and not found.nameless_runtimes(api.load())
    assert not [one.path for one, _ in found.files if "cudart" in one.path], "it loads none"
    files = [(one, file) for one, file in found.files if one.short == "train"]
    (place,) = Choice(api.load(), [], found.used).probes(files)
    assert place.known.function.symbol == "cudaMalloc" and place.known.layer == "runtime"
    assert [one for one in starting.remarks(str(inside)) if "the CUDA runtime is inside" in one]


def test_a_runtime_inside_a_stripped_program_is_told(inside: Path) -> None:
    subprocess.run(["strip", inside], check=True)
    assert watched_files.of_program([str(inside)], [], api.load()).nameless_runtimes(api.load()) == ["train"]
    assert [one for one in starting.remarks(str(inside)) if "the CUDA runtime is inside" in one]


def test_calls_of_a_runtime_that_lead_to_wrappers_are_recorded(inside: Path) -> None:
    source = inside.with_suffix(".c")
    source.write_text(RUNTIME_INSIDE.replace("cudaMalloc", "__wrap_cudaMalloc"))
    subprocess.run(["gcc", "-o", inside, source, "-ldl"], check=True)
    assert not starting.hides_runtime(elf.open(str(inside)))
