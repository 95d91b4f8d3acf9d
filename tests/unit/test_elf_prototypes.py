"""Prototypes of a file's functions from its debug info, for arguments that are where the ABI puts them."""

from __future__ import annotations

from pathlib import Path

import pytest
from elf_build import compiled

from gdbcuda import api, elf
from gdbcuda.elf.dwarf.prototypes import Prototype, prototypes

SOURCE = """
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
typedef unsigned long long CUdeviceptr;
typedef size_t bytes_t;
struct mine { int a; long b; };
enum colour { RED, BLUE };
__attribute__((NOIPA)) int all(const int device, size_t bytes, bytes_t more, CUdeviceptr p, const char *name,
    struct mine *m, enum colour c, bool b, double d, uint8_t x, void (*f)(int), size_t *sizes) {
    return device + bytes + more + p + name[0] + m->a + c + b + d + x + !f + *sizes;
}
__attribute__((NOIPA)) void nothing(void) { __asm__ volatile(""); }
__attribute__((NOIPA)) int by_value(struct mine m) { return m.a; }
static int inlined(int a) { return a * 3; }
int (*kept)(int) = inlined;
int uses(int a) { return inlined(a + 1); }
"""
ALL = Prototype("int", (
    ("device", "int"), ("bytes", "size_t"), ("more", "size_t"), ("p", "CUdeviceptr"), ("name", "const char *"),
    ("m", "void *"), ("c", "unsigned int"), ("b", "_Bool"), ("d", "double"), ("x", "uint8_t"), ("f", "void *"),
    ("sizes", "size_t *"),
))  # fmt: skip


def found(file: Path, name: str) -> set[Prototype | None]:
    types = api.load().types
    return prototypes(elf.open(file).dwarf, lambda symbol: symbol == name, lambda spelling: spelling in types)


@pytest.mark.parametrize("flags", [("-O0",), ("-O2",), ("-O2", "-gdwarf-4"), ("-O1", "-fdebug-types-section")])
def test_of_each_kind_of_parameter(tmp_path: Path, flags: tuple[str, ...]) -> None:
    file = compiled(tmp_path, SOURCE, "-g", "-DNOIPA=noipa", *flags)
    all_of_it = found(file, "all")
    assert [one._replace(parameters=()) for one in all_of_it if one] == [Prototype("int", ())]
    assert dict(next(iter(all_of_it)).parameters) | {"c": ""} == dict(ALL.parameters) | {"c": ""}  # type: ignore[union-attr]
    assert found(file, "nothing") == {Prototype("void", ())}
    assert found(file, "by_value") == {None}, "a struct of the library's own"
    assert found(file, "nobody") == set()


def test_an_inlined_function_has_its_arguments_anywhere(tmp_path: Path) -> None:
    file = compiled(tmp_path, SOURCE, "-g", "-DNOIPA=noipa", "-O2")
    assert found(file, "inlined") == {None}
    plain = compiled(tmp_path / "plain", SOURCE, "-g", "-DNOIPA=noipa", "-O0")
    assert found(plain, "inlined") == {Prototype("int", (("a", "int"),))}


def test_without_debug_info_nothing_is_known(tmp_path: Path) -> None:
    assert found(compiled(tmp_path, SOURCE, "-g0", "-DNOIPA=noipa"), "all") == set()
