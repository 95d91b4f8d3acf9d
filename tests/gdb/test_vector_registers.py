"""What a program has in its vector registers stays there; where an older gdbserver loses it, that is said."""

from __future__ import annotations

import platform

import pytest
from scenario import Scenario

from gdbcuda.remote import vector_registers

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="these registers are x86-64's")

# As the C library's memcpy has 56 bytes between its loads and its stores. Of lower registers it uses none.
HELD = r"""
#include "gdbcuda_api.h"
#include <stdio.h>
#include <string.h>
static char in[56], out[56];
int main(void)
{
    CUdeviceptr block;
    int lost = 0;
    if (!__builtin_cpu_supports("avx512vl"))
        return puts("no such registers"), 0;
    memset(in, 7, sizeof in);
    cuInit(0);
    for (int i = 0; i < 3; i++) {
        memset(out, 0, sizeof out);
        cuMemAlloc_v2(&block, 64);
        __asm__ volatile("vzeroall; vmovdqu64 (%0), %%ymm16; vmovdqu64 24(%0), %%ymm17; .globl held; held: nop;"
                         "vmovdqu64 %%ymm16, (%1); vmovdqu64 %%ymm17, 24(%1)"
                         :: "r"(in), "r"(out) : "memory", "xmm0", "xmm16", "xmm17");
        lost += memcmp(in, out, sizeof in) != 0;
    }
    puts(lost ? "registers lost" : "registers kept");
}
"""
WORDS = ("tbreak main", "RUN", "tbreak *held", "continue", "cuda-break cuMemAlloc if bytesize == 1",
         "cuda-log start --fast", "cuda-route cuMemAlloc", "tbreak *held", "continue", "cuda-log stop", "delete",
         "continue")  # fmt: skip


@pytest.fixture
def held(shim, compile_c):
    return compile_c("held", HELD, f"-I{shim}", f"-L{shim}/standin", "-l:libcuda.so.1", "-mavx512vl")


def test_stops_guards_and_recorder_leave_them_alone(local: Scenario, held) -> None:
    text = local.run(held, *WORDS)
    assert "registers lost" not in text and ("registers kept" in text or "no such registers" in text), text
    assert vector_registers.ADVICE not in text


@pytest.mark.parametrize("tunables", [vector_registers.WITHOUT_AVX512, "glibc.cpu.x86_ibt=permissive"])
def test_a_gdbserver_that_loses_them_is_told_of(shim, held, tunables: str) -> None:
    """(gdb 10 and 11 read no files there while they handle a stop: they tell at the next command.)"""
    scenario = Scenario(shim, "gdbserver", variables=(f"GLIBC_TUNABLES={tunables}",))
    text = scenario.run(held, "tbreak main", "RUN", "cuda-layers", "tbreak *held", "continue", "continue")
    assert "registers lost" in text or "registers kept" in text or "no such registers" in text, text
    is_told = "zeroes vector registers" in text
    assert is_told == ("registers lost" in text and tunables != vector_registers.WITHOUT_AVX512), text
