"""How long a function is by what unwinders know, held against the symbols of libraries of this very process."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from elf_build import compiled
from process_memory import AT_PHDR, AT_PHNUM, ProcessMemory, auxiliary

from gdbcuda import elf
from gdbcuda.linkage import image
from gdbcuda.machine import unwind_tables
from gdbcuda.memory.paged_memory import PagedMemory

THROWS = """
struct Kept { ~Kept(); };
extern void call(void);
Kept::~Kept() { call(); }
extern "C" void cleans() { Kept one; call(); }
extern "C" int plain(int n) { return n ? plain(n - 1) + 1 : 0; }
void call() {}
"""


def loaded(path: str) -> image.Image:
    values, wanted = auxiliary(), Path(path).name
    objects = image.images(PagedMemory(ProcessMemory()), values[AT_PHDR], values[AT_PHNUM])
    return next(one for one in objects if Path(one.name).name == wanted)


@pytest.mark.parametrize("flags", [("-O0",), ("-O2", "-fno-exceptions"), ("-O2", "-mcmodel=large")])
def test_all_functions_of_a_library(tmp_path: Path, flags: tuple[str, ...]) -> None:
    name = f"libunwound{abs(hash(flags))}.so"
    path = str(compiled(tmp_path, THROWS, *flags, "-lstdc++", name=name, source_name="throws.cc"))
    kept = ctypes.CDLL(path)
    one, exported = loaded(path), elf.open(path).exported
    functions = {symbol.value: symbol.size for symbol in exported.values() if symbol.size}
    assert kept and len(functions) >= 4
    for address, size in functions.items():
        assert unwind_tables.function_size(one, one.base + address) == size
        assert unwind_tables.function_size(one, one.base + address + 1) == 0, "nothing begins there"


def test_an_object_that_tells_nothing() -> None:
    vdso_like = image.Image(PagedMemory(ProcessMemory()), "libgone.so", 4096, 4096)
    assert unwind_tables.function_size(vdso_like, 4096) == 0
