"""Conditions in the kernel agree with those in Python, on values at the edges of their types."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from forking_gdbcuda import run_gdbcuda
from shim_support import ROOT, clean_environment
from watched_shim import shim as shim

from gdbcuda import api, condition
from gdbcuda.observe.uprobes import bpftrace_condition, needs

pytestmark = pytest.mark.skipif(bool([*needs.missing()]), reason="; ".join(needs.missing()))
UNSIGNED = ("gridDimX", "gridDimY", "gridDimZ", "blockDimX", "blockDimY", "blockDimZ", "sharedMemBytes")
EDGES = (0, 1, 2, 3, 255, 256, 4096, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 77, 1000)
CALLER = """
import ctypes, json, sys
lib = ctypes.CDLL("libcuda.so.1")
for *numbers, stream in json.load(open(sys.argv[1])):
    lib.cuLaunchKernel(None, *map(ctypes.c_uint, numbers), ctypes.c_void_p(stream), None, None)
"""
CONDITIONS = (
    "gridDimX > gridDimY", "blockDimX - blockDimY < 0", "gridDimX + blockDimZ == 256 || sharedMemBytes >= 4K",
    "(gridDimX & 1) == 1 && !(blockDimZ == 0)", "gridDimY * gridDimZ > 1G && hStream != NULL", "~gridDimX < -1",
    "hStream > 1<<40", "hStream - 1 > hStream", "hStream % 7 == 1 || hStream / 3 > 100", "hStream >> 60 == 15",
    "gridDimX << 62 != 0", "(gridDimX > 1) + (gridDimY > 1) == 2", "sharedMemBytes == 4294967295",
)  # fmt: skip


def calls(dice: random.Random) -> list[list[int]]:
    streams = (0, 1, 7, 8, 1 << 40, (1 << 40) + 1, 1 << 63, (1 << 64) - 1, 301)
    return [[*(dice.choice(EDGES) for _ in UNSIGNED), dice.choice(streams)] for _ in range(150)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("conditions")
    (folder / "values.json").write_text(json.dumps(calls(random.Random(16))))
    (folder / "caller.py").write_text(CALLER)
    return folder


def told(shim: Path, made: Path, wanted: str, log: Path) -> list[list[int]]:
    """The calls that the kernel lets through."""
    line = ["trace", "--with", "uprobe", "-o", log, "--function", "cuLaunchKernel", "--filter", wanted, "--",
            sys.executable, made / "caller.py", made / "values.json"]  # fmt: skip
    environment = {**clean_environment(), "LD_LIBRARY_PATH": str(shim / "standin"), "PYTHONPATH": str(ROOT)}
    done = run_gdbcuda(*line, env=environment, timeout=100)
    assert done.returncode == 0 and "afterwards" not in done.stderr, done.stderr
    begun = [one for one in map(json.loads, log.read_text().splitlines()) if one["phase"] == "B"]
    return [[*(one["details"][name] for name in UNSIGNED), handle(one["details"]["hStream"])] for one in begun]


def handle(data: Any) -> int:
    names = {"CU_STREAM_LEGACY": 1, "CU_STREAM_PER_THREAD": 2}
    return 0 if data is None else names[data] if data in names else int(data, 16)


@pytest.mark.parametrize("wanted", CONDITIONS)
def test_kernel_and_python_agree(shim: Path, made: Path, tmp_path: Path, wanted: str) -> None:
    function = api.load().functions["cuLaunchKernel"]
    parsed = condition.parse(wanted, api.load(), [function])
    assert not bpftrace_condition.in_kernel(parsed, function).why
    expected = [values for values in json.loads((made / "values.json").read_text())
                if parsed.evaluate(dict(zip((*UNSIGNED, "hStream"), values)))]  # fmt: skip
    assert 0 < len(expected) < 150
    assert told(shim, made, wanted, tmp_path / "calls.jsonl") == expected
