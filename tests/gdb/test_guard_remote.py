"""Guards through gdbserver, which shows gdb the program's own bytes under each breakpoint that it has put in."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from guard_programs import HOOK
from scenario import Scenario
from test_guard import ON
from test_guard_process import CANNOT_HOLD

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")
CALLS = 2000

# A thread has ended before the program becomes itself again, and gdb has not stopped since.
AGAIN = """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
static void *nothing(void *given)
{
    return given;
}
int main(int count, char **words)
{
    pthread_t thread;
    pthread_create(&thread, NULL, nothing, NULL);
    pthread_join(thread, NULL);
    if (count == 1)
        execl(words[0], words[0], "again", (char *)NULL);
    unsigned long long sum = 0;
    for (unsigned long i = 0; i < CALLS; i++)
        cuMemAlloc_v2(&sum, i);
    cuMemAlloc_v2(&sum, 1ul << 40);
    printf("sum %llx\\n", sum);
    return count;
}
"""


@pytest.mark.parametrize("flags", ["-O0", "-O2"])
def test_a_program_that_executes_itself_after_a_thread_has_ended(
    shim: Path, compile_c, tmp_path: Path, flags: str
) -> None:
    """gdb cannot print its table of breakpoints then."""
    hook = compile_c("libhook.so", HOOK, "-shared", flags)
    program = compile_c("program", AGAIN, str(hook), f"-Wl,-rpath,{tmp_path}", "-pthread", f"-DCALLS={CALLS}")
    words = [ON, "cuda-break cuMemAlloc --from any if bytesize >= 1T", "tbreak main", "RUN"]
    words += ["break nothing if $_thread == 99", "continue", "cuda-guards", "continue"]  # gdb sees the thread
    text = Scenario(shim, "gdbserver").run(program, *words, hook=hook)
    assert re.search(r"^1 +in the process +[25] bytes of cuMemAlloc_v2 ", text, re.MULTILINE), text
    assert "SIG" not in text, text
    plain = Scenario(shim).run(program, "run", hook=None)
    assert re.findall(r"sum \w+", text) == re.findall(r"sum \w+", plain)


# As vendors' libraries begin. The second byte of its second instruction is among those that a jump replaces.
PUSHES = """
__asm__(".text\\n.globl cuMemAlloc_v2\\n.type cuMemAlloc_v2,@function\\ncuMemAlloc_v2:\\n.cfi_startproc\\npush %rbp\\n"
        ".cfi_adjust_cfa_offset 8\\nmov (%rdi),%rax\\nmov %rax,%rdx\\nshl $5,%rdx\\nsub %rax,%rdx\\nadd %rsi,%rdx\\n"
        "mov %rdx,(%rdi)\\nxor %eax,%eax\\npop %rbp\\n.cfi_adjust_cfa_offset -8\\nret\\n.cfi_endproc\\n"
        ".size cuMemAlloc_v2,.-cuMemAlloc_v2\\n");
"""
LEFT = (
    "python from gdbcuda.live.guard.watch import Watch; "
    "Watch(int(gdb.parse_and_eval('(long)&cuMemAlloc_v2')) + 1, dict)"
)


@pytest.mark.parametrize("place", ["local", "gdbserver"])
def test_a_breakpoint_of_ours_that_could_not_go_keeps_the_jump_away(
    shim: Path, compile_c, tmp_path: Path, place: str
) -> None:
    """It is on the second instruction, as that of an earlier guard that gdb cannot take out while threads run."""
    hook = compile_c("libhook.so", PUSHES, "-shared")
    program = compile_c("program", AGAIN, str(hook), f"-Wl,-rpath,{tmp_path}", "-pthread", f"-DCALLS={CALLS}")
    words = [ON, "tbreak main", "RUN", LEFT, "cuda-break cuMemAlloc --from any if bytesize >= 1T", "continue"]
    text = Scenario(shim, place).run(program, *words, "bt 1", "continue", arguments=("once",), hook=hook)
    assert "SIG" not in text and "bytesize=1099511627776" in text, text
    plain = Scenario(shim).run(program, "run", arguments=("once",), hook=None)
    assert re.findall(r"sum \w+", text) == re.findall(r"sum \w+", plain)


OWN_BYTE = "8b"  # mov (%rdi),%rax is 48 8b 07
BESIDE = """
#include <pthread.h>
#include <stdio.h>
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
int jumps_there(unsigned long long *dptr, unsigned long bytesize);
__asm__("jumps_there: jmp *cuMemAlloc_v2@GOTPCREL(%rip)\\n");
static volatile int go;
static __attribute__((noinline)) void looked(unsigned third)
{
    printf("third byte %02x\\n", third);
}
static void *work(void *sum)
{
    jumps_there(sum, 4);
    return sum;
}
int main(void)
{
    unsigned long long own = 7, its = 7;
    pthread_t thread;
    pthread_create(&thread, NULL, work, &its);
    while (!go)
        ;
    cuMemAlloc_v2(&own, 1ul << 40);
    looked(((volatile unsigned char *)cuMemAlloc_v2)[2]);
    pthread_join(thread, NULL);
    printf("results %llx %llx\\n", own, its);
    return 0;
}
"""


def test_a_call_that_comes_while_another_one_keeps_the_guard_raised(shim: Path, compile_c, tmp_path: Path) -> None:
    """The first stands among the bytes as the guard is made; when it has left the other one does."""
    hook = compile_c("libhook.so", PUSHES, "-shared")
    program = compile_c("program", BESIDE, str(hook), f"-Wl,-rpath,{tmp_path}", "-pthread", "-O1")
    words = ["set cuda-guard off", "cuda-break cuMemAlloc --from any if bytesize >= 1T", "tbreak jumps_there", "RUN"]
    words += ["set scheduler-locking on", "set var go = 1", "thread 1", "continue", "stepi", ON]
    words += ["thread 2", "stepi 2", "x/i $pc", "thread 1", "tbreak looked", "continue"]
    text = Scenario(shim, "gdbserver").run(program, *words, "set scheduler-locking off", "continue", hook=hook)
    if CANNOT_HOLD in text:
        pytest.skip("this debugger cannot hold the other threads")
    assert re.search(r"=> 0x\w+ <cuMemAlloc_v2\+1>:", text), text
    assert f"third byte {OWN_BYTE}\nresults 100000000d9 dd\n" in text and "exited normally" in text, text
