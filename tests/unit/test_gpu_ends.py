"""Where the records of a GPU end: the program ends at once, or has a profiler of its own."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from fake_cupti import cupti, needs_cupti
from shim_support import SHIM
from traced_programs import Trace, Traced, needs_recorder, trace

from gdbcuda.gpu import cupti_files

__all__ = ["cupti", "trace"]  # the fixtures
pytestmark = [*needs_recorder, needs_cupti]


def causes(found: Traced) -> list[str]:
    calls = found.calls()
    by_number = {call["number"]: call for call in calls}
    return [by_number[one["arguments"]["call"]]["name"] for one in calls if one["layer"] == "gpu"]


def built(text: str, at: Path, shim: Path, *more: str) -> str:
    Path(f"{at}.c").write_text(text)
    subprocess.run(["gcc", "-g", "-Wall", "-Werror", "-D_GNU_SOURCE", f"-I{shim}", f"-I{SHIM}/sample", "-o",
                    str(at), f"{at}.c", f"-L{shim}/standin", "-lcuda", *more], check=True)  # fmt: skip
    return str(at)


ENDS = """
#include "driver_sample.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int count, char **words)
{
    CUdeviceptr block;
    char bytes[64] = "";
    use_first_device();
    must("cuMemAlloc_v2", cuMemAlloc_v2(&block, sizeof bytes));
    must("cuMemcpyHtoD_v2", cuMemcpyHtoD_v2(block, bytes, sizeof bytes));
    if (count > 1 && !strcmp(words[1], "abort"))
        abort();
    count > 1 && !strcmp(words[1], "_Exit") ? _Exit(3) : _exit(3);
}
"""


@pytest.mark.parametrize("end, status", [("_exit", 3), ("_Exit", 3), ("abort", -6)])
def test_an_end_at_once_loses_nothing(
    trace: Trace, cupti: str, shim: Path, tmp_path: Path, end: str, status: int
) -> None:
    found = trace(built(ENDS, tmp_path / "ends", shim), end, options=("--gpu",), LD_PRELOAD=cupti)
    assert (found.done.returncode, found.done.stderr) == (status, "")
    assert causes(found) == ["cuMemcpyHtoD_v2"]
    assert "may be missing" not in found.log("gpu").stderr


PROFILER = """
#include <cupti.h>
#include <stdlib.h>
static int found;
static void CUPTIAPI give(uint8_t **buffer, size_t *size, size_t *most)
{
    *buffer = aligned_alloc(8, *size = 1 << 16);
    *most = 0;
}
static void CUPTIAPI take(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context, (void)stream, (void)size;
    for (CUpti_Activity *one = 0; cuptiActivityGetNextRecord(buffer, valid, &one) == CUPTI_SUCCESS;)
        found += one->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ? 1 : 1000;
    free(buffer);
}
void profiler_begins(void)
{
    cuptiActivityRegisterCallbacks(give, take);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}
void profiler_marks(int is_begin)
{
    if (is_begin)
        cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 9);
    else
        cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 0);
}
int profiler_found(void)
{
    cuptiActivityFlushAll(1);
    return found;
}
"""
PROFILED = """
#include "driver_sample.h"
void profiler_begins(void);
void profiler_marks(int is_begin);
int profiler_found(void);
static void work(CUdeviceptr block)
{
    char bytes[64] = "";
    must("cuMemcpyHtoD_v2", cuMemcpyHtoD_v2(block, bytes, sizeof bytes));
}
int main(void)
{
    CUdeviceptr block;
    use_first_device();
    must("cuMemAlloc_v2", cuMemAlloc_v2(&block, 64));
    work(block);
    profiler_begins();
    profiler_begins(); // as PyTorch's does for each of its runs
    for (int i = 0; i < 3; i++) {
        profiler_marks(1);
        work(block);
        profiler_marks(0);
    }
    printf("the profiler has seen %d\\n", profiler_found());
    return 0;
}
"""


def test_the_programs_own_profiler_gets_what_it_gets_without_us(
    trace: Trace, cupti: str, shim: Path, tmp_path: Path
) -> None:
    """And we have what was before it, and say so once."""
    (tmp_path / "profiler.c").write_text(PROFILER)
    profiler, flags = str(tmp_path / "profiler.o"), shlex.split(cupti_files.for_make())
    subprocess.run(["gcc", "-Wall", "-Werror", *flags, "-c", "-o", profiler, f"{tmp_path}/profiler.c"], check=True)
    program = built(PROFILED, tmp_path / "profiled", shim, profiler, cupti)
    found = trace(program, options=("--gpu",), LD_PRELOAD=cupti)
    assert found.done.returncode == 0 and found.done.stdout.endswith("the profiler has seen 3\n")
    assert found.done.stderr == "gdbcuda: the GPU is recorded up to here: the program's own profiler has CUPTI now\n"
    assert causes(found) == ["cuMemcpyHtoD_v2"]
    assert found.counts()["cuMemcpyHtoD_v2"] == 4
    assert "the program's own profiler has CUPTI since then: work is told up to there" in found.log("gpu").stderr
