"""./scripts/demo: what it shows is what its comments promise."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from scenario import ROOT
from shim_support import has_real_driver


def played(*arguments: str) -> str:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GDBCUDA_", "LD_"))}
    done = subprocess.run(
        [str(ROOT / "scripts" / "demo"), *arguments],
        env=kept,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    return done.stdout


@pytest.fixture(scope="module")
def transcript(tmp_path_factory: pytest.TempPathFactory) -> str:
    return played()


def test_it_loads_the_hook_into_the_program_alone(shim: Path, transcript: str) -> None:
    assert "(gdb) cuda-load shim/build/libgdbcuda-hook.so" in transcript
    assert "hook libgdbcuda-hook.so is loaded, first in the search order" in transcript


def test_the_first_stop_is_in_the_hook_and_decoded(transcript: str) -> None:
    assert re.search(
        r"Breakpoint 1  hook libgdbcuda-hook\.so  cudaMalloc\(devPtr=0x\w+ -> \(not written yet\), "
        r"size=67108864 \[64\.00 MiB\]\)\n +called by app allocate_buffer\(\) at runtime_alloc\.c:\d+",
        transcript,
    )


def test_the_condition_lets_the_small_one_pass(transcript: str) -> None:
    stops = re.findall(r"Breakpoint 2  hook \S+  cuMemAlloc_v2\(.*bytesize=(\d+) ", transcript)
    assert stops == ["1073741825", "3221225472"]


def test_the_backtrace_names_the_layers_in_order(transcript: str) -> None:
    frames = transcript.partition("The condition held")[2].partition("cuda-call")[0]
    layers = re.findall(r"^#\d+ .*\[(\w+)[^\]]*\]", frames, re.MULTILINE)
    assert list(dict.fromkeys(layers)) == ["hook", "runtime", "app"]


def test_the_error_is_named_where_it_returns(transcript: str) -> None:
    assert re.search(r"Breakpoint 3  hook .* = CUDA_ERROR_OUT_OF_MEMORY \(2\)\n +returned to runtime", transcript)


def test_the_program_ends_as_it_does_alone(transcript: str) -> None:
    assert "3 GiB      cudaErrorMemoryAllocation" in transcript
    assert "exited with code 01" in transcript


def test_a_real_cuda_program(transcript: str) -> None:
    if not shutil.which("nvcc"):
        pytest.skip("nvcc is not installed: the demo shows the C program only")
    launch = r"__cudaLaunchKernel\(.*gridDim=\{x=4096, y=1, z=1\}, blockDim=\{x=256, y=1, z=1\}"
    assert re.search(launch, transcript), transcript
    assert re.search(r"Breakpoint 3  driver libcuda\.so\.1  cuLaunchKernel\(.*gridDimX=4096", transcript)


def test_no_error_of_gdb_or_python(transcript: str) -> None:
    assert not re.search(r"Traceback|Python Exception|Cannot|Undefined|Error in", transcript)


def test_wrong_arguments_are_one_line() -> None:
    assert played("--fast").strip() == "gdbcuda demo: no option --fast (see: gdbcuda demo --help)"


def test_real_without_a_driver_says_so() -> None:
    if has_real_driver():
        pytest.skip("this machine has a real driver")
    assert "--real: no libcuda.so.1 on this machine" in played("--real")
