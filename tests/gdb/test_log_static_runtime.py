"""cuda-log where the CUDA runtime is inside the program."""

from __future__ import annotations

import subprocess
from pathlib import Path

from scenario import Scenario

PROGRAM = """
static const char *const mark[] = {"cudaErrorCudartUnloading"};
__attribute__((noinline)) static int cudaMalloc(void **block, long size) { return (*block = 0, size == 7); }
int main(int count, char **words) { void *block; return cudaMalloc(&block, count) + (words == 0 && **mark); }
"""
SAID = "The CUDA runtime inside train is not recorded: the file is stripped"


def test_a_stripped_runtime_is_told(local: Scenario, tmp_path: Path) -> None:
    source, program = tmp_path / "train.c", tmp_path / "train"
    source.write_text(PROGRAM)
    subprocess.run(["gcc", "-o", program, source], check=True)
    lines = ("cuda-log start", "cuda-log start --fast cudaMalloc", "cuda-log start 'cuMem*'")
    assert SAID not in local.run(program, *lines, hook=None)
    subprocess.run(["strip", program], check=True)
    text = local.run(program, *lines, hook=None)
    assert text.count(SAID) == 2 and not text.rpartition("Recording")[2].count("runtime"), text
