"""gdbcuda trace --gpu on real hardware: all work is there, at the call it comes from, when it can have been."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from shim_support import HOOK, ROOT, build_shim

from gdbcuda.files import places

ROUNDS, SLACK = 8, 20e-6  # seconds that CUPTI's clock may be wrong by itself


@pytest.fixture(scope="module")
def program(shim: Path) -> Path:
    if not shutil.which("nvcc"):
        pytest.skip("nvcc is not installed")
    build_shim("cuda")
    if not places.built(places.GPU):
        pytest.skip("no CUPTI to build with")
    return shim / "sample" / "gpu_work"


class GpuTrace:
    def __init__(self, program: Path, folder: Path, *options: str, how: str = "exit", **more: str) -> None:
        self.folder = folder
        words = [str(program), str(ROUNDS), how]
        self.done = run("trace", "--gpu", "-o", str(folder), *options, "--", *words, **more)
        shown = run("log", "show", "--json", str(folder))
        self.problems = shown.stderr
        self.calls = {call["number"]: call for call in map(json.loads, shown.stdout.splitlines())}
        self.work = [call for call in self.calls.values() if call["layer"] == "gpu"]
        self.data: dict[str, Any] = json.loads(run("log", "gpu", "--json", str(folder)).stdout)

    def names(self) -> Counter[str]:
        return Counter(one["name"] for one in self.work)

    def cause(self, one: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self.calls[one["arguments"]["call"]]
        return found


def run(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return subprocess.run([sys.executable, "-m", "gdbcuda", *words], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": paths, **more})  # fmt: skip


def test_all_work_is_there_at_its_call(program: Path, tmp_path: Path) -> None:
    found = GpuTrace(program, tmp_path / "calls")
    assert (found.done.returncode, found.done.stderr, found.problems) == (0, "", "")
    names = found.names()
    assert names["void scale<float>(float*, float, int)"] == 2 * ROUNDS
    assert names["spin(long long, int*)"] == 2 * (ROUNDS - 1) + 4  # the first round has two of them in a graph
    assert names["copy HtoD"] == names["copy DtoH"] == names["fill"] == 2 * ROUNDS
    runs = [one for one in found.work if "grid" in one["arguments"] or one["name"].startswith(("copy", "fill"))]
    wanted = {"void": "LaunchKernel", "spin": "Launch", "copy": "Memcpy", "fill": "Memset"}
    assert all(wanted[one["name"].replace("(", " ").split()[0]] in found.cause(one)["name"] for one in runs)


def test_nothing_begins_before_its_call(program: Path, tmp_path: Path) -> None:
    found = GpuTrace(program, tmp_path / "calls")
    runs = [one for one in found.work if "grid" in one["arguments"] or "bytes" in one["arguments"]]
    assert runs and all(one["start"] > found.cause(one)["start"] - SLACK for one in runs if "call" in one["arguments"])
    assert all(one["uncertainty"] < SLACK for one in found.data["clock"])


def test_the_threads_of_calls_and_the_streams_of_their_work_agree(program: Path, tmp_path: Path) -> None:
    """Each thread of the program has a stream of its own."""
    found = GpuTrace(program, tmp_path / "calls")
    kernels = [one for one in found.work if one["name"].startswith("void scale")]
    pairs = {(found.cause(one)["thread"], one["thread"]) for one in kernels}
    assert len(pairs) == 2 and len({thread for thread, _ in pairs}) == len({lane for _, lane in pairs}) == 2


def test_with_a_hook_library_its_calls_are_between(program: Path, tmp_path: Path, shim: Path) -> None:
    found = GpuTrace(program, tmp_path / "calls", "--hook", str(shim / HOOK))
    assert found.names()["void scale<float>(float*, float, int)"] == 2 * ROUNDS
    assert any(one["has_hook"] for one in found.data["calls"])


@pytest.mark.parametrize("how", ["_exit", "abort"])
def test_a_sudden_end_leaves_all(program: Path, tmp_path: Path, how: str) -> None:
    found = GpuTrace(program, tmp_path / "calls", how=how)
    assert "2 threads" in found.done.stdout and "may be missing" not in found.problems
    assert found.names()["void scale<float>(float*, float, int)"] == 2 * ROUNDS


def test_the_export_has_an_arrow_for_each(program: Path, tmp_path: Path) -> None:
    found = GpuTrace(program, tmp_path / "calls")
    events = json.loads(run("log", "export", str(found.folder)).stdout)["traceEvents"]
    arrows = [one for one in events if one["name"] == "runs" and one["ph"] == "f"]
    assert len(arrows) >= sum("grid" in one["arguments"] for one in found.work)
