"""What the file is."""

from __future__ import annotations

import struct
from pathlib import Path

from elf_build import compiled

from check_cases.building import ALLOC, case, library
from gdbcuda.check.file import check
from gdbcuda.check.finding import Report


@case("not-loadable")
def object_file(folder: Path) -> Report:
    return check(compiled(folder, ALLOC, "-c", name="a.o"))


@case("32-bit")
def object_of_32_bits(folder: Path) -> Report:
    return check(compiled(folder, ALLOC, "-c", "-m32", "-ffreestanding", name="a.o"))


def header(folder: Path, machine: int, order: int) -> Path:
    """A shared object of another machine that is nothing but its header."""
    endian = "<" if order == 1 else ">"
    path = folder / "other.so"
    fields = struct.pack(endian + "HHIQQQIHHHHHH", 3, machine, 1, 0, 0, 0, 0, 64, 56, 0, 64, 0, 0)
    path.write_bytes(b"\x7fELF\x02" + bytes([order, 1]) + bytes(9) + fields)
    return path


@case("big-endian")
def of_a_mainframe(folder: Path) -> Report:
    return check(header(folder, 22, 2))


@case("other-machine")
def of_another_machine(folder: Path) -> Report:
    return check(header(folder, 243, 1))  # RISC-V


@case("vendor-library")
def a_driver(folder: Path) -> Report:
    return library(folder, ALLOC, "-Wl,-soname,libcuda.so.1")
