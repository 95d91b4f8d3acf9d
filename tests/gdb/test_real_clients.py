"""Clients that nobody here wrote: NVIDIA's own runtime, and nvidia-ml-py and numba-cuda in a Python process."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numba_cuda
import pytest
from scenario import Scenario

VENDORS_RUNTIME = Path("/usr/local/cuda/lib64/libcudart.so.13")
needs_numba = pytest.mark.skipif(not numba_cuda.PYTHON.exists(), reason="no numba-cuda (scripts/numba_cuda.py gets it)")
needs_runtime = pytest.mark.skipif(not VENDORS_RUNTIME.exists(), reason="NVIDIA's libcudart.so.13 is not installed")

# As many hook libraries answer: the newest suffix that they have, whatever version and stream were asked for.
NEWEST = """
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
static void *(*real)(void *, const char *);
static void *driver;
int cuGetProcAddress_v2(const char *name, void **pfn, int version, unsigned long long flags, int *status)
{
    static const char *const suffixes[] = {"_v3", "_v2", ""};
    char symbol[256];
    (void)version, (void)flags;
    *pfn = strcmp(name, "cuGetProcAddress") ? 0 : (void *)cuGetProcAddress_v2;
    for (int i = 0; i < 3 && !*pfn; i++) {
        snprintf(symbol, sizeof symbol, "%s%s", name, suffixes[i]);
        *pfn = real(driver, symbol);
    }
    if (status)
        *status = !*pfn;
    return *pfn ? 0 : 500;
}
void *dlsym(void *handle, const char *name)
{
    if (!real)
        real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (strcmp(name, "cuGetProcAddress_v2"))
        return real(handle, name);
    driver = handle;
    return (void *)cuGetProcAddress_v2;
}
"""


def requests(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines() if line.startswith('{"number"')]


def with_runtime(scenario: Scenario) -> dict[str, str]:
    return {"LD_LIBRARY_PATH": f"{VENDORS_RUNTIME.parent}:{scenario.shim}/standin"}


@needs_runtime
def test_the_vendors_runtime_asks_and_is_hooked(scenario: Scenario) -> None:
    text = scenario.run("runtime_alloc", "cuda-dlsym log on", "RUN", "cuda-dlsym log show --json",
                        environment=with_runtime(scenario))  # fmt: skip
    asked = [r for r in requests(text) if r["resolver"] == "cuGetProcAddress_v2"]
    assert len(asked) >= 430
    assert {r["asker"]["layer"] for r in asked} == {"runtime"}
    assert sum(r["verdict"] == "hooked" for r in asked) > 400
    assert not [r for r in asked if r["verdict"].startswith("wrong")]


@needs_runtime
def test_suspicious_answers_are_found(local: Scenario, compile_c) -> None:
    hook = compile_c("libnewest.so", NEWEST, "-shared", "-D_GNU_SOURCE")
    text = local.run("runtime_alloc", "cuda-dlsym log on", "run", "cuda-dlsym log show --wrong --json",
                     hook=hook, environment=with_runtime(local))  # fmt: skip
    wrong = {(r["name"], r["version"]) for r in requests(text) if r["verdict"] == "wrong version"}
    assert {("cuMemAdvise", 8000), ("cuMemPrefetchAsync", 8000), ("cuGetProcAddress", 11030)} <= wrong
    streams = [r for r in requests(text) if r["verdict"] == "wrong version" and r["flags"] == 2]
    assert len(streams) > 25 and all("_ptsz" in r["why"] or "_ptds" in r["why"] for r in streams)


@needs_runtime
def test_what_the_runtime_has_stored_is_a_route(local: Scenario) -> None:
    text = local.run("runtime_alloc", "set breakpoint pending on", "break _exit", "run", "cuda-route cuMemAlloc_v2",
                     environment=with_runtime(local))  # fmt: skip
    assert re.search(r"cuMemAlloc_v2 +runtime libcudart.so.13 +pointer, at 0x\w+ +hook \S+ cuMemAlloc_v2 +hooked", text)


def test_nvidia_ml_py(scenario: Scenario, tmp_path: Path) -> None:
    pynvml = pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
    script = tmp_path / "query.py"
    script.write_text("import pynvml\npynvml.nvmlInit()\nprint(pynvml.nvmlDeviceGetCount())\npynvml.nvmlShutdown()\n")
    text = scenario.run(Path(sys.executable), "cuda-dlsym log on", "cuda-break nvmlShutdown", "RUN",
                        "cuda-dlsym log show 'nvml*'", "cuda-route", arguments=(str(script),),
                        environment={"PYTHONPATH": str(Path(pynvml.__file__).parent)})  # fmt: skip
    asker = r"app _ctypes\S*?(?: \w+\(\)|\+0x[0-9a-f]+) "  # a distribution's Python is stripped
    assert re.search(r"dlsym of libgdbcuda-hook.so +nvmlShutdown in libnvidia-ml.so.1 +" + asker, text), text
    assert re.search(r"nvmlShutdown +app _ctypes\S+ +dlsym, request #\d+ +hook \S+ nvmlShutdown +hooked", text)


ARRAY, OTHER = 'return cuda.device_array(1 << 20, "f4")', 'other = cuda.device_array(100, "f4")'
LAUNCH = "scale[1 << 14, 64](weights, 2.0)"
NUMBA = f"""from numba import cuda
@cuda.jit
def scale(data, factor):
    data[cuda.grid(1)] *= factor
def load_weights():
    {ARRAY}
def step(weights):
    {LAUNCH}
weights = load_weights()
{OTHER}
step(weights)
"""
NUMBA_LINES = {text.strip(): number for number, text in enumerate(NUMBA.splitlines(), 1)}


@needs_numba
def test_numba_cuda(local: Scenario, tmp_path: Path) -> None:
    """Arrays, and a kernel that it compiles and launches: stops, the log and the books have the script's own lines."""
    script = tmp_path / "job.py"
    script.write_text(NUMBA)
    text = local.run(numba_cuda.PYTHON, "cuda-log start cuMemAlloc cuMemFree cuLaunchKernelEx",
                     "cuda-break cuMemAlloc if caller in load_weights", "cuda-break cuLaunchKernelEx",
                     "run", "bt", "continue", "continue", "cuda-log show", "cuda-memory leaks",
                     hook=None, arguments=(str(script),))  # fmt: skip
    allocates, launches = NUMBA_LINES[ARRAY], NUMBA_LINES[LAUNCH]
    stop = r"^Breakpoint \d  driver libcuda\.so\S*  (\w+)\(.*\n +called by job\.py:(\d+) in (\w+)\(\), numba_cuda/"
    stops = re.findall(stop, text, re.MULTILINE)
    assert stops == [("cuMemAlloc_v2", str(allocates), "load_weights"), ("cuLaunchKernelEx", str(launches), "step")]
    assert re.search(rf"\[python\] load_weights \(\) at {script}:{allocates}\n", text)
    assert re.search(rf" cuLaunchKernelEx\(.*gridDimX=16384, .* by step at job\.py:{launches}\n", text)
    assert f"4194304 [4.00 MiB]  cuMemAlloc_v2  load_weights at job.py:{allocates} " in text
    assert f"400                 cuMemAlloc_v2  <module> at job.py:{NUMBA_LINES[OTHER]} " in text
