"""A program of CUDA 12 on a driver of CUDA 13, which each have functions that the other version has not."""

from __future__ import annotations

import subprocess
from pathlib import Path

from shim_support import OLDER_LIBC

OF_ONE_VERSION = ["cudaGetDeviceProperties_v2", "cuCtxSynchronize_v2"]
SOURCE = """
int cudaGetDeviceProperties_v2(void *, int), cuCtxSynchronize_v2(void *);
static char properties[4096];
int main(void)
{
    return cudaGetDeviceProperties_v2(properties, 0) || cuCtxSynchronize_v2((void *)0);
}
"""


def compile_older(shim: Path, folder: Path) -> Path:
    program = folder / "older"
    libraries = [str(shim / "standin" / name) for name in ("libcudart.so.12", "libcuda.so.1")]
    line = ["gcc", "-g", "-w", "-x", "c", "-", "-x", "none", *libraries, *OLDER_LIBC]
    subprocess.run([*line, "-o", str(program)], input=SOURCE, text=True, check=True)
    return program
