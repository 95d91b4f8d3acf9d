"""Guards in programs that do something to themselves: all goes on as it does alone."""

from __future__ import annotations

import platform
import re
import subprocess
import time
from pathlib import Path

import pytest
from guard_programs import HOOK, RESOLVER
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


CONFINES = """
#define _GNU_SOURCE
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, unsigned long long flags, int *status);
static void confined(void)
{
}
static void by_filter(int by_syscall)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {4, rules};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (by_syscall)
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
    else
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
int main(int count, char **words)
{
    void *found;
    int status;
    char *name = malloc(1 << 20);
    strcpy(name + (1 << 19), "cuInit");
    cuGetProcAddress_v2(name, &found, 12000, 0, &status);
    if (words[1][0] == 's')
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    else
        by_filter(words[1][0] == 'c');
    confined();
    for (int i = 0; i < 100; i++)
        cuGetProcAddress_v2(name + (1 << 19), &found, 12000 + i, 0, &status);
    syscall(SYS_exit, 7);
    return count;
}
"""


@pytest.mark.parametrize("how", ["strict", "filter", "call"])
def test_a_program_that_confines_itself(scenario: Scenario, compile_c, tmp_path: Path, how: str) -> None:
    """The kernel would end it, or its thread, if it was asked whether the pointer leads to memory."""
    hook = compile_c("libguardhook.so", RESOLVER, "-shared", "-O0")
    program = compile_c("program", CONFINES, "-O0", str(hook), f"-Wl,-rpath,{tmp_path}")
    make = 'cuda-break cuGetProcAddress if symbol == "cuMemAlloc*"'
    words = (ON, SILENT, make, "tbreak main", "RUN", "cuda-guards", "tbreak confined", "continue", "cuda-guards")
    text = scenario.run(program, *words, "continue", hook=hook, arguments=(how,))
    assert re.search("^1 +in the process ", text, re.MULTILINE), text
    assert "the program confines itself with seccomp" in text and "exited with code 07" in text, text



@pytest.mark.parametrize("how", ["strict", "filter", "call"])
def test_a_program_that_is_confined_already(scenario: Scenario, compile_c, tmp_path: Path, how: str) -> None:
    hook = compile_c("libguardhook.so", RESOLVER, "-shared", "-O0")
    program = compile_c("program", CONFINES, "-O0", str(hook), f"-Wl,-rpath,{tmp_path}")
    make = 'cuda-break cuGetProcAddress if symbol == "cuMemAlloc*"'
    words = (ON, SILENT, "tbreak confined", "RUN", make, "cuda-guards", "continue")
    text = scenario.run(program, *words, hook=hook, arguments=(how,))
    assert "the program confines itself with seccomp" in text and "exited with code 07" in text, text


FORKS = """
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
static size_t bytes(long i)
{
    return i % 50 == 7 ? (size_t)1 << 40 : i;
}
static void *work(void *unused)
{
    unsigned long long sum = 0;
    for (long i = 0; i < 2000; i++)
        cuMemAlloc_v2(&sum, bytes(i));
    return unused;
}
static int child(void)
{
    unsigned long long sum = 0, expected = 0;
    for (long i = 0; i < 100; i++) {
        cuMemAlloc_v2(&sum, bytes(i));
        expected = expected * 31 + bytes(i);
    }
    return sum == expected ? 4 : 5;
}
int main(void)
{
    pthread_t thread[4];
    int status, good = 0;
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < 40; i++) {
        pid_t made = fork();
        if (made == 0)
            _exit(child());
        waitpid(made, &status, 0);
        good += WIFEXITED(status) && WEXITSTATUS(status) == 4;
    }
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    printf("children %d of 40\\n", good);
    return 0;
}
"""
MAKES = ("if bytesize >= 1T", "--on return if bytesize >= 1T", "if bytesize >= 1T && every 3")


@pytest.mark.usefixtures("forks_live")
@pytest.mark.parametrize("flags", ["-O0", "-O2"])
@pytest.mark.parametrize("make", MAKES)
def test_children_while_threads_match(
    scenario: Scenario, compile_c, tmp_path: Path, flags: str, make: str
) -> None:  # fmt: skip
    hook = compile_c("libguardhook.so", HOOK, "-shared", flags)
    program = compile_c("program", FORKS, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}", "-pthread")
    alone = subprocess.run([program], capture_output=True, text=True, check=False).stdout
    assert alone == "children 40 of 40\n"
    text = scenario.run(program, ON, SILENT, f"cuda-break cuMemAlloc {make}", "ignore 1 100000", "RUN", hook=hook)
    assert alone in text and "exited normally" in text, text


@pytest.mark.usefixtures("forks_live")
@pytest.mark.parametrize("guard", ["off", "auto"])
def test_children_while_shown_calls_end(local: Scenario, compile_c, tmp_path: Path, guard: str) -> None:
    """What sees that shown calls are over comes and goes, while gdb has not heard of a child that has it. (Such a child
    of gdbserver's nobody can reach.)"""
    hook = compile_c("libguardhook.so", HOOK, "-shared")
    same = FORKS.replace("_exit(child());", "_exit(work(NULL) ? 5 : 4 + 0 * child());")
    program = compile_c("program", same, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}", "-pthread")
    go_on = "python while gdb.selected_inferior().pid: gdb.execute('continue')"
    words = (f"set cuda-guard {guard}", "cuda-break cuMemAlloc if bytesize >= 1T", "RUN", go_on)
    text = local.run(program, *words, hook=hook)
    assert text.count("Breakpoint 1  hook") > 20 and "children 40 of 40\n" in text, text
