"""Our library over CUPTI in a real process, with a CUPTI that makes a kernel of each call that is announced to it."""

from __future__ import annotations

import gc
import re
import shutil
import subprocess
from pathlib import Path

from fake_cupti import cupti, needs_cupti
from shim_support import SHIM
from traced_programs import Trace, Traced, needs_recorder, trace

from gdbcuda.calls.reader import Log
from gdbcuda.rings.ring_functions import RingCall
from gdbcuda.rings.traced.trace_folder import TraceFolder

__all__ = ["cupti", "trace"]  # the fixtures
pytestmark = [*needs_recorder, needs_cupti]
WORKS = ["cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2"]  # of what test_alloc calls


def gpu(trace: Trace, cupti: str, program: str = "test_alloc", how: str = "", *options: str, **more: str) -> Traced:
    return trace(program, options=("--gpu", *options), LD_PRELOAD=cupti, FAKE_CUPTI=how, **more)


def on_gpu(found: Traced) -> list[tuple[str, str]]:
    """Name, and that of the call that it comes from."""
    calls = found.calls()
    by_number = {call["number"]: call for call in calls}
    return [(one["name"], by_number[one["arguments"]["call"]]["name"]) for one in calls if one["layer"] == "gpu"]


def test_work_is_joined_to_the_call_it_comes_from(trace: Trace, cupti: str) -> None:
    found = gpu(trace, cupti)
    assert (found.done.returncode, found.done.stderr) == (0, "")
    assert on_gpu(found) == [("fake::worked(float)", name) for name in WORKS]
    one = next(call for call in found.calls() if call["layer"] == "gpu")
    assert {key: one["arguments"][key] for key in ("grid", "block", "registers", "shared")} == {
        "grid": [3, 1, 1], "block": [64, 1, 1], "registers": 20, "shared": 512}  # fmt: skip
    clocks = r"gdbcuda: \S+: times of the GPU and of the calls are \S+ [um]?s apart at most\n"
    assert re.fullmatch(clocks, found.log("show").stderr)


def test_work_is_inside_of_its_call_in_time(trace: Trace, cupti: str) -> None:
    """The fake one begins with it and ends with it: two clocks that are joined."""
    calls = gpu(trace, cupti).calls()
    works = [call for call in calls if call["layer"] == "gpu"]
    assert len(works) == len(WORKS)
    for work in works:
        cause = next(call for call in calls if call["number"] == work["arguments"]["call"])
        assert abs(work["start"] - cause["start"]) < 50e-6


def test_of_calls_inside_each_other_the_outermost_is_told(trace: Trace, cupti: str, shim: Path) -> None:
    found = gpu(trace, cupti, "test_alloc", "", "--hook", str(shim / "libgdbcuda-hook.so"))
    layers = {call["number"]: call["layer"] for call in found.calls()}
    causes = [call["arguments"]["call"] for call in found.calls() if call["layer"] == "gpu"]
    assert [layers[number] for number in causes] == ["hook", "hook"]


def test_without_cuptis_calls_nothing_is_joined(trace: Trace, cupti: str) -> None:
    """Its numbers come with records of calls alone."""
    found = gpu(trace, cupti, GDBCUDA_GPU_CALLS="0")
    works = [call for call in found.calls() if call["layer"] == "gpu"]
    assert len(works) == len(WORKS) and not any("call" in one["arguments"] for one in works)


def test_threads_of_cupti_are_those_of_the_recorder(trace: Trace, cupti: str) -> None:
    """Where the number is lost: by thread and time."""
    assert on_gpu(gpu(trace, cupti, "test_alloc", "unnumbered")) == [("fake::worked(float)", name) for name in WORKS]


def test_what_is_lost_is_said(trace: Trace, cupti: str) -> None:
    found = gpu(trace, cupti, how="drop")
    assert len(on_gpu(found)) == len(WORKS)
    assert "3 x a record of the GPU that was dropped" in found.log("show").stderr


def test_another_tool_keeps_cupti_and_the_program_goes_on(trace: Trace, cupti: str) -> None:
    found = gpu(trace, cupti, how="refuse")
    assert found.done.returncode == 0 and found.done.stdout == trace_without(trace, found)
    assert found.done.stderr == ("gdbcuda: the GPU is not recorded: CUPTI tells nothing "
                                 "(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)\n")  # fmt: skip
    assert "MULTIPLE_SUBSCRIBERS" in found.log("gpu").stderr and not on_gpu(found)


def trace_without(trace: Trace, found: Traced) -> str:
    found.folder.rename(found.folder.parent / "before")
    said = str(trace("test_alloc").done.stdout)
    (found.folder).rename(found.folder.parent / "without")
    (found.folder.parent / "before").rename(found.folder)
    return said


BURSTS = """
#include "driver_sample.h"
#include <unistd.h>
int main(void)
{
    CUdeviceptr block;
    char bytes[64] = "";
    use_first_device();
    must("cuMemAlloc_v2", cuMemAlloc_v2(&block, sizeof bytes));
    for (;; usleep(10000))
        for (int i = 0; i < 50; i++)
            must("cuMemcpyHtoD_v2", cuMemcpyHtoD_v2(block, bytes, sizeof bytes));
}
"""


def built(shim: Path, program: Path, source: str) -> str:
    program.with_suffix(".c").write_text(source)
    gcc = ["gcc", "-g", "-Wall", "-Werror", "-D_GNU_SOURCE", f"-I{shim}", f"-I{SHIM}/sample", "-rdynamic"]
    subprocess.run([*gcc, "-o", program, program.with_suffix(".c"), f"-L{shim}/standin", "-lcuda"], check=True)
    return str(program)


def test_a_program_that_is_killed_leaves_what_was_handed_over(
    trace: Trace, cupti: str, shim: Path, tmp_path: Path
) -> None:
    line = [str(shutil.which("timeout")), "-s", "KILL", "1", built(shim, tmp_path / "bursts", BURSTS)]
    found = trace(*line, options=("--gpu",), LD_PRELOAD=cupti)
    assert found.done.returncode == -9
    works = [call for call in found.calls("--in", "gpu") if call["name"] == "fake::worked(float)"]
    assert len(works) > 100 and works[-1]["start"] > 0.3
    assert "it was killed, the last tenth of a second may be missing" in found.log("gpu").stderr


def test_threads(trace: Trace, cupti: str) -> None:
    found = trace("threads", "4", "200", options=("--gpu",), LD_PRELOAD=cupti)
    assert found.done.returncode == 0
    calls = {call["number"]: call for call in found.calls()}
    works = [call for call in calls.values() if call["layer"] == "gpu"]
    assert works and {calls[one["arguments"]["call"]]["name"] for one in works} <= {*WORKS, "cuMemsetD8_v2"}
    assert len(calls) > 500 and most_at_once(found) < 100


def most_at_once(found: Traced) -> int:
    """Of the recorder's calls: a trace has millions."""
    events = TraceFolder(str(found.folder)).events(Log())
    return max(sum(type(one) is RingCall for one in gc.get_objects()) for at, _ in enumerate(events) if at % 200 == 0)


def test_without_a_driver_it_is_one_line(trace: Trace) -> None:
    """NVIDIA's own library, over the stand-in."""
    found = trace("test_alloc", options=("--gpu",))
    assert found.done.returncode == 0
    assert re.fullmatch(r"gdbcuda: the GPU is not recorded: .+\n", found.done.stderr)
    assert found.log("gpu").stdout.startswith("No work of a GPU in this log")


def test_a_tool_that_is_there_already_is_not_replaced(trace: Trace) -> None:
    found = trace("test_alloc", options=("--gpu",), CUDA_INJECTION64_PATH="/opt/nsys/libToolsInjection64.so")
    assert found.done.returncode == 2 and found.done.stdout == ""
    assert "CUDA_INJECTION64_PATH is /opt/nsys/libToolsInjection64.so already" in found.done.stderr


LEFT = """
#include "driver_sample.h"
#include <setjmp.h>
jmp_buf escape;
int main(void)
{
    CUdeviceptr block;
    char bytes[64] = "";
    use_first_device();
    must("cuMemAlloc_v2", cuMemAlloc_v2(&block, sizeof bytes));
    if (!setjmp(escape))
        cuMemcpyHtoD_v2(block, bytes, sizeof bytes);
    must("cuMemcpyDtoH_v2", cuMemcpyDtoH_v2(bytes, block, sizeof bytes));
    must("cuMemsetD8_v2", cuMemsetD8_v2(block, 1, sizeof bytes));
    return 0;
}
"""
LEAVES = """
#include "gdbcuda_api.h"
#include <setjmp.h>
extern jmp_buf escape;
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size)
{
    (void)to, (void)from, (void)size;
    longjmp(escape, 1);
}
"""


def test_a_call_that_was_left_causes_nothing_more(trace: Trace, cupti: str, shim: Path, tmp_path: Path) -> None:
    (tmp_path / "leaves.c").write_text(LEAVES)
    hook, program = str(tmp_path / "leaves.so"), built(shim, tmp_path / "left", LEFT)
    gcc = ["gcc", "-g", "-Wall", "-Werror", "-D_GNU_SOURCE", f"-I{shim}"]
    subprocess.run([*gcc, "-shared", "-fPIC", "-o", hook, str(tmp_path / "leaves.c")], check=True)
    found = gpu(trace, cupti, program, "", "--hook", hook)
    assert found.done.returncode == 0
    assert [cause for _, cause in on_gpu(found)] == ["cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemsetD8_v2"]


def test_all_calls_are_kept_unless_it_is_said_how_many(trace: Trace, cupti: str) -> None:
    """Work whose call the ring has no more would be joined to nothing."""
    found = trace("threads", "1", "20000", options=("--gpu",), LD_PRELOAD=cupti)
    (said,) = re.findall(r"cuMemAlloc_v2 (\d+)", found.done.stdout)
    kept = found.counts()
    assert kept["cuMemAlloc_v2"] == int(said) and sum(kept.values()) - kept["fake::worked(float)"] > 8192
    found.folder.rename(found.folder.parent / "all")
    few = trace("threads", "1", "20000", options=("--gpu", "--last", "100"), LD_PRELOAD=cupti)
    assert 0 < few.counts()["cuMemAlloc_v2"] < int(said)
