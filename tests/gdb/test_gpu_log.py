"""cuda-log start --gpu: what the GPU does, in the folder of a recorder that gdb has put into the process."""

from __future__ import annotations

import json
import platform
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fake_cupti import cupti, needs_cupti
from forking_gdbcuda import run_gdbcuda
from scenario import Scenario
from test_fast_log import lists_locations

__all__ = ["cupti"]  # the fixture
pytestmark = [needs_cupti, pytest.mark.skipif(platform.machine() != "x86_64", reason="the recorder is made for x86-64")]


def logged(view: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return run_gdbcuda("log", view, "--json", folder, check=True)


def shown(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in logged("show", folder).stdout.splitlines()]


@pytest.mark.parametrize("shell", ["on", "off"])
def test_work_is_joined_to_the_calls(local: Scenario, cupti: str, tmp_path: Path, shell: str) -> None:
    """With a wrapper that gdb starts the program by, and without a shell by its environment."""
    if not lists_locations():
        pytest.skip("this gdb has no --fast")
    folder = tmp_path / "calls"
    preloaded = f"set exec-wrapper env LD_PRELOAD={cupti}" if shell == "on" else f"set environment LD_PRELOAD {cupti}"
    text = local.run("test_alloc", f"set startup-with-shell {shell}", preloaded,
                     f"cuda-log start --fast --keep {folder} --gpu", "RUN", "cuda-log stop", "show exec-wrapper",
                     "show environment CUDA_INJECTION64_PATH", hook=None)  # fmt: skip
    assert f"What the GPU does: gdbcuda log gpu {folder}" in text and "exited normally" in text
    assert 'Environment variable "CUDA_INJECTION64_PATH" not defined' in text and "libgdbcuda-gpu" not in text
    calls = {call["number"]: call for call in shown(folder)}
    works = [call for call in calls.values() if call["layer"] == "gpu"]
    assert [calls[one["arguments"]["call"]]["name"] for one in works] == ["cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2"]


def test_where_it_cannot_be_is_said_before_anything_is_made(local: Scenario, tmp_path: Path) -> None:
    if not lists_locations():
        pytest.skip("this gdb has no --fast")
    folder = tmp_path / "calls"
    text = local.run("test_alloc", "cuda-log start --gpu", "tbreak main", "RUN",
                     f"cuda-log start --fast --keep {folder} --gpu", "kill",
                     "set environment CUDA_INJECTION64_PATH /x.so",
                     f"cuda-log start --fast --keep {folder} --gpu")  # fmt: skip
    assert "--gpu is with --fast --keep FOLDER" in text
    assert "--gpu is for the next run" in text
    assert "CUDA_INJECTION64_PATH is /x.so already" in text
    assert not folder.exists()
