"""What hardening does to it."""

from __future__ import annotations

import struct
from pathlib import Path

from elf_build import compiled

from check_cases.building import ALLOC, case, library
from gdbcuda.check.file import check
from gdbcuda.check.finding import Report


@case("exec-stack")
def executable_stack(folder: Path) -> Report:
    return library(folder, ALLOC, "-Wl,-z,execstack")


@case("text-relocations")
def text_relocations(folder: Path) -> Report:
    path = compiled(folder, ALLOC, "-Wl,-z,now")
    data = bytearray(path.read_bytes())
    flags = data.find(struct.pack("<QQ", 30, 8))  # DT_FLAGS, DF_BIND_NOW
    data[flags : flags + 16] = struct.pack("<QQ", 30, 4)
    path.write_bytes(data)
    return check(path)


@case("no-relro")
def no_relro(folder: Path) -> Report:
    return library(folder, ALLOC, "-Wl,-z,norelro")


@case("bind-now")
def bind_now(folder: Path) -> Report:
    return library(folder, ALLOC, "-Wl,-z,now")
