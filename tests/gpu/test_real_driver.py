"""What only real hardware can show: the vendor's stripped libraries, kernels that run, cuda-gdb's own commands."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from scenario import GDB, ROOT, execute

LIMIT = {"GDBCUDA_MEMORY_LIMIT": "2g"}


def test_the_memory_limit_of_our_hook(real) -> None:
    text = real.run("test_alloc", "cuda-break cuMemAlloc --on error", "RUN", "bt", environment=LIMIT)
    assert "is loaded, first in the search order" in text
    assert re.search(r"Breakpoint 1  hook .*bytesize=3221225472 \[3\.00 GiB\]\) = CUDA_ERROR_OUT_OF_MEMORY \(2\)", text)


def test_arguments_in_the_stripped_driver(real) -> None:
    text = real.run("test_alloc", "cuda-break cuMemAlloc --in driver if bytesize > 1G", "RUN", "bt", "finish")
    assert re.search(
        r"Breakpoint 1  driver libcuda\.so\.\S+  cuMemAlloc_v2\(dptr=0x\w+ -> \(not written yet\), "
        r"bytesize=1073741825 \[1\.00 GiB\]\)\n +called by hook",
        text,
    )
    assert re.search(r"Returned  driver .* -> 0x\w+, .*\) = CUDA_SUCCESS", text)


def test_a_kernel_launch_from_app_to_driver(real, vector_add: Path) -> None:
    text = real.run(
        vector_add,
        "cuda-break cudaLaunchKernel",
        "RUN",
        "delete",
        "cuda-break cuLaunchKernel cuLaunchKernelEx --in driver",
        "continue",
        "bt",
        "delete",
        "continue",
    )
    assert re.search(r"cudaLaunchKernel\(.*gridDim=\{x=4096, y=1, z=1\}", text)
    assert "added 1048576 floats, the last is 3" in text
    assert re.search(r"exited normally|exited with code 00", text)


def test_the_runtime_through_the_hook(real) -> None:
    text = real.run("runtime_alloc", "cuda-break cuMemAlloc if bytesize > 1G", "RUN", "bt")
    frames = text.partition("(gdb)")[0]
    assert re.search(r"Breakpoint 1  hook \S+  cuMemAlloc_v2\(.*bytesize=1073741825", frames)
    assert re.search(r"called by runtime libcudart", frames)


def test_nvml(real) -> None:
    text = real.run("nvml_info", "cuda-break nvmlDeviceGetMemoryInfo --on return", "RUN", environment=LIMIT)
    assert re.search(r"nvmlDeviceGetMemoryInfo\w*\(.*total=2147483648.*\) = NVML_SUCCESS", text)


def test_the_debuggers_own_cuda_commands_are_as_before(real) -> None:
    def shown(*load: str) -> str:
        asked = ["-ex", "help info cuda", "-ex", "help set cuda", "-ex", "help cuda", "-ex", "help show cuda"]
        return execute([GDB, "-nx", "-q", "-batch", *load, *asked], dict(os.environ))

    before = shown()
    if 'Undefined info command: "cuda"' in before:
        pytest.skip("this gdb has no cuda commands of its own")
    assert shown("-x", str(ROOT / "gdbcuda.py")) == before


def test_pytorch_as_the_program(real, tmp_path: Path) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    script = tmp_path / "train.py"
    script.write_text("import torch\nx = torch.ones(1 << 28, device='cuda')\nprint('SUM', float(x.sum()))\n")
    text = real.run(
        Path(sys.executable),
        "cuda-break cuMemAlloc --on error",
        "cuda-break cuMemAlloc if bytesize >= 1G",
        "RUN",
        "bt 3",
        "delete",
        "continue",
        arguments=(str(script),),
    )
    assert re.search(r"hook libgdbcuda-hook\.so  cuMemAlloc_v2\(.*bytesize=1073741824 \[1\.00 GiB\]", text)
    assert "SUM 268435456" in text


def test_pytorch_under_the_limit(real, tmp_path: Path) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    script = tmp_path / "greedy.py"
    script.write_text(
        "import torch\ntry: torch.ones(1 << 30, device='cuda')\nexcept torch.OutOfMemoryError: print('REFUSED')\n"
    )
    environment = {**os.environ, "LD_PRELOAD": str(real.hook), **LIMIT}
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False)
    assert "REFUSED" in done.stdout
