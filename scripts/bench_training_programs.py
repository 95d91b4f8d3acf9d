"""What scripts/bench_training.py watches: a training step, a first call, and CUPTI asked by the book."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench_gpu import STEP, has_driver
from bench_guards import compile_c
from bench_tools import SHIM

from gdbcuda.gpu import cupti_files

CALLS = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int cudaMalloc(void **, size_t), cudaMemsetAsync(void *, int, size_t, void *);
int cudaGetDevice(int *), cuCtxGetDevice(int *);
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}
static unsigned char walked[1 << 25];
static void steps(int count, void *block)
{
    int device;
    unsigned long at = 1;
    for (long i = 0; i < count * 200l; i++) {
        for (int other = 0; other < 120; other++)
            at = at * 6364136223846793005ul + 1442695040888963407ul, walked[at >> 39]++;
        if (cudaMemsetAsync(block, 0, 256, NULL) || cudaGetDevice(&device) || cuCtxGetDevice(&device))
            exit(1);
    }
}
int main(int count, char **words)
{
    void *block;
    if (count < 3 || cudaMalloc(&block, 4096))
        return 1;
    printf("first %.6f\\n", now() / 1e6);
    for (int phase = 0; phase < atoi(words[1]); phase++) {
        double start = now();
        steps(atoi(words[2]), block);
        printf("took %.4f us each\\n", (now() - start) / atoi(words[2]));
        fflush(stdout);
    }
    return 0;
}
"""
# CUPTI asked for records as NVIDIA's documentation says, and nothing done with them but counting.
RECORDS = """
#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>
static unsigned long records;
static void CUPTIAPI wanted(uint8_t **buffer, size_t *size, size_t *most)
{
    *size = 8 << 20, *most = 0, *buffer = aligned_alloc(8, *size);
}
static void CUPTIAPI done(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    CUpti_Activity *record = NULL;
    (void)context, (void)stream, (void)size;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
        records++;
    free(buffer);
}
static void at_end(void)
{
    cuptiActivityFlushAll(1);
    fprintf(stderr, "records %lu\\n", records);
}
int InitializeInjection(void)
{
    static const CUpti_ActivityKind kinds[] = {KINDS};
    cuptiActivityRegisterCallbacks(wanted, done);
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (cuptiActivityEnable(kinds[i]) != CUPTI_SUCCESS)
            fprintf(stderr, "CUPTI does not give kind %d\\n", kinds[i]);
    atexit(at_end);
    return 1;
}
"""
WORK = "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET"
AND_CALLS = f"{WORK}, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER"
FIRST = "import time, torch; torch.cuda.init(); print('first %.6f' % time.monotonic())"


@dataclass(frozen=True)
class Program:
    name: str
    step: Sequence[str]
    first: Sequence[str]
    environment: dict[str, str] = field(default_factory=dict)


def program(place: Path) -> Program:
    has_torch = subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, check=False).returncode == 0
    if has_driver() and has_torch:
        (place / "step.py").write_text(STEP)
        return Program("PyTorch", [sys.executable, str(place / "step.py")], [sys.executable, "-c", FIRST])
    libraries = [str(SHIM / "standin" / name) for name in ("libcudart.so.13", "libcuda.so.1")]
    compile_c(place / "calls", CALLS, "-O2", *libraries)
    return Program("stand-in", [str(place / "calls")], [str(place / "calls"), "0", "0"],
                   {"LD_LIBRARY_PATH": str(SHIM / "standin")})  # fmt: skip


def with_cupti(out: Path, kinds: str) -> str:
    """A library over CUPTI; "" where there is none to build it with."""
    flags, library = cupti_files.for_make(), next(iter(cupti_files.libraries()), "")
    includes = re.findall(r"-isystem '([^']*)'", flags)
    if not (includes and library):
        return ""
    compile_c(out, RECORDS.replace("KINDS", kinds), "-O2", "-shared", "-fPIC", *(f"-I{one}" for one in includes),
              library, f"-Wl,-rpath,{os.path.dirname(library)}")  # fmt: skip
    return str(out)
