"""Guards where gdb steps a thread over a breakpoint in place: it takes out the one at the instruction, and no other."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from scenario import Scenario
from test_guard import ON
from test_guard_programs_do import ADDS

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")
IN_PLACE, FOUR = "set displaced-stepping off", "cuda-break cuMemAlloc if bytesize == 4"
AGAIN = ("cuda-log start cuMemAlloc", "cuda-log stop", "continue")

FIRST = """
__asm__(".text\\n.p2align 4\\nother: ret\\n.p2align 4\\n.globl cuMemAlloc_v2\\n.type cuMemAlloc_v2,@function\\n"
        "cuMemAlloc_v2:\\n.cfi_startproc\\n%s\\nret\\n.cfi_endproc\\n.size cuMemAlloc_v2,.-cuMemAlloc_v2\\n");
"""
SHAPES = {
    "two under the jump": "mov (%rdi),%rax\\nadd %rsi,%rax\\nmov %rax,(%rdi)\\nxor %eax,%eax",
    "one under the jump": "movabs $0,%rax\\nadd (%rdi),%rax\\nadd %rsi,%rax\\nmov %rax,(%rdi)\\nxor %eax,%eax",
    "a jump elsewhere": "jmp *1f(%rip)\\n.data\\n1: .quad 2f\\n.text\\n2: add %rsi,(%rdi)\\nxor %eax,%eax",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_program_goes_on_from_where_a_guard_is_made(shim, compile_c, tmp_path: Path, shape: str) -> None:
    """Nothing but ``continue`` is typed, so that gdb has no prompt: its breakpoints go in as the program goes on."""
    hook = compile_c("libguardhook.so", FIRST.replace("%s", SHAPES[shape]), "-shared")
    program = compile_c("program", ADDS, str(hook), f"-Wl,-rpath,{tmp_path}")
    text = Scenario(shim).run(
        program, ON, IN_PLACE, "tbreak main", "RUN", FOUR, "continue", *AGAIN * 3, "cuda-guards", "info breakpoints",
        "delete", "continue", hook=hook,
    )  # fmt: skip
    assert "already hit 4 times" in text, text
    assert "sum 2000" in text and "exited with code 03" in text, text
