"""A CUDA runtime that is linked into a program or a library (nvcc's -cudart static), also where it has no names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gdbcuda import api, elf
from gdbcuda.api.vendor import api_of
from gdbcuda.errors import UserError

CHUNK = 1 << 20
OVERLAP = 64
MOST_SEARCHED = 256 << 20  # bytes, of all files together: a tenth of a second
MOST_OF_ONE = 64 << 20
# Only the runtime has its error names as strings; this one is in every version and in no other library.
MARK = b"cudaErrorCudartUnloading"
# The runtime's answer to cudaRuntimeGetVersion on x86-64: movl $13000,(%rdi)
VERSION_STORE = re.compile(rb"\xc7\x07(..)\x00\x00", re.DOTALL)
WRAPPER = "__wrap_"  # ld --wrap


def is_inside(file: elf.Elf, most: int = MOST_SEARCHED) -> bool:
    """By what `strip` leaves as well."""
    return not api_of(file.path) and any(MARK in piece for piece in pieces(file, ".rodata", most))


def is_nameless(file: elf.Elf, table: api.Table) -> bool:
    """Nobody knows where its functions are."""
    return is_inside(file, MOST_OF_ONE) and not has_names(file, table)


def has_names(file: elf.Elf, table: api.Table) -> bool:
    return any(is_runtimes(symbol.name, table) for symbol in file.symtab.defined() if symbol.is_function)


def is_wrapped(file: elf.Elf, table: api.Table) -> bool:
    """As far as its names are there."""
    names = {*file.exported, *(symbol.name for symbol in file.symtab.defined())}
    return any(one.startswith(WRAPPER) and is_runtimes(one[len(WRAPPER) :], table) for one in names)


def is_runtimes(symbol: str, table: api.Table) -> bool:
    return symbol in table.functions and table.functions[symbol].api == "runtime"


def version(program: elf.Elf) -> str:
    """The number that its cudaRuntimeGetVersion writes, as "12.9"."""
    if program.machine != "x86-64":
        return ""
    for piece in pieces(program, ".text", MOST_SEARCHED):
        for found in VERSION_STORE.finditer(piece):
            number = int.from_bytes(found[1], "little")
            if 8000 <= number < 30000 and not number % 10:
                return f"{number // 1000}.{number % 1000 // 10}"
    return ""


def pieces(file: elf.Elf, section: str, most: int) -> Iterator[bytes]:
    """The section in pieces that overlap, so that nothing searched for is cut in two."""
    try:
        contents = file.contents(section)
    except UserError:
        return
    if contents is None:
        return
    for at in range(0, min(contents.readable, most), CHUNK):
        yield contents.read(at, CHUNK + OVERLAP)
