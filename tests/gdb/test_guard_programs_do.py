"""Guards in programs that do something to themselves: all goes on as it does alone."""

from __future__ import annotations

import platform
import re
import time
from pathlib import Path

import pytest
from guard_programs import HOOK, PLAIN_ENTRY
from scenario import Scenario
from test_guard import LARGE, ON

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")
SILENT = "set cuda-stop-info off"

# Its second instruction is where a table, a loop or a computed goto leads: cuMemAlloc_v2(p, n) adds n to *p in steps.
JUMPS_BACK = """
__asm__(".text\\n.p2align 4\\nother: ret\\n.p2align 4\\n.globl cuMemAlloc_v2\\n.type cuMemAlloc_v2,@function\\n"
        "cuMemAlloc_v2:\\n.cfi_startproc\\nxor %eax,%eax\\n1: test %rsi,%rsi\\nje 2f\\ndec %rsi\\nincq (%rdi)\\n" WAY
        "2: ret\\n.cfi_endproc\\n.size cuMemAlloc_v2,.-cuMemAlloc_v2\\n");
"""
WAYS = {
    "a loop": "jmp 1b\\n",
    "a computed goto": "lea 1b(%rip),%rdx\\njmp *%rdx\\n",
    "a table": "lea 3f(%rip),%rdx\\nmovslq (%rdx),%rcx\\nadd %rdx,%rcx\\njmp *%rcx\\n3: .long 1b-3b\\n",
}
ADDS = """
#include <stdio.h>
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
int main(void)
{
    unsigned long long sum = 0;
    for (int i = 0; i < 1000; i++)
        cuMemAlloc_v2(&sum, i % 5);
    printf("sum %llu\\n", sum);
    return 3;
}
"""


@pytest.mark.parametrize("way", WAYS)
def test_a_jump_back_into_its_first_bytes(scenario: Scenario, compile_c, tmp_path: Path, way: str) -> None:
    hook = compile_c("libguardhook.so", JUMPS_BACK, "-shared", f'-DWAY="{WAYS[way]}"')
    program = compile_c("program", ADDS, str(hook), f"-Wl,-rpath,{tmp_path}")
    text = scenario.run(program, ON, LARGE, "tbreak main", "RUN", "cuda-guards", "continue", hook=hook)
    assert "sum 2000" in text and "exited with code 03" in text
    guarded = re.search(r"^1 +in the process +(\d) bytes", text, re.MULTILINE)
    assert guarded is None or guarded[1] == "2", text  # one instruction is what a jump may lead to


SPOT = "void spot(unsigned long long *dptr, unsigned long bytesize)\n{\n}\n"
CAUGHT = ADDS.replace("int main", SPOT + "int main").replace("    printf", "    spot(&sum, 3);\n    printf")
TO_THE_ISLAND = """python
from gdbcuda.live.guarding.by_process import PROCESSES
guard, = PROCESSES().guards.values()
gdb.execute(f"set $pc = {guard.detour.island[0]:#x}")
"""


def test_a_thread_on_its_way_to_a_trampoline(scenario: Scenario, compile_c, tmp_path: Path) -> None:
    """From a function that has room for a short jump alone it goes by an island; there it is when the guard goes. It
    has been put there, as if it had called the function and been caught."""
    hook = compile_c("libguardhook.so", JUMPS_BACK, "-shared", f'-DWAY="{WAYS["a loop"]}"')
    program = compile_c("program", CAUGHT, str(hook), f"-Wl,-rpath,{tmp_path}")
    script = tmp_path / "to_the_island.gdb"
    script.write_text(TO_THE_ISLAND + "end\n")
    words = (ON, SILENT, LARGE, "break *spot", "RUN", "cuda-guards", f"source {script}", "delete 1", "continue")
    text = scenario.run(program, *words, hook=hook)
    assert re.search(r"^1 +in the process +2 bytes", text, re.MULTILINE), text
    assert "SIG" not in text and "sum 2003" in text, text


FAULTS = """
#include <sys/mman.h>
static int counted __attribute__((aligned(4096)));
static char rest[4096 - sizeof counted];
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize)
{
    *dptr += (counted += bytesize > 4);
    return 0;
}
int forbid(void)
{
    return mprotect(&counted, sizeof counted + sizeof rest, PROT_NONE);
}
"""
FORBIDS = CAUGHT.replace("    spot(", "    extern int forbid(void);\n    forbid();\n    spot(")
TO_THE_TRAMPOLINE = TO_THE_ISLAND.replace("detour.island[0]", "trampoline.address")


def test_gdb_lets_go_of_a_thread_that_is_about_to_die(scenario: Scenario, compile_c, tmp_path: Path) -> None:
    """Its way out of the trampoline meets an instruction that may not read its memory: the program ends by that when
    gdb has gone, not on the way, which ended gdb 13 as well."""
    hook = compile_c("libguardhook.so", FAULTS, "-shared", PLAIN_ENTRY, "-O1")
    program = compile_c("program", FORBIDS, str(hook), f"-Wl,-rpath,{tmp_path}")
    script = tmp_path / "to_the_trampoline.gdb"
    script.write_text(TO_THE_TRAMPOLINE + "end\n")
    words = (ON, SILENT, LARGE, "break *spot", "RUN", "cuda-guards", f"source {script}", "detach", "info inferiors")
    text = scenario.run(program, *words, hook=hook)
    assert re.search("^1 +in the process ", text, re.MULTILINE), text
    assert "received signal SIGSEGV" in text and ") detached]" in text, text
    assert "no longer exists" not in text and "internal-error" not in text, text


PATCHES = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
static int mine(unsigned long long *dptr, size_t bytesize)
{
    *dptr = bytesize;
    return 42;
}
static void patched(void)
{
}
int main(int count, char **words)
{
    unsigned long long block = 0, answers = 0, address = (unsigned long long)mine;
    unsigned char jump[12] = {0x48, 0xb8, [10] = 0xff, 0xe0};
    for (int i = 0; i < 100; i++)
        cuMemAlloc_v2(&block, i);
    char *entry = dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");
    memcpy(jump + 2, &address, sizeof(address));
    mprotect((void *)((uintptr_t)entry & ~4095ul), 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
    memcpy(entry, jump, sizeof(jump));
    patched();
    for (int i = 0; i < 100; i++)
        answers += cuMemAlloc_v2(&block, i) == 42;
    FILE *file = fopen(words[count - 1], "w");
    fprintf(file, "%llu of 100\\n", answers);
    return fclose(file);
}
"""


@pytest.mark.parametrize("flags", ["-O0", "-O2"])
@pytest.mark.parametrize("way", ["continue", "detach"])
def test_somebody_else_patches_the_function(
    scenario: Scenario, compile_c, tmp_path: Path, flags: str, way: str
) -> None:  # fmt: skip
    hook = compile_c("libguardhook.so", HOOK, "-shared", flags)
    program = compile_c("program", PATCHES, "-O0", str(hook), f"-Wl,-rpath,{tmp_path}", "-ldl")
    words = (ON, SILENT, LARGE, "tbreak main", "RUN", "cuda-guards", "tbreak patched", "continue", "cuda-guards")
    said = tmp_path / "said"
    text = scenario.run(program, *words, way, hook=hook, arguments=(str(said),))
    assert re.search("^1 +in the process ", text, re.MULTILINE), text
    assert re.search("^1 +by gdb.* its function was patched by someone else meanwhile$", text, re.MULTILINE), text
    for _ in range(100):
        if said.exists() and said.read_text():
            break
        time.sleep(0.1)
    assert said.read_text() == "100 of 100\n" and "SIG" not in text


# It puts its jump there and what it has found there back, ten times. Every 50th call of the function's own matches.
TAKES_BACK = """
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
static int mine(unsigned long long *dptr, size_t bytesize)
{
    *dptr = bytesize;
    return 42;
}
__attribute__((noinline)) static void patched(void)
{
    __asm__ volatile("");
}
int main(int count, char **words)
{
    unsigned long long block = 0, wrong = 0, address = (unsigned long long)mine;
    unsigned char jump[12] = {0x48, 0xb8, [10] = 0xff, 0xe0}, before[12];
    char *entry = dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");
    memcpy(jump + 2, &address, sizeof(address));
    mprotect((void *)((uintptr_t)entry & ~4095ul), 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
    for (int round = 0; round < 10; round++) {
        for (int i = 1; i <= 100; i++) {
            unsigned long long size = i % 50 == 25 ? 1ul << 40 : i, next = block * 31 + size;
            wrong += cuMemAlloc_v2(&block, size) != 0 || block != next;
        }
        memcpy(before, entry, sizeof(before));
        memcpy(entry, jump, sizeof(jump));
        for (int i = 1; i <= 100; i++)
            wrong += cuMemAlloc_v2(&block, i % 50 == 25 ? 1ul << 40 : i) != 42;
        patched();
        memcpy(entry, before, sizeof(before));
    }
    FILE *file = fopen(words[count - 1], "w");
    fprintf(file, "%llu wrong\\n", wrong);
    return fclose(file);
}
"""


@pytest.mark.parametrize("flags", ["-O0", "-O2"])
@pytest.mark.parametrize("end", ["detach", "delete"])
def test_somebody_else_patches_and_takes_it_back(
    scenario: Scenario, compile_c, tmp_path: Path, flags: str, end: str
) -> None:
    hook = compile_c("libguardhook.so", HOOK, "-shared", flags)
    program = compile_c("program", TAKES_BACK, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}", "-ldl")
    said = tmp_path / "said"
    on = ["continue"] * 6
    words = (ON, "tbreak main", "RUN", LARGE, "break patched", *on, "cuda-guards", *on, end, "continue")
    text = scenario.run(program, *words, hook=hook, arguments=(str(said),))
    assert re.search("^2 +by gdb.* its function was patched by someone else meanwhile$", text, re.MULTILINE), text
    for _ in range(100):
        if said.exists() and said.read_text():
            break
        time.sleep(0.1)
    assert said.exists() and said.read_text() == "0 wrong\n" and "SIG" not in text, text


EXECUTES = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
int main(int count, char **words)
{
    unsigned long long block = 0;
    dlopen(words[1], RTLD_NOW);
    for (int i = 0; i < 1000; i++)
        cuMemAlloc_v2(&block, i == 500 && count < 3 ? 1ul << 40 : i);
    if (count > 2)
        execl("/proc/self/exe", words[0], words[1], (char *)0);
    puts("the end");
    return 4;
}
"""


@pytest.mark.parametrize("flags", ["-O0", "-O2"])
def test_a_program_that_becomes_another_elsewhere(scenario: Scenario, compile_c, tmp_path: Path, flags: str) -> None:
    """The guard goes when an object is loaded, and there is no stop in which its breakpoints could go before the exec:
    gdb must not be made to write where they were."""
    hook = compile_c("libguardhook.so", HOOK, "-shared", flags)
    other = compile_c("libother.so", "int other;", "-shared")
    program = compile_c("program", EXECUTES, str(hook), f"-Wl,-rpath,{tmp_path}", "-ldl")
    want = "cuda-break cuMemAlloc if bytesize >= 1T && caller in main"
    words = (ON, "set disable-randomization off", "tbreak main", "RUN", want, "continue", "cuda-guards", "continue")
    text = scenario.run(program, *words, hook=hook, arguments=(str(other), "again"))
    assert re.findall(r"^Breakpoint 2  hook .*bytesize=(\d+) ", text, re.MULTILINE) == [str(1 << 40)], text
    assert "annot" not in text and "failed" not in text and "exited with code 04" in text
    assert re.search("^2 +in the process ", text, re.MULTILINE), text


LOADS = """
#define _GNU_SOURCE
#include <dlfcn.h>
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
int main(int count, char **words)
{
    unsigned long long block = 0;
    cuMemAlloc_v2(&block, 1);
    dlopen(words[1], RTLD_NOW);
    for (int i = 0; i < 1000; i++)
        cuMemAlloc_v2(&block, i == 500 ? 1ul << 40 : i);
    return 4;
}
"""


@pytest.mark.parametrize("flags", ["-O0", "-O2"])
def test_a_guard_that_is_made_anew_finds_nothing_of_the_old_one(compile_c, shim, tmp_path: Path, flags: str) -> None:
    """Through gdbserver a breakpoint of the guard that has gone, still on, would be in the new guard's jump."""
    scenario = Scenario(shim, "gdbserver")
    hook = compile_c("libguardhook.so", HOOK, "-shared", flags)
    other = compile_c("libother.so", "int other;", "-shared")
    program = compile_c("program", LOADS, str(hook), f"-Wl,-rpath,{tmp_path}", "-ldl")
    want, packets = "cuda-break cuMemAlloc if bytesize >= 1T && caller in program", tmp_path / "packets"
    words = (ON, f"set remotelogfile {packets}", "tbreak main", "RUN", want, "continue", "cuda-guards", "continue")
    text = scenario.run(program, *words, hook=hook, arguments=(str(other),))
    assert "bytesize=1099511627776 " in text and "exited with code 04" in text, text
    assert re.search("^2 +in the process ", text, re.MULTILINE), text
    assert packets.read_text(errors="replace").count("w $vCont") < 100


LOADS_FIRST = """
__asm__(".text\\n.p2align 4\\nother: ret\\n.p2align 4\\n.globl cuMemAlloc_v2\\n.type cuMemAlloc_v2,@function\\n"
        "cuMemAlloc_v2:\\n.cfi_startproc\\nmov (%rdi),%rax\\nadd %rsi,%rax\\nmov %rax,(%rdi)\\nxor %eax,%eax\\nret\\n"
        ".cfi_endproc\\n.size cuMemAlloc_v2,.-cuMemAlloc_v2\\n");
"""


@pytest.mark.parametrize("stepping", ["on", "off"])
def test_a_breakpoint_that_goes_where_its_function_stands(
    scenario: Scenario, compile_c, tmp_path: Path, stepping: str
) -> None:
    """Its guard is made anew for the other breakpoint there, while the call stands at the first instruction."""
    hook = compile_c("libguardhook.so", LOADS_FIRST, "-shared")
    program = compile_c("program", ADDS, str(hook), f"-Wl,-rpath,{tmp_path}")
    text = scenario.run(
        program, ON, f"set displaced-stepping {stepping}", LARGE, "tbreak main", "RUN",
        "cuda-break cuMemAlloc --once", "cuda-guards", "continue", "stepi", "x/i $pc", "continue", hook=hook,
    )  # fmt: skip
    assert re.search(r"^1, 3 +in the process", text, re.MULTILINE) and "Temporary breakpoint 3, " in text, text
    assert re.search(r"^=> 0x\w+ <cuMemAlloc_v2\+3>:\s+add ", text, re.MULTILINE), text
    assert "sum 2000" in text and "exited with code 03" in text
