"""A process that gdbcuda trace records: the recorder stands between, and is not what is reached."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from scenario import EXTENSION, GDB, NO_DEBUG_FILES, ROOT, Scenario, execute
from shim_support import OLDER_LIBC
from traced_programs import needs_recorder

pytestmark = needs_recorder


PROGRAM = """
#include <unistd.h>
int cuInit(unsigned), cuMemAlloc_v2(unsigned long long *, unsigned long);
int main(void)
{
    unsigned long long block;
    cuInit(0), cuMemAlloc_v2(&block, 4096); /* refused: there is no context */
    return write(1, "here", 4) != 4 || pause();
}
"""


@contextmanager
def traced(scenario: Scenario, folder: Path, *options: str) -> Iterator[int]:
    """A program that has called what it calls, and waits."""
    program = folder / "waiting"
    line = ["gcc", "-w", "-z", "lazy", "-x", "c", "-", "-x", "none", str(scenario.shim / "standin/libcuda.so.1")]
    subprocess.run([*line, *OLDER_LIBC, "-o", str(program)], input=PROGRAM, text=True, check=True)
    words = ["trace", "--hook", str(scenario.hook), "-o", str(folder / "calls"), *options, "--", str(program)]
    environment = {**scenario.environment(), "PYTHONPATH": str(ROOT)}
    line = [sys.executable, "-m", "gdbcuda", *words]
    process = subprocess.Popen(line, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None and process.stdout.read(4) == b"here"
        yield process.pid
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("options", [(), ("--filter", "bytesize > 1G")], ids=["all", "filtered"])
def test_what_it_calls_is_what_is_reached(shim: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    scenario = Scenario(shim)
    with traced(scenario, tmp_path, *options) as pid:
        asked = [word for line in ("cuda-route", "cuda-route --unhooked", "cuda-check") for word in ("-ex", line)]
        words = [GDB, "-nx", "-q", "-batch", *NO_DEBUG_FILES, "-p", str(pid), *EXTENSION, *asked]
        text = execute(words, scenario.environment())
    assert "functions reachable: 2 hooked, 0 past the hook" in text, text
    assert "hook libgdbcuda-hook.so cuMemAlloc_v2" in text and "Nothing goes past the hook." in text
    assert "the hook is in place" in text and "hook-not-first" not in text
