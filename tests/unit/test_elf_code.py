"""What is read off machine code; aarch64 by instructions that are written down here."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from elf_build import compiled

from gdbcuda import elf
from gdbcuda.elf.code import arm, x86

MOV_W0_MINUS_1, MOV_X0_MINUS_1, RET, NOP = 0x12800000, 0x92800000, 0xD65F03C0, 0xD503201F


def words(*instructions: int) -> bytes:
    return struct.pack(f"<{len(instructions)}I", *instructions)


def test_arm_calls() -> None:
    forth, back, jump = 0x94000002, 0x97FFFFFF, 0x14000001
    assert list(arm.calls(words(forth, back, NOP, jump), 0x1000)) == [
        (0x1008, False),
        (0x1000, False),
        (0x1010, False),
    ]


def test_arm_plt_entry() -> None:
    # adrp x16, 0x11000; ldr x17, [x16, #0xfc8]; at 0x610
    entry = words(0x90000090, 0xF947E611)
    assert arm.stub_slot(entry, 0x610) == 0x10FC8
    assert arm.stub_slot(words(0xD503245F) + entry, 0x60C) == 0x10FC8
    assert arm.stub_slot(words(NOP, NOP), 0x610) is None


def test_arm_minus_one() -> None:
    assert arm.minus_one_returned(words(NOP, MOV_W0_MINUS_1, RET)) == 4
    assert arm.minus_one_returned(words(MOV_W0_MINUS_1, 0x14000003, NOP, NOP, NOP, RET)) == 0
    assert arm.minus_one_returned(words(MOV_W0_MINUS_1, *[NOP] * 9, RET)) is None
    assert arm.passes_minus_one(words(NOP, MOV_X0_MINUS_1))
    assert arm.compares_with_null(words(0xB4000040))
    assert not arm.compares_with_null(words(NOP))
    assert arm.compares_next_with_null(words(MOV_X0_MINUS_1, NOP, 0xB4000040))
    assert not arm.compares_next_with_null(words(0xB4000040, MOV_X0_MINUS_1, NOP))


@pytest.mark.parametrize("module", [arm, x86], ids=lambda module: module.__name__)
def test_no_code_at_all(module: arm) -> None:
    for code in (b"", b"\xe8", b"\x55\x48\x89\xe5\x48\x89\x7d", b"\xb8\xff\xff\xff\xff", b"\xff\x25\0\0"):
        list(module.calls(code, 0))
        assert module.stub_slot(code, 0) is None
        assert module.minus_one_returned(code) is None
        assert module.unused_arguments(code) in (set(), {0})


SOURCE = """
int other(int *);
int six(int a, long b, int *c, unsigned d, long e, char f) { return a + (int)b + *c + (int)d + (int)e + f; }
int even(int a, long b, int *c, unsigned d, long e, char f) { return a + *c + (int)e; }
int large(int a, int *c) { int room[4000]; room[a] = 1; return other(room); }
double floats(double a, int b) { return a; }
"""


def test_unused_arguments(tmp_path: Path) -> None:
    file = elf.open(compiled(tmp_path, SOURCE, "-O0", "-Wno-unused-parameter"))
    unused = {name: file.code.unused_arguments(s.value, s.size) for name, s in file.exported.items()}
    assert unused["six"] == set()
    assert unused["even"] in ({1, 3}, {1, 3, 5})  # a char goes another way
    assert unused["large"] == {1}
    assert unused["floats"] == {0}, "numbered among the integers"


@pytest.mark.parametrize(
    "flags", [("-O0",), ("-O2",), ("-O0", "-fno-plt"), ("-O0", "-fcf-protection=full", "-Wl,-z,ibtplt")]
)
def test_calls_through_the_plt_and_the_got(tmp_path: Path, flags: tuple[str, ...]) -> None:
    file = elf.open(compiled(tmp_path, SOURCE, *flags))
    large = file.exported["large"]
    assert "other" in file.code.called(large.value, large.size, {})
    assert file.code.calls_anything(large.value, large.size)


def test_constructors_have_names(tmp_path: Path) -> None:
    source = "static int n; __attribute__((constructor)) static void wake(void) { n = 1; } int f(void) { return n; }"
    exported = "int n, other(void); __attribute__((constructor)) void wake(void) { n = other(); }"
    assert elf.open(compiled(tmp_path / "exported", exported)).constructors == ["wake"]
    packed = "-Wl,-z,pack-relative-relocs"
    assert elf.open(compiled(tmp_path / "packed", exported, packed)).constructors == ["wake"]
    assert elf.open(compiled(tmp_path / "static", source, packed)).constructors == ["wake"]
    assert elf.open(compiled(tmp_path, source)).constructors == ["wake"]
    assert elf.open(compiled(tmp_path / "stripped", source, "-s")).constructors == []
