"""The hook library under programs: it changes nothing unless it was told to, and finds every real function."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from shim_support import HOOK, Run, build_shim, clean_environment

from gdbcuda import api

PROGRAMS = [
    "test_alloc",
    "runtime_alloc",
    "families",
    "dlsym_alloc",
    "nvml_info",
    "nvml_dlopen",
    "threads",
    "fork_exec",
    "stream_alloc",
    "deepbind",
    "next_order",
]
VENDORS_RUNTIME = Path("/usr/local/cuda/lib64/libcudart.so.13")


@pytest.mark.parametrize("program", PROGRAMS)
def test_without_a_limit_the_output_is_the_same(run: Run, program: str) -> None:
    plain, hooked = run(program), run(program, preload=[HOOK])
    assert plain.stdout
    assert (hooked.stdout, hooked.stderr, hooked.returncode) == (plain.stdout, plain.stderr, plain.returncode)


@pytest.mark.parametrize("program", ["dlsym_alloc", "nvml_dlopen"])
def test_a_missing_driver_stays_missing(run: Run, program: str) -> None:
    plain, hooked = run(program, driver=False), run(program, driver=False, preload=[HOOK])
    if plain.returncode == 0:
        pytest.skip("this machine has a driver of its own")
    assert plain.returncode == 2
    assert (hooked.stdout, hooked.stderr, hooked.returncode) == (plain.stdout, plain.stderr, plain.returncode)


def python(script: str, shim: Path, *preload: str, driver: bool = True, **environment: str) -> str:
    """What a Python process prints; its arguments are in the environment."""
    variables = {**clean_environment(), "LD_PRELOAD": ":".join(str(shim / p) for p in preload), **environment}
    if driver:
        variables["LD_LIBRARY_PATH"] = str(shim / "standin")
    done = subprocess.run([sys.executable, "-c", script], env=variables, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_a_driver_calls_say_so(shim: Path) -> None:
    script = """if True:
        import ctypes, os
        hook = ctypes.CDLL(os.environ["HOOK"])
        hook.nvmlErrorString.restype = hook.cudaGetErrorName.restype = ctypes.c_char_p
        print([hook.cuInit(0), hook.cudaFree(None), hook.nvmlInit_v2(), hook.cuMemAlloc_v2(None, 1)])
        print(hook.nvmlErrorString(1), hook.cudaGetErrorName(1))
    """
    table = api.load()
    names = [
        "CUDA_ERROR_NOT_FOUND",
        "cudaErrorInsufficientDriver",
        "NVML_ERROR_LIBRARY_NOT_FOUND",
        "CUDA_ERROR_NOT_FOUND",
    ]
    printed = python(script, shim, driver=False, HOOK=str(shim / HOOK)).splitlines()
    if printed[0].startswith("[0,"):
        pytest.skip("this machine has a driver of its own")
    assert json.loads(printed[0]) == [table.constant(name) for name in names]
    assert "nvmlErrorString: no library has it" in printed[1]


def test_a_program_that_asks_for_a_driver_hears_the_truth(shim: Path) -> None:
    script = """if True:
        import ctypes
        program = ctypes.CDLL(None)
        print(hasattr(program, "cuInit"), hasattr(program, "nvmlInit_v2"), hasattr(program, "malloc"))
        try:
            ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
        except OSError:
            pass
        print(hasattr(ctypes.CDLL(None), "cuInit"))
    """
    assert python(script, shim, HOOK).split() == ["False", "False", "True", "True"]


def test_dlerror_of_the_program_is_left_alone(shim: Path) -> None:
    script = """if True:
        import ctypes
        libc = ctypes.CDLL(None)
        libc.dlsym.restype, libc.dlsym.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]
        libc.dlerror.restype = ctypes.c_char_p
        driver = ctypes.CDLL("libcuda.so.1")
        libc.dlerror()
        print(bool(libc.dlsym(driver._handle, b"cuInit")), libc.dlerror())
        print(bool(libc.dlsym(driver._handle, b"cuNope")), b"cuNope" in libc.dlerror())
        print(bool(libc.dlsym(None, b"cuMemAlloc_v2")), b"cuMemAlloc_v2" in libc.dlerror())
    """
    assert python(script, shim, HOOK).splitlines() == ["True None", "False True", "False True"]


def test_dlsym_answers_with_the_wrapper_for_names_of_the_table_only(shim: Path) -> None:
    script = """if True:
        import ctypes
        driver = ctypes.CDLL("libcuda.so.1")
        for name in ("cuMemAlloc_v2", "cuMemoryAllocate", "cuda_to_nvml_map"):
            print(hasattr(driver, name))
    """
    assert python(script, shim, HOOK).split() == ["True", "False", "False"]
    assert "dlsym cuMemAlloc_v2: the wrapper" in hook_log(script, shim)


def hook_log(script: str, shim: Path) -> str:
    variables = {
        **clean_environment(),
        "LD_PRELOAD": str(shim / HOOK),
        "LD_LIBRARY_PATH": str(shim / "standin"),
        "GDBCUDA_HOOK_LOG": "1",
    }
    return subprocess.run([sys.executable, "-c", script], env=variables, capture_output=True, text=True).stderr


def requests() -> Iterator[tuple[str, int, int]]:
    """Each name just before and at each of its versions, for both kinds of default stream."""
    table = api.load()
    for base in sorted({f.base for f in table.functions.values() if f.api == "driver"}):
        versions = {entry.version for entry in table.proc_versions(base)} | {13000}
        for version in sorted(versions | {version - 1 for version in versions}):
            yield from ((base, version, flags) for flags in (0, 1, 2))


def test_cugetprocaddress_gives_the_wrapper_of_exactly_the_right_function(run: Run) -> None:
    asked = list(requests())
    lines = "".join(f"{name} {version} {flags}\n" for name, version, flags in asked)
    plain = run("proc_address", stdin=lines).stdout.splitlines()
    hooked = run("proc_address", stdin=lines, preload=[HOOK]).stdout.splitlines()
    assert len(plain) == len(hooked) == len(asked)
    table = api.load()
    for request, before, after in zip(asked, plain, hooked):
        symbol = table.proc_address(*request)
        if symbol is None or before.endswith("NULL"):
            assert after == before
        else:
            status = before.rpartition(",")[0]
            assert after == f"{status}, {symbol}@{HOOK}"


@pytest.mark.parametrize(
    ("order", "says"),
    [
        (["sample/hook_first.so", "sample/hook_second.so"], ["hook_first", "hook_second"]),
        (["sample/hook_second.so", "sample/hook_first.so"], ["hook_second", "hook_first"]),
        ([HOOK, "sample/hook_first.so"], ["hook_first"]),
        (["sample/hook_first.so", HOOK], ["hook_first"]),
    ],
)
@pytest.mark.parametrize("program", ["test_alloc", "dlsym_alloc"])
def test_hook_libraries_stack_in_both_orders(run: Run, program: str, order: list[str], says: list[str]) -> None:
    stacked = run(program, preload=order)
    assert stacked.stdout.splitlines()[1:3]
    assert [line.partition(":")[0] for line in stacked.stderr.splitlines()][: len(says)] == says
    assert stacked.returncode == 0


def test_the_limit_holds_behind_another_hook_library(run: Run) -> None:
    for order in ([HOOK, "sample/hook_first.so"], ["sample/hook_first.so", HOOK]):
        limited = run("test_alloc", preload=order, GDBCUDA_MEMORY_LIMIT="1g")
        assert "1 GiB + 1  CUDA_ERROR_OUT_OF_MEMORY (2)" in limited.stdout


def test_python_nvml_client(shim: Path) -> None:
    pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
    script = """if True:
        import pynvml
        pynvml.nvmlInit()
        device = pynvml.nvmlDeviceGetHandleByIndex(0)
        print(pynvml.nvmlDeviceGetCount(), pynvml.nvmlDeviceGetName(device))
        print(pynvml.nvmlDeviceGetMemoryInfo(device).total >> 20)
        pynvml.nvmlShutdown()
    """
    plain = python(script, shim)
    assert python(script, shim, HOOK) == plain
    assert python(script, shim, HOOK, GDBCUDA_MEMORY_LIMIT="512m").splitlines()[1] == "512"


def test_python_cuda_client(shim: Path) -> None:
    pytest.importorskip("cuda.bindings.driver", reason="cuda-bindings is not installed")
    script = """if True:
        from cuda.bindings import driver
        driver.cuInit(0)
        context = driver.cuDevicePrimaryCtxRetain(0)[1]
        driver.cuCtxSetCurrent(context)
        print(driver.cuMemGetInfo()[2] >> 20)
        result, block = driver.cuMemAlloc((1 << 30) + 1)
        print(int(result))
        if not result:
            print(driver.cuMemFree(block))
    """
    plain = python(script, shim)
    assert plain.splitlines()[1] == "0"
    assert python(script, shim, HOOK) == plain
    assert python(script, shim, HOOK, GDBCUDA_MEMORY_LIMIT="1g").split() == ["1024", "2"]


@pytest.mark.skipif(not VENDORS_RUNTIME.exists(), reason="NVIDIA's libcudart.so.13 is not installed")
def test_the_vendors_runtime_goes_through_the_hook(shim: Path) -> None:
    """It makes its 440 requests and then gives the stand-in up, with and without the hook alike."""
    variables = {**clean_environment(), "LD_LIBRARY_PATH": f"{VENDORS_RUNTIME.parent}:{shim / 'standin'}"}
    hooked = {**variables, "LD_PRELOAD": str(shim / HOOK), "GDBCUDA_HOOK_LOG": "1"}
    program = str(shim / "sample" / "runtime_alloc")
    before, after = (
        subprocess.run([program], env=environment, capture_output=True, text=True, timeout=60)
        for environment in (variables, hooked)
    )
    assert re.fullmatch(r"cudaMemGetInfo: cudaError\w+ \(\d+\)\n", before.stdout)
    assert (after.stdout, after.returncode) == (before.stdout, before.returncode)
    assert after.stderr.count("cuGetProcAddress ") > 400
    assert "cuGetProcAddress cuMemAlloc 3020 0: cuMemAlloc_v2" in after.stderr


def test_vector_add_where_nvcc_is(run: Run, shim: Path) -> None:
    if not shutil.which("nvcc"):
        pytest.skip("nvcc is not installed")
    build_shim("cuda")
    plain, hooked = run("vector_add"), run("vector_add", preload=[HOOK])
    assert "added 1048576 floats" in plain.stdout
    assert (hooked.stdout, hooked.returncode) == (plain.stdout, plain.returncode)
    limited = run("vector_add", preload=[HOOK], GDBCUDA_MEMORY_LIMIT="5m")
    assert (limited.stdout, limited.returncode) == ("cudaMalloc: cudaErrorMemoryAllocation\n", 2)
