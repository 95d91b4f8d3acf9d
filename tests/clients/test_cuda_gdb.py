"""cuda-gdb's own commands, before the extension is loaded and after: the same; and its own gdbserver."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from scenario import GDB, ROOT, Scenario, execute

PREFIXES = ("cuda ", "info cuda ", "set cuda ", "show cuda ")
SAMPLES = ("cuda kernel", "cuda device", "cuda kernel 1 block 0,0,0 thread 1,0,0", "info cuda devices", "info cuda",
           "info cuda kernels", "set cuda memcheck on", "show cuda memcheck", "show cuda break_on_launch",
           "set cuda break_on_launch application", "show cuda break_on_launch", "cuda")  # fmt: skip


@pytest.fixture(scope="module")
def cuda_gdb(unpacked_gdbs: Path) -> str:
    others = ["cuda-gdb", str(unpacked_gdbs / "cuda-11.8" / "bin" / "cuda-gdb")]
    for candidate in [GDB] if "GDBCUDA_GDB" in os.environ else [GDB, *others]:
        asked = [candidate, "-nx", "-batch", "-ex", "complete info cuda"]
        if shutil.which(candidate) and "info cuda" in subprocess.run(asked, capture_output=True, text=True).stdout:
            return candidate
    pytest.skip(f"{GDB} is no cuda-gdb (scripts/matrix cuda-11.8 unpacks one)")


def answers(cuda_gdb: str, local: Scenario, *commands: str, loaded: bool) -> list[str]:
    """What each command says."""
    line = [cuda_gdb, "-nx", "-q", "-batch", *(["-x", f"{ROOT}/gdbcuda.py"] if loaded else [])]
    for command in ("set max-completions unlimited", *commands):
        line += ["-ex", command, "-ex", "echo ====\\n"]
    return execute(line, local.environment()).split("====\n")[1:-1]


@pytest.mark.smoke
def test_lists_help_and_what_they_do(cuda_gdb: str, local: Scenario) -> None:
    asked = [f"{verb} {prefix}" for prefix in PREFIXES for verb in ("help", "complete")] + [*SAMPLES]
    before, after = (answers(cuda_gdb, local, *asked, loaded=loaded) for loaded in (False, True))
    assert len(before) == len(asked) and all(text.strip() for text in before[: 2 * len(PREFIXES)])
    assert dict(zip(asked, after)) == dict(zip(asked, before))


def test_every_name_that_was_there_still_is(cuda_gdb: str, local: Scenario) -> None:
    asked = ["complete ", "complete info ", "complete set ", "complete show "]
    for old, new in zip(*(answers(cuda_gdb, local, *asked, loaded=loaded) for loaded in (False, True))):
        assert len(old.splitlines()) > 30
        assert not set(old.splitlines()) - set(new.splitlines())


def test_it_is_told_of_its_own_server(cuda_gdb: str, local: Scenario) -> None:
    """ "Server doesn't support CUDA" is what it says to any other."""
    (text,) = answers(cuda_gdb, local, f"cuda-remote --program {local.sample('test_alloc')}", loaded=True)
    assert f"\n  cuda-gdbserver --once :1234 {local.sample('test_alloc')}\n" in text


def test_system_calls_are_not_watched(cuda_gdb: str, local: Scenario) -> None:
    """With a GPU it hangs there while the driver starts."""
    words = [f"cuda-load {local.hook}", "cuda-break cuMemAlloc if bytesize == 5", "tbreak cuMemFree_v2", "run",
             "cuda-guards", "maint info breakpoints"]  # fmt: skip
    line = [cuda_gdb, "-nx", "-q", "-batch", "-x", f"{ROOT}/gdbcuda.py"]
    for command in words:
        line += ["-ex", command]
    text = execute([*line, "--args", str(local.sample("test_alloc"))], local.environment())
    assert re.search("^1 +in the process", text, re.MULTILINE), text
    places = {name for name in ("clone", "syscall") if re.search(rf"^-\d+\.1 .*(in |<){name}\b", text, re.MULTILINE)}
    assert places == {"clone"}, text


def test_children_run_without_it(cuda_gdb: str, local: Scenario) -> None:
    """With a GPU it hangs where it keeps them."""
    words = [sys.executable, "-m", "gdbcuda", "run", "--batch", "--break", "cuMemAlloc if bytesize > 2G", "--"]
    child = f"{local.sample('test_alloc')}; exit 7"
    for program, stops in (["sh", "-c", f"({child})"], 0), (["sh", "-c", f"exec {local.sample('test_alloc')}"], 1):
        done = subprocess.run([*words, *program], env={**local.environment(), "GDBCUDA_GDB": cuda_gdb}, text=True,
                              capture_output=True, timeout=120)  # fmt: skip
        assert (done.returncode, done.stderr.count("\nBreakpoint 1  ")) == (0 if stops else 7, stops), done.stderr
        assert "what the program starts\nruns without it" in done.stderr and "allocated" in done.stdout, done.stderr
