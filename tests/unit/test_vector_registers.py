"""Whose XSAVE area older gdbservers do not know, by /proc/cpuinfo."""

from __future__ import annotations

import pytest

from gdbcuda.remote import vector_registers

FLAGS = "flags\t\t: fpu sse2 avx avx2 avx512f avx512vl avx512bw\n"
AMD, INTEL, HYGON = (f"processor\t: 0\nvendor_id\t: {vendor}\nmodel name\t: one\n" for vendor in
                     ("AuthenticAMD", "GenuineIntel", "HygonGenuine"))  # fmt: skip


@pytest.mark.parametrize(
    ("cpuinfo", "are_lost"),
    [(AMD + FLAGS, True), (HYGON + FLAGS, True), (INTEL + FLAGS, False), (AMD + "flags\t: avx2\n", False), ("", False)],
)
def test_lost_on(cpuinfo: str, are_lost: bool) -> None:
    assert vector_registers.are_lost_on(cpuinfo) == are_lost


@pytest.mark.parametrize(
    ("tunables", "are_left_alone"),
    [(vector_registers.WITHOUT_AVX512, True), ("", False), ("glibc.cpu.hwcaps=-AVX512VL", False)],
)
def test_left_alone(tunables: str, are_left_alone: bool) -> None:
    assert vector_registers.are_left_alone(tunables) == are_left_alone
    assert vector_registers.are_left_alone(f"glibc.malloc.check=1:{tunables}") == are_left_alone
