"""A signal ends gdb while a program runs that it has attached to: nothing of ours stays in it, and it goes on."""

from __future__ import annotations

import platform
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from scenario import EXTENSION, GDB, NO_DEBUG_FILES, Scenario, checked, is_before_13

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="entries are patched on x86-64")
GUARD = "cuda-break cuMemAlloc if bytesize == 1"
LOG = "cuda-log start --fast cuMemAlloc"
NEITHER = "cuda-break cuInit"


@contextmanager
def ended(gdb: subprocess.Popen[str]) -> Iterator[None]:
    """Also where the test fails: else Popen would wait for ever for a gdb that goes on."""
    try:
        yield
    finally:
        gdb.kill()


@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGTERM, (GUARD,)), (signal.SIGHUP, (LOG,)), (signal.SIGTERM, (LOG, NEITHER))],
    ids=["SIGTERM, guard", "SIGHUP, --fast", "SIGTERM, --fast"],
)
def test_it_runs_on_as_it_was(local: Scenario, working, number: int, words: tuple[str, ...]) -> None:
    """(gdb 13, ended by SIGTERM, looks for a Ctrl-C as it lets the process go, and finds the SIGTERM.)"""
    if is_before_13():
        pytest.skip("gdb before 12 tells nobody that it ends")
    program = working(**({"LD_PRELOAD": str(local.shim / "libgdbcuda.so")} if LOG in words else {}))
    line = [GDB, "-nx", "-q", "-iex", "set debuginfod enabled off", *NO_DEBUG_FILES, *EXTENSION]
    for word in (f"attach {program.pid}", *words, "continue"):
        line += ["-ex", word]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(line, env=local.environment(), **pipes) as gdb, ended(gdb):
        told = ""
        while "Continuing" not in told and (row := gdb.stdout.readline()):
            told += row
        if "Operation not permitted" in told:
            pytest.skip("this machine does not let us attach")
        deadline = time.monotonic() + 20
        while program.driver_code() == program.code and time.monotonic() < deadline:
            time.sleep(0.01)
        assert program.driver_code() != program.code, told
        gdb.send_signal(number)
        told += gdb.communicate(timeout=60)[0]
    assert "internal-error" not in checked(told)
    program.goes_on()
