"""Fixtures for every test that needs the shim: the hook library, the stand-in driver, the samples."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Callable, Union

import pytest

ROOT = Path(__file__).resolve().parent.parent
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def shim() -> Path:
    """The build directory of the shim, brought up to date. Two test runs at once take turns."""
    build = ROOT / "shim" / "build"
    build.mkdir(exist_ok=True)
    with open(build / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = subprocess.run(["make", "-s", "-C", str(ROOT / "shim")], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    return build


def clean_environment() -> dict[str, str]:
    """What the tests were started with, less everything that would change what a program loads."""
    unwanted = ("LD_", "GDBCUDA_", "CUDA_", "PYTHONPATH", "NO_COLOR")
    return {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}


@pytest.fixture
def run(shim: Path) -> Run:
    """run(program, *arguments, preload=LIBRARIES, driver=True, NAME=VALUE...) with the stand-in as the driver."""

    def run_program(
        program: Union[str, Path],
        *arguments: str,
        preload: Sequence[Union[str, Path]] = (),
        driver: bool = True,
        stdin: str = "",
        timeout: float = 60,
        **environment: str,
    ) -> subprocess.CompletedProcess[str]:
        variables = {**clean_environment(), **environment}
        if driver:
            variables["LD_LIBRARY_PATH"] = str(shim / "standin")
        if preload:
            variables["LD_PRELOAD"] = ":".join(str(shim / library) for library in preload)
        return subprocess.run(
            [str(shim / "sample" / program), *arguments],
            env=variables, input=stdin, capture_output=True, text=True, timeout=timeout,
        )  # fmt: skip

    return run_program
