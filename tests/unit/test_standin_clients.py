"""Real clients over the stand-in, unmodified: nvidia-ml-py, cuda-bindings, NVIDIA's own runtime, a plain C program."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from shim_support import clean_environment

from gdbcuda import api

HERE = Path(__file__).parent / "standin"
VENDORS_RUNTIME = Path("/usr/local/cuda/lib64/libcudart.so.13")


def client(shim: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**clean_environment(), "LD_LIBRARY_PATH": str(shim / "standin"), **environment}
    return subprocess.run([sys.executable, *command], env=variables, capture_output=True, text=True, timeout=120)


def test_nvidia_ml_py(shim: Path) -> None:
    pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
    done = client(
        shim, str(HERE / "nvml_client.py"),
        GDBCUDA_STANDIN_DEVICES="2", GDBCUDA_STANDIN_MEMORY="64m", CUDA_VISIBLE_DEVICES="1,0",
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("all asked\n", "")


def test_cuda_bindings(shim: Path) -> None:
    pytest.importorskip("cuda.bindings.driver", reason="cuda-bindings is not installed")
    done = client(shim, str(HERE / "driver_client.py"), GDBCUDA_STANDIN_MEMORY="64m")
    assert (done.stdout, done.stderr) == ("all done\n", "")


ASK_THE_RUNTIME = """
import ctypes, sys
runtime = ctypes.CDLL(sys.argv[1])
print(runtime.cudaGetDeviceCount(ctypes.byref(ctypes.c_int())))
"""


def test_nvidias_runtime_asks_for_everything_and_stops_at_its_own_test(shim: Path) -> None:
    """It wants private tables of the driver to know that this is NVIDIA's, and there are none: 500 is
    cudaErrorSymbolNotFound. All its requests are made by then, which is what hook libraries see."""
    if not VENDORS_RUNTIME.exists():
        pytest.skip(f"no {VENDORS_RUNTIME}: the CUDA toolkit is not installed")
    done = client(shim, "-c", ASK_THE_RUNTIME, str(VENDORS_RUNTIME), GDBCUDA_STANDIN_TRACE="1")
    assert done.stdout == "500\n"
    asked = re.findall(r'^cuGetProcAddress_v2\(symbol="(\w+)".* = (\w+)$', done.stderr, re.MULTILINE)
    assert len(asked) > 400
    assert {status for _, status in asked} == {"CUDA_SUCCESS"}
    assert "cuInit(Flags=0) = CUDA_SUCCESS" in done.stderr
    assert re.search(r"^cuGetExportTable\(.* = CUDA_ERROR_NOT_FOUND$", done.stderr, re.MULTILINE)
    done = client(shim, "-c", ASK_THE_RUNTIME * 2, str(VENDORS_RUNTIME))
    assert done.stdout == "500\n500\n" and done.stderr.count("\n") == 1
    assert f"fails with error 500. Where it is a library, LD_PRELOAD={shim}/standin/libcudart.so.12 (or" in done.stderr


def test_without_a_driver_the_runtime_says_so(shim: Path, tmp_path: Path) -> None:
    alone = tmp_path / "libcudart.so.13"
    alone.write_bytes((shim / "standin" / "libcudart.so.13").read_bytes())
    done = client(shim, "-c", ASK_THE_RUNTIME, str(alone), LD_LIBRARY_PATH=str(tmp_path))
    if done.stdout == "0\n":
        pytest.skip("this machine has a driver of its own")
    insufficient = api.load().constant("cudaErrorInsufficientDriver")
    assert done.stdout == f"{insufficient}\n"


USE_RUNTIME = """
import ctypes
runtime = ctypes.CDLL("libcudart.so.13")
block = ctypes.c_void_p()
assert runtime.cudaMalloc(ctypes.byref(block), ctypes.c_size_t(1000)) == 0
assert runtime.cudaMemsetAsync_ptsz(block, 1, ctypes.c_size_t(1000), None) == 0
assert runtime.cudaFree(block) == 0
"""


def traced(shim: Path, setting: str) -> list[str]:
    done = client(shim, "-c", USE_RUNTIME, GDBCUDA_STANDIN_TRACE=setting)
    assert (done.stdout, done.returncode) == ("", 0)
    return [line for line in done.stderr.splitlines() if not line.startswith("cuGetProcAddress_v2")]


def test_trace_shows_what_the_driver_was_asked(shim: Path) -> None:
    assert traced(shim, "0") == []
    lines = traced(shim, "1")
    (allocation,) = [line for line in lines if line.startswith("cuMemAlloc_v2")]
    assert re.fullmatch(r"cuMemAlloc_v2\(dptr=0x\w+, bytesize=1000\) = CUDA_SUCCESS", allocation)
    # a call for the per-thread stream reaches the driver's function for it
    assert any(line.startswith("cuMemsetD8Async_ptsz(") for line in lines)
    assert not any(line.startswith("cuda") for line in lines)
    assert any(line.startswith("cudaMalloc(devPtr=0x") for line in traced(shim, "all"))


def test_the_runtime_asks_for_the_version_of_each_symbol(shim: Path) -> None:
    """With the version that a symbol got its signature in, so that only exactly that one can be the answer."""
    done = client(shim, "-c", USE_RUNTIME, GDBCUDA_STANDIN_TRACE="1")
    request = r'^cuGetProcAddress_v2\(symbol="(\w+)", .*, cudaVersion=(\d+), flags=(\d), .* = CUDA_SUCCESS$'
    asked = {(n, int(v), int(f)) for n, v, f in re.findall(request, done.stderr, re.MULTILINE)}
    assert {("cuMemAlloc", 3020, 0), ("cuMemsetD8Async", 7000, 2), ("cuInit", 2000, 0)} <= asked
    assert all(api.load().proc_address(name, version, flags) for name, version, flags in asked)
