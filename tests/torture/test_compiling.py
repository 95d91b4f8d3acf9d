"""What is counted is what the program has called, whatever the compiler makes of a library."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import building
import compiling
import pytest
from kinds import files

NAMES = ("cuMemAlloc_v2", "cuMemAllocHost_v2", "cuMemHostAlloc")


def library(folder: Path, level: str, *options: str) -> Path:
    """Functions of one shape."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    shape = next(kind for kind in files("shapes") if kind.name == "compiled")
    build = building.Build(1, 0, folder / "build", levels=(level, level), options=list(options))
    build.functions = [(name, shape) for name in NAMES]
    building.write(build)
    compiling.compile_library(build)
    return build.library


def code(path: Path, function: str) -> str:
    shown = ["objdump", "-d", "--no-show-raw-insn", str(path)]
    text = subprocess.run(shown, capture_output=True, text=True, check=True).stdout
    return text.partition(f"<{function}>:\n")[2].partition("\n\n")[0]


def test_no_function_is_another_ones(tmp_path: Path) -> None:
    path = library(tmp_path, "-Os")
    first, second, third = (len(code(path, name).splitlines()) for name in NAMES)
    assert first == second == third > 5


def test_a_breakpoint_is_met_once_a_call(tmp_path: Path) -> None:
    """gdb has it at the first line, to which nothing jumps back."""
    path = library(tmp_path, "-O0", "debug")
    line = [os.environ.get("GDBCUDA_GDB", "gdb"), "-nx", "-batch", "-ex", f"break {NAMES[0]}", str(path)]
    said = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    place = re.search(r"Breakpoint 1 at 0x([0-9a-f]+): file", said)
    assert place and not re.search(rf"\tj\w+ +{place[1]}\b", code(path, NAMES[0])), said
