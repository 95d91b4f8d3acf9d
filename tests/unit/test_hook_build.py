"""The build of the shim, and what the built hook library looks like to a debugger and to readelf."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from shim_support import HOOK, ROOT, SHIM, clean_environment, make

from gdbcuda import api
from gdbcuda.shell.demo import folder as demo

RESOLVERS = {"dlsym", "dlvsym"}


def exported_functions(path: Path) -> dict[str, int]:
    with path.open("rb") as file:
        symbols = ELFFile(file).get_section_by_name(".dynsym").iter_symbols()
        return {
            s.name: s["st_value"]
            for s in symbols
            if s["st_info"]["type"] == "STT_FUNC" and s["st_shndx"] != "SHN_UNDEF"
        }


def test_exports_the_whole_api_and_nothing_else(shim: Path) -> None:
    assert set(exported_functions(shim / HOOK)) == set(api.load().functions) | RESOLVERS


def test_parameters_have_their_names_in_the_debug_information(shim: Path) -> None:
    with (shim / HOOK).open("rb") as file:
        units = list(ELFFile(file).get_dwarf_info().iter_CUs())
        names = set(api.load().functions) | RESOLVERS
        functions = [die for unit in units for die in unit.get_top_DIE().iter_children() if is_body_of(die, names)]
        described = {name_of(die): [name_of(c) for c in die.iter_children() if is_parameter(c)] for die in functions}
    table = api.load().functions
    assert set(described) == names
    assert all(described[symbol] == [p.name for p in function.parameters] for symbol, function in table.items())


def is_body_of(die: object, names: set[str]) -> bool:
    return die.tag == "DW_TAG_subprogram" and "DW_AT_low_pc" in die.attributes and name_of(die) in names  # type: ignore[attr-defined]


def is_parameter(die: object) -> bool:
    return bool(die.tag == "DW_TAG_formal_parameter")  # type: ignore[attr-defined]


def name_of(die: object) -> str:
    return str(die.attributes["DW_AT_name"].value.decode())  # type: ignore[attr-defined]


NOT_NEW_DEVICE_MEMORY = ("Host", "External", "Ipc", "Import", "Address", "Retain", "Multicast")


def test_every_allocation_of_device_memory_is_written_by_hand() -> None:
    """The limit has no hole: an allocation function that the table gains must not merely be forwarded."""
    written = "".join(path.read_text() for path in (SHIM / "hook").glob("*.c"))
    symbols = [f.symbol for f in api.load().functions.values() if f.api == "driver" and f.role in ("alloc", "free")]
    symbols = [symbol for symbol in symbols if not any(word in symbol for word in NOT_NEW_DEVICE_MEMORY)]
    assert len(symbols) > 20
    assert [symbol for symbol in symbols if f" {symbol}(" not in written] == []


def test_second_make_does_nothing(shim: Path) -> None:
    again = make(SHIM)
    assert again.returncode == 0
    assert "gcc" not in again.stdout


@pytest.mark.parametrize("target, has_all", [("all", True), ("demo", False), ("cuda", False)])
def test_the_demo_does_not_wait_for_what_breaks_one_promise_each(shim: Path, target: str, has_all: bool) -> None:
    """With nvcc neither: they are most of what is compiled."""
    made = make(SHIM, "--always-make", "--dry-run", target).stdout
    assert "-o build/sample/runtime_alloc " in made
    assert ("-o build/sample/wrong/books/races.so " in made) == has_all


def test_builds_another_version_in_a_directory_with_a_space(tmp_path: Path) -> None:
    copy = tmp_path / "a clone"
    for part in ("shim", "gdbcuda"):
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("build", "__pycache__"))
    python = copy / "user's $HOME" / "python 3"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch, (tmp_path / "make.log").open("w+") as log:
        patch.setattr(sys, "executable", str(python))
        made = demo.make(copy, "CUDA=11.8", "NVML=12.9", "build/" + HOOK, output=log)
    assert made == 0, (tmp_path / "make.log").read_text()
    expected = set(api.load("11.8", "12.9").functions) | RESOLVERS
    assert set(exported_functions(copy / "shim" / "build" / HOOK)) == expected


@pytest.mark.parametrize("tool", ["CC=no-such-gcc", "PYTHON=no-such-python"])
def test_a_missing_tool_is_named_in_one_line(tool: str) -> None:
    made = make(SHIM, tool, "--no-print-directory")
    assert made.returncode == 2
    assert made.stderr.count("\n") == 1
    assert tool.partition("=")[2] in made.stderr


def test_what_make_has_said_of_it_is_the_cause(tmp_path: Path) -> None:
    log = tmp_path / "make.log"
    log.write_text("make: Entering directory 'x'\nMakefile:2: *** no gcc.  Stop.\nmake: Leaving directory 'x'\n")
    assert demo.cause(log) == "Makefile:2: *** no gcc.  Stop."


@pytest.mark.skipif(not shutil.which("gdb"), reason="gdb is not installed")
@pytest.mark.parametrize(
    ("where", "arguments"),
    [("cuMemcpyHtoD_v2", "ByteCount=4096"), ("cuMemAlloc_v2", "bytesize=67108864"), ("dlsym", "symbol=")],
)
def test_plain_gdb_stops_where_arguments_are_right(shim: Path, where: str, arguments: str) -> None:
    """No extension: what gdb makes of the library by itself."""
    program = "test_alloc" if where != "dlsym" else "nvml_dlopen"
    commands = [
        f"set environment LD_PRELOAD {shim / HOOK}",
        f"set environment LD_LIBRARY_PATH {shim / 'standin'}",
        "set breakpoint pending on",
        "set startup-with-shell off",
        "break main",
        "run",
        f"break -q {where}",
        "continue",
        "backtrace 1",
    ]
    run = subprocess.run(
        ["gdb", "-nx", "-batch", *(word for c in commands for word in ("-ex", c)), str(shim / "sample" / program)],
        env=clean_environment(), capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    frame = next((line for line in run.stdout.splitlines() if line.startswith("#0")), run.stdout + run.stderr)
    assert where in frame and arguments in frame


@pytest.mark.skipif(not shutil.which("gdb"), reason="gdb is not installed")
@pytest.mark.parametrize("function", ["cuMemAlloc_v2", "cuLaunchKernel", "dlsym"])
def test_plain_gdb_lists_a_function_by_its_name(shim: Path, function: str) -> None:
    run = subprocess.run(
        ["gdb", "-nx", "-batch", "-ex", f"list {function}", str(shim / HOOK)],
        env=clean_environment(), capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert re.search(rf"^\d+\s+HOOK .*\b{function}\(", run.stdout, re.MULTILINE), run.stdout + run.stderr


def test_no_assembly_refers_to_what_is_for_others() -> None:
    """Such a symbol is protected: binutils before 2.36, Debian 11's, link nothing where assembly refers to one."""
    words = re.compile(r"^ +(?!\.(?:globl|protected|type|size) )[^\s*].*\b(gdbcuda_\w+_v\d+)\b", re.MULTILINE)
    assembly = {path.name: words.findall(path.read_text()) for path in SHIM.glob("*/*.S")}
    assert "doors.S" in assembly and not any(assembly.values()), assembly
