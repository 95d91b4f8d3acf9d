"""The stand-in driver knows what is in device code: PTX, cubins, fatbins, plain and compressed."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from shim_support import clean_environment
from test_standin_answers import nvcc

CLIENT = Path(__file__).parent / "standin" / "code_client.py"
NOT_FOUND, INVALID_IMAGE, NOT_SUPPORTED = 500, 200, 801
HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"


def look(shim: Path, file: Path, *variables: str) -> Any:
    environment = {**clean_environment(), "LD_LIBRARY_PATH": str(shim / "standin")}
    command = [sys.executable, str(CLIENT), str(file), *variables]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def look_at_text(shim: Path, directory: Path, text: str, *variables: str) -> Any:
    file = directory / "code.ptx"
    file.write_text(text)
    return look(shim, file, *variables)


@pytest.mark.parametrize(
    ("text", "functions"),
    [
        ("", {}),
        (".visible .entry one()\n{ ret; }\n.entry two { ret; }", {"one": [], "two": []}),
        (".entry k(.param .u8 a, .param .u64 b, .param .f16x2 c)\n{ ret; }", {"k": [[0, 1], [8, 8], [16, 4]]}),
        (
            ".visible .entry k(\n\t.param .u64 .ptr .global .align 1 a,\n\t.param .align 8 .b8 b[100]\n)\n{ ret; }",
            {"k": [[0, 8], [8, 100]]},
        ),
        (
            ".entry k(.param .u32 n)\n.maxntid 128, 1, 1\n.minnctapersm 2\n{ { ret; } }\n.entry l()\n{}",
            {"k": [[0, 4]], "l": []},
        ),
        ("// .entry no()\n/* .entry neither() */ .entry yes()\n{ // .entry { in a comment\n}", {"yes": []}),
        (".func (.reg .u32 r) helper(.reg .u32 x)\n{ ret; }\n.entry k()\n{ .param .b32 p0; }", {"k": []}),
        ('.file 1 "a.entry b(.cu"\n.entry k()\n{}', {"k": []}),
    ],
)  # fmt: skip
def test_kernels_of_ptx(shim: Path, tmp_path: Path, text: str, functions: dict[str, Any]) -> None:
    found = look_at_text(shim, tmp_path, HEAD + text)
    assert (found["functions"], found["unknown"]) == (functions, NOT_FOUND)


def test_variables_of_ptx(shim: Path, tmp_path: Path) -> None:
    text = """
.const .align 4 .b8 table[16] = {1, 2, 3, 4};
.visible .global .align 8 .f64 total;
.global .attribute(.managed) .align 4 .u32 shared_one;
.extern .global .align 4 .u32 elsewhere;
.extern .shared .align 4 .b8 dynamic[];
.global .u16 grid[2][3];
.entry k()
{ .reg .u32 r; .shared .align 4 .b8 inside[4]; }
"""
    names = ["table", "total", "shared_one", "elsewhere", "dynamic", "grid", "inside"]
    found = look_at_text(shim, tmp_path, HEAD + text, *names)
    sizes = {name: len(value) // 2 if isinstance(value, str) else value for name, value in found["variables"].items()}
    assert sizes == {
        "table": 16, "total": 8, "shared_one": 4, "elsewhere": NOT_FOUND, "dynamic": NOT_FOUND, "grid": 12,
        "inside": NOT_FOUND,
    }  # fmt: skip
    assert found["functions"] == {"k": []}


@pytest.mark.parametrize("text", ["", "hello", "// only a comment", "\x7fELF" + "\0" * 100, "{" * 1000])
def test_what_is_no_code(shim: Path, tmp_path: Path, text: str) -> None:
    assert look_at_text(shim, tmp_path, text) == {"error": INVALID_IMAGE}


def lz4_of_literals(data: bytes) -> bytes:
    """The longest way to write it in LZ4's block format: one sequence of literals."""
    length = len(data) - 15
    return bytes([0xF0, *[255] * (length // 255), length % 255]) + data


def fatbin(payload: bytes, flags: int, plain_size: int) -> bytes:
    entry = struct.pack(
        "<HHIQIIHHIIIQQQ", 1, 0x101, 0x40, len(payload), len(payload) if flags & 0xF000 else 0, 0, 0, 9, 90, 0, 0,
        0x11 | flags, 0, plain_size,
    )  # fmt: skip
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry + payload)) + entry + payload


KERNEL = (HEAD + ".visible .entry k(.param .u64 p)\n{ ret; }\n" + "// more\n" * 50).encode()


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "lz4"])
def test_ptx_in_a_fatbin(shim: Path, tmp_path: Path, compressed: bool) -> None:
    file = tmp_path / "code.fatbin"
    file.write_bytes(
        fatbin(lz4_of_literals(KERNEL), 0x2000, len(KERNEL)) if compressed else fatbin(KERNEL + b"\0", 0, 0)
    )
    assert look(shim, file)["functions"] == {"k": [[0, 8]]}


def test_a_fatbin_that_cannot_be_read_may_have_any_kernel(shim: Path, tmp_path: Path) -> None:
    file = tmp_path / "code.fatbin"
    file.write_bytes(fatbin(b"\xff" * 500, 0x2000, 100000))
    found = look(shim, file, "anything")
    assert found == {"functions": None, "variables": {"anything": NOT_SUPPORTED}, "unknown": 0}


SOURCE = """
struct Big { char c[100]; double d; };
__constant__ int table[4] = {1, 2, 3, 4};
__device__ double total = 0.5;
__device__ short nothing_yet[2];
template <class T> __global__ void scale(T *p, Big b, char c, short s, T f)
{
    p[threadIdx.x] = f + b.d + c + s + table[c] + total + nothing_yet[1];
}
template __global__ void scale<float>(float *, Big, char, short, float);
extern "C" __global__ void plain() { nothing_yet[0] = 1; }
__device__ __noinline__ int helper(int n) { return n * nothing_yet[1]; }
extern "C" __global__ void calls(int n) { nothing_yet[0] = helper(n); }
"""
KERNELS = {
    "_Z5scaleIfEvPT_3BigcsS0_": [[0, 8], [8, 112], [120, 1], [122, 2], [124, 4]],
    "plain": [],
    "calls": [[0, 4]],
}


@pytest.mark.parametrize(
    "options",
    [
        ["-ptx"],
        ["-cubin"],
        ["-cubin", "-G"],
        ["-fatbin"],
        ["-fatbin", "-Xfatbin=-compress-all"],
    ],
    ids=" ".join,
)
def test_what_nvcc_makes(shim: Path, tmp_path: Path, options: list[str]) -> None:
    compiler = nvcc()
    if not compiler:
        pytest.skip("no nvcc here: the CUDA toolkit is not installed")
    source, made = tmp_path / "code.cu", tmp_path / "code.bin"
    source.write_text(SOURCE)
    subprocess.run([compiler, *options, "-o", str(made), str(source)], check=True, capture_output=True)
    found = look(shim, made, "table", "total", "nothing_yet", "helper")
    if found["functions"] is None and "-Xfatbin=-compress-all" in options:
        pytest.skip("compressed with zstd, and there is no libzstd.so.1 here")
    assert found["functions"] == KERNELS
    assert found["variables"]["nothing_yet"] == "00" * 4
    assert found["variables"]["helper"] == NOT_FOUND
    if "-ptx" not in options:  # initial values are not read from text
        assert found["variables"]["table"] == struct.pack("<4i", 1, 2, 3, 4).hex()
        assert found["variables"]["total"] == struct.pack("<d", 0.5).hex()
