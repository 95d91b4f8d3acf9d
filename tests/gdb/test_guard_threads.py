"""Guards under several threads at once: each is somewhere among the instructions that change."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from scenario import Scenario
from test_guard import LARGE, ON

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")
SILENT = "set cuda-stop-info off"
CALLS = 20

# gdb's own breakpoint is behind `push %rbp; mov %rsp,%rbp`, among the replaced bytes: there is no debug info.
HOOK = """
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize) { *dptr += bytesize; return 0; }
"""
BESIDE = """
#include <pthread.h>
#include <stdio.h>
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
void spot(unsigned long long *dptr, unsigned long bytesize)
{
}
static volatile int told;
static void *beside(void *sum)
{
    while (!told)
        cuMemAlloc_v2((unsigned long long *)sum, 0);
    return sum;
}
int main(void)
{
    pthread_t thread;
    unsigned long long sum = 0, other = 0;
    pthread_create(&thread, NULL, beside, &other);
    for (int i = 0; i < CALLS; i++)
        spot(&sum, 1ul << 40);
    told = 1;
    pthread_join(thread, NULL);
    printf("sum %llu and %llu\\n", sum >> 40, other);
    return 3;
}
"""
OUT_OF_THE_TRAMPOLINE = f"""python
from gdbcuda.live.guarding.by_process import PROCESSES
for number in range({CALLS}):
    guard, = PROCESSES().guards.values()
    gdb.execute(f"set $pc = {{guard.trampoline.address:#x}}")
    gdb.execute("continue")  # to the breakpoint in the function
    gdb.execute("continue")  # to the next spot
end
"""


@pytest.mark.parametrize("stepping", ["off", "on"])
def test_who_comes_out_of_the_trampoline_of_a_raised_guard(
    scenario: Scenario, compile_c, tmp_path: Path, stepping: str
) -> None:
    """The thread has been put there, as if it had called the function before the user's stop has raised the guard. It
    comes to the breakpoint among the function's first instructions, and the other thread to the entry meanwhile."""
    hook = compile_c("libguardhook.so", HOOK, "-shared", "-g0", "-O0", "-fcf-protection=none")
    program = compile_c("program", BESIDE, str(hook), f"-Wl,-rpath,{tmp_path}", f"-DCALLS={CALLS}", "-pthread")
    script = tmp_path / "out_of_the_trampoline.gdb"
    script.write_text(OUT_OF_THE_TRAMPOLINE)
    words = (f"set displaced-stepping {stepping}", ON, SILENT, LARGE, "break *spot", "RUN", "cuda-guards")
    text = scenario.run(program, *words, f"source {script}", "info breakpoints", hook=hook)
    assert "5 bytes of cuMemAlloc_v2" in text, text
    assert "SIG" not in text and f"sum {CALLS} and 0\n" in text, text
    assert f"breakpoint already hit {CALLS} times" in text, text
