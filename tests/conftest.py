"""Fixtures for every test that needs the shim: the hook library, the stand-in driver, the samples."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from shim_support import Run, build_shim, clean_environment

from gdbcuda.remote import vector_registers

# What a shell starts behind `&` ignores Ctrl-C, and so does all that it starts: there tests would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it, and every gdb below it: none would end by it
# A folder with the machine's own driver, there before all others: the driver of the tests is the one that they name.
os.environ.pop("LD_LIBRARY_PATH", None)
# An older gdbserver changes a program at its stops, without us too. What tests run through it ends as it does alone.
os.environ.setdefault(vector_registers.TUNABLES, vector_registers.WITHOUT_AVX512)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """``smoke("local", "auto")``: of the test's parameters those alone that have these words."""
    for item in items:
        parameters = getattr(item, "callspec", None)
        item.own_markers = [one for one in item.own_markers
                            if one.name != "smoke" or all(word in parameters.id for word in one.args)]  # fmt: skip


@pytest.fixture(scope="session")
def shim() -> Path:
    """The build directory of the shim, brought up to date."""
    return build_shim()


@pytest.fixture
def run(shim: Path) -> Run:
    """run(program, *arguments, preload=LIBRARIES, driver=True, NAME=VALUE...), the stand-in is the driver."""

    def run_program(
        program: str | Path,
        *arguments: str,
        preload: Sequence[str | Path] = (),
        driver: bool = True,
        stdin: str = "",
        timeout: float = 60,
        **environment: str,
    ) -> subprocess.CompletedProcess[str]:
        variables = {**clean_environment(), **environment}
        libraries = [shim / "sample", shim / "standin"] if driver else [shim / "sample"]
        variables["LD_LIBRARY_PATH"] = ":".join(map(str, libraries))
        if preload:
            variables["LD_PRELOAD"] = ":".join(str(shim / library) for library in preload)
        return subprocess.run(
            [str(shim / "sample" / program), *arguments],
            env=variables, input=stdin, capture_output=True, text=True, timeout=timeout,
        )  # fmt: skip

    return run_program
