"""The adapter of Theia and Eclipse CDT, with gdbcuda-gdb as its gdb: what such an IDE's user sees (cdt.js)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from scenario import Scenario

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def node() -> str:
    found = shutil.which("node")
    if not found:
        pytest.skip("node is not installed")
    if not (HERE / "node_modules" / "cdt-gdb-adapter").exists():
        pytest.skip("cdt-gdb-adapter is not installed (npm install --prefix tests/clients; scripts/test does it)")
    return found


@pytest.mark.parametrize("name", ["local", "gdbserver", "mistake"])
def test_session(node: str, local: Scenario, name: str) -> None:
    if name == "gdbserver" and not shutil.which("gdbserver"):
        pytest.skip("gdbserver is not installed")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("LD_", "NODE_"))}
    environment["GDBCUDA_GDB_COMMAND"] = str(Path(sys.executable).parent / "gdbcuda-gdb")
    environment["GDBCUDA_SHIM"] = str(local.shim)
    done = subprocess.run(
        [node, "--test", f"--test-name-pattern=^{name}$", "--test-reporter=tap", str(HERE / "cdt.js")],
        env=environment, cwd=HERE, capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 1" in done.stdout, done.stdout
