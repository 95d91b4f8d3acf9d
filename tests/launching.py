"""A program that launches a kernel as nvcc's code does since CUDA 13, over the stand-in."""

from __future__ import annotations

import subprocess
from pathlib import Path

from shim_support import OLDER_LIBC

LAUNCH = ["__cudaPushCallConfiguration", "__cudaPopCallConfiguration", "__cudaLaunchKernel"]
SOURCE = """
struct dim3 { unsigned x, y, z; };
int __cudaPushCallConfiguration(struct dim3, struct dim3, unsigned long, void *);
int __cudaPopCallConfiguration(struct dim3 *, struct dim3 *, unsigned long *, void **);
int __cudaLaunchKernel(void *, struct dim3, struct dim3, void **, unsigned long, void *);
int main(void)
{
    struct dim3 grid, block;
    unsigned long shared;
    void *stream;
    __cudaPushCallConfiguration((struct dim3){5, 2, 1}, (struct dim3){64, 1, 1}, 128, (void *)0);
    __cudaPopCallConfiguration(&grid, &block, &shared, &stream);
    __cudaLaunchKernel((void *)0x1234, grid, block, (void *)0, shared, stream);
    return 0;
}
"""


def compile_launching(shim: Path, folder: Path) -> Path:
    program = folder / "launching"
    line = ["gcc", "-g", "-w", "-x", "c", "-", "-x", "none", str(shim / "standin/libcudart.so.13"), *OLDER_LIBC]
    subprocess.run([*line, "-o", str(program)], input=SOURCE, text=True, check=True)
    return program
