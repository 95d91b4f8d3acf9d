"""A guard's island is in bytes that nothing executes: not in the nops that another function begins with."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from scenario import Scenario
from test_guard import ON

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")

# cuMemAlloc_v2 has room for a short jump alone: its second instruction is a loop's. Behind it nothing is filled.
HOOK = """
__asm__(".text\\n.p2align 4\\nother: .fill 16,1,0xc3\\n.globl cuMemAlloc_v2\\n.type cuMemAlloc_v2,@function\\n"
        "cuMemAlloc_v2:\\n.cfi_startproc\\nxor %eax,%eax\\n1: test %rsi,%rsi\\nje 2f\\ndec %rsi\\nincq (%rdi)\\n"
        "jmp 1b\\n2: xor %eax,%eax\\nret\\n.cfi_endproc\\n.size cuMemAlloc_v2,.-cuMemAlloc_v2\\n" NEXT);
"""
PATCHABLE = ".fill 20,1,0x90\\nincq (%rdi)\\nxor %eax,%eax\\nret\\n"
FREE = ".globl cuMemFree_v2\\n.type cuMemFree_v2,@function\\ncuMemFree_v2: "
NEXT = {
    "it has a symbol": FREE + PATCHABLE,
    "it has none": "1: " + PATCHABLE + ".p2align 4\\n" + FREE + "jmp 1b\\n",
}
CALLS = """
#include <stdio.h>
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
int cuMemFree_v2(unsigned long long *dptr);
int main(void)
{
    unsigned long long sum = 0;
    for (int i = 0; i < 1000; i++)
        cuMemFree_v2((cuMemAlloc_v2(&sum, i % 5), &sum));
    printf("sum %llu\\n", sum);
    return 3;
}
"""


@pytest.mark.parametrize("neighbour", NEXT)
def test_the_next_function_begins_with_nops(scenario: Scenario, compile_c, tmp_path: Path, neighbour: str) -> None:
    hook = compile_c("libguardhook.so", HOOK, "-shared", f'-DNEXT="{NEXT[neighbour]}"')
    program = compile_c("program", CALLS, str(hook), f"-Wl,-rpath,{tmp_path}")
    words = ("cuda-break cuMemAlloc if bytesize >= 1T", "tbreak main", "RUN", "cuda-guards", "continue")
    text = scenario.run(program, ON, *words, hook=hook)
    assert "sum 3000" in text and "exited with code 03" in text, text
    assert re.search("^1 .* its own code jumps back", text, re.MULTILINE), text
