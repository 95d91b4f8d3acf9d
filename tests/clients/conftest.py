"""What real clients need: the shim's files, a gdb that speaks DAP, a gdbserver to connect to."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import pytest
from scenario import GDB, GDBSERVER, ROOT, Scenario

sys.path.append(str(ROOT / "scripts"))
from debian_gdb import CACHE, locked


@pytest.fixture(scope="session")
def unpacked_gdbs() -> Path:
    """The folder with them; .ci/run has it locked while scripts/matrix is unpacking them."""
    with locked("all"):
        return CACHE


@pytest.fixture
def local(request: pytest.FixtureRequest, shim: Path) -> Scenario:
    return Scenario(shim, in_full=request.node.get_closest_marker("smoke") is not None)


@pytest.fixture(scope="session")
def dap_gdb(unpacked_gdbs: Path) -> str:
    """The gdb under test; where none is named, what scripts/matrix has unpacked will do."""
    unpacked = [] if "GDBCUDA_GDB" in os.environ else [str(unpacked_gdbs / "16.3" / "bin" / "gdb")]
    for candidate in (GDB, *unpacked):
        if shutil.which(candidate) and speaks_dap(candidate):
            return candidate
    pytest.skip(f"{GDB} does not speak DAP (gdb 15 does; scripts/matrix 16.3 unpacks one)")


def speaks_dap(gdb: str) -> bool:
    asked = [gdb, "-nx", "-batch", "-ex", "python import gdb.dap.disassemble; print('it does')"]  # since gdb 14
    return "it does" in subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False).stdout


@pytest.fixture
def server(local: Scenario) -> Iterator[Callable[..., str]]:
    """server(PROGRAM, ARGUMENTS...) starts it under a gdbserver that preloads the hook: HOST:PORT."""
    if not shutil.which("gdbserver"):
        pytest.skip("gdbserver is not installed (apt-get install gdbserver)")
    started: list[subprocess.Popen[bytes]] = []

    def start(program: str, *arguments: str) -> str:
        address = f"127.0.0.1:{free_port()}"
        line = [GDBSERVER, "--once", "--wrapper", "env", f"LD_PRELOAD={local.hook}", "--", address]
        one = subprocess.Popen([*line, str(local.sample(program)), *arguments], env=local.environment(),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)  # fmt: skip
        started.append(one)
        while b"Listening" not in (said := one.stderr.readline()):
            assert said, "gdbserver ended"
        return address

    yield start
    for one in started:
        one.kill()
        one.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
