"""The stand-in answers as the real libraries do.

The programs in standin/ ask libcuda, libcudart and libnvidia-ml some 800 questions, most of them wrong on
purpose, and print each answer. The .txt files beside them are what they printed on an NVIDIA H200: driver
580.159.04, libcudart 13.0.96 and 12.9.79, NVML 13.580.159.04. Record one again with
    gcc -I BUILD/standin/room/libcudart.so.13 tests/unit/standin/driver_answers.c -lcuda && ./a.out
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from shim_support import clean_environment

HERE = Path(__file__).parent / "standin"


def run_over(shim: Path, program: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**clean_environment(), "LD_LIBRARY_PATH": str(shim / "standin"), **environment}
    return subprocess.run([str(program)], env=variables, capture_output=True, text=True, timeout=60)


def build(shim: Path, program: Path, source: str, library: str, room: str) -> None:
    standin = shim / "standin"
    subprocess.run(
        ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g", f"-I{standin / 'room' / room}", str(HERE / source),
         f"-L{standin}", f"-l:{library}", "-lpthread", "-o", str(program)],
        check=True,
    )  # fmt: skip


def nvcc() -> str | None:
    return shutil.which("nvcc") or shutil.which("nvcc", path=os.path.join(os.sep, "usr", "local", "cuda", "bin"))


@pytest.mark.parametrize(
    ("source", "library", "room", "expected"),
    [
        ("driver_answers.c", "libcuda.so.1", "libcuda.so.1", "driver_answers.txt"),
        ("runtime_answers.c", "libcudart.so.13", "libcudart.so.13", "runtime_answers_13.txt"),
        ("runtime_answers.c", "libcudart.so.12", "libcudart.so.12", "runtime_answers_12.txt"),
        ("nvml_answers.c", "libnvidia-ml.so.1", "libnvidia-ml.so.1", "nvml_answers.txt"),
    ],
)
def test_same_answers(shim: Path, tmp_path: Path, source: str, library: str, room: str, expected: str) -> None:
    program = tmp_path / "answers"
    build(shim, program, source, library, room)
    done = run_over(shim, program)
    assert done.stdout.splitlines() == (HERE / expected).read_text().splitlines()
    assert (done.returncode, done.stderr) == (0, "")


def test_a_program_of_nvcc_runs_unmodified(shim: Path, tmp_path: Path) -> None:
    compiler = nvcc()
    if not compiler:
        pytest.skip("no nvcc here: the CUDA toolkit is not installed")
    program = tmp_path / "launch_answers"
    command = [compiler, "-cudart", "shared", "-o", str(program), str(HERE / "launch_answers.cu")]
    subprocess.run(command, check=True, capture_output=True)
    done = run_over(shim, program)
    assert done.stdout.splitlines() == (HERE / "launch_answers.txt").read_text().splitlines()
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("source", "library"),
    [
        ("arena.c", "libcuda.so.1"),
        ("copies.c", "libcuda.so.1"),
        ("threads.c", "libcuda.so.1"),
        ("runtime_copies.c", "libcudart.so.13"),
        ("runtime_copies.c", "libcudart.so.12"),
    ],
)
def test_the_program_checks_itself(shim: Path, tmp_path: Path, source: str, library: str) -> None:
    program = tmp_path / "program"
    build(shim, program, source, library, library)
    done = run_over(shim, program, GDBCUDA_STANDIN_DEVICES="2")
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_where_addresses_are_short_most_are_left_to_the_program(shim: Path, tmp_path: Path) -> None:
    program, gigabyte = tmp_path / "program", 1 << 30
    build(shim, program, "arena.c", "libcuda.so.1", "libcuda.so.1")
    variables = {**clean_environment(), "LD_LIBRARY_PATH": str(shim / "standin")}
    command = ["sh", "-c", f"ulimit -v {12 * gigabyte // 1024}; exec {program}"]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
