"""Scenarios on a machine with an NVIDIA driver, under whatever GDBCUDA_GDB names (cuda-gdb, gdb)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
from scenario import Scenario
from shim_support import build_shim


def has_driver() -> bool:
    known = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    return "libcuda.so.1" in known


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not has_driver():
        for item in items:
            if "gpu" in Path(str(item.fspath)).parts:
                item.add_marker(pytest.mark.skip(reason="no NVIDIA driver on this machine (tests/gpu)"))


class RealDriver(Scenario):
    """The machine's own libraries in the place of the stand-in."""

    def environment(self) -> dict[str, str]:
        kept = super().environment()
        del kept["LD_LIBRARY_PATH"]
        inherited = os.environ.get("LD_LIBRARY_PATH")
        return kept | ({"LD_LIBRARY_PATH": inherited} if inherited else {})


@pytest.fixture
def real(shim: Path) -> RealDriver:
    return RealDriver(shim)


@pytest.fixture(scope="session")
def vector_add(shim: Path) -> Path:
    if not shutil.which("nvcc"):
        pytest.skip("nvcc is not installed")
    build_shim("cuda")
    return shim / "sample" / "vector_add"
