"""The environment of the stand-in, and what a device's size means."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from shim_support import clean_environment

START = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
size, number, context, block = ctypes.c_size_t(), ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
print("init", cuda.cuInit(0))
print("count", cuda.cuDeviceGetCount(ctypes.byref(number)), number.value)
def total():
    cuda.cuDeviceTotalMem_v2(ctypes.byref(size), 0)
    return size.value
def allocate(amount, device=0):
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    cuda.cuCtxSetCurrent(context)
    return cuda.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(amount))
def uuid(device):
    text = ctypes.create_string_buffer(16)
    cuda.cuDeviceGetUuid_v2(text, device)
    return text.raw[15]
"""


def ask(shim: Path, script: str, **environment: str) -> tuple[list[str], str]:
    variables = {**clean_environment(), "LD_LIBRARY_PATH": str(shim / "standin"), **environment}
    command = [sys.executable, "-c", START + script]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


def test_one_device_of_16_gib_by_default(shim: Path) -> None:
    assert ask(shim, "print(total())") == (["init 0", "count 0 1", str(16 << 30)], "")


@pytest.mark.parametrize(
    ("text", "size"), [("4g", 4 << 30), ("512M", 512 << 20), ("100k", 100 << 10), ("1000000", 1000000)]
)
def test_memory(shim: Path, text: str, size: int) -> None:
    lines, _ = ask(shim, "print(total())", GDBCUDA_STANDIN_MEMORY=text)
    assert lines[-1] == str(size)


@pytest.mark.parametrize("text", ["", "much", "0", "-1", "4gg", "99999999999g"])
def test_memory_that_makes_no_sense_is_said_and_ignored(shim: Path, text: str) -> None:
    lines, errors = ask(shim, "print(total())", GDBCUDA_STANDIN_MEMORY=text)
    assert lines[-1] == str(16 << 30)
    assert errors == f"gdbcuda stand-in: GDBCUDA_STANDIN_MEMORY={text} is not understood, the default is used\n"


def test_a_full_device_is_out_of_memory_until_something_is_freed(shim: Path) -> None:
    script = """
print(allocate(3 << 20), allocate(1 << 20), allocate(1))
cuda.cuMemFree_v2(block)
first = block.value
print(cuda.cuMemFree_v2(ctypes.c_void_p(first)), allocate(1))
"""
    lines, _ = ask(shim, script, GDBCUDA_STANDIN_MEMORY="4m")
    assert lines[2:] == ["0 0 2", "1 0"]


def test_each_device_has_its_own_memory(shim: Path) -> None:
    script = "print(allocate(4 << 20, 0), allocate(1, 0), allocate(4 << 20, 1), allocate(1, 1))"
    lines, _ = ask(shim, script, GDBCUDA_STANDIN_MEMORY="4m", GDBCUDA_STANDIN_DEVICES="2")
    assert lines[1:] == ["count 0 2", "0 2 0 2"]


@pytest.mark.parametrize(
    ("visible", "uuids"),
    [
        ("2,0", [2, 0]),
        ("1", [1]),
        ("0,9,1", [0]),  # the list ends at the first entry that is no device
        ("GPU-67646263-7564-612d-7374-616e64696e02", [2]),
    ],
)
def test_visible_devices(shim: Path, visible: str, uuids: list[int]) -> None:
    script = "print([uuid(device) for device in range(number.value)])"
    lines, _ = ask(shim, script, GDBCUDA_STANDIN_DEVICES="3", CUDA_VISIBLE_DEVICES=visible)
    assert lines[-1] == str(uuids)


@pytest.mark.parametrize("hidden", [{"CUDA_VISIBLE_DEVICES": ""}, {"GDBCUDA_STANDIN_DEVICES": "0"}])
def test_no_device(shim: Path, hidden: dict[str, str]) -> None:
    lines, _ = ask(shim, "", **hidden)
    assert lines == ["init 100", "count 100 0"]
