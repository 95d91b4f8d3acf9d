"""Guards in programs that confine themselves with seccomp: none of our calls into the kernel."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from guard_programs import RESOLVER
from scenario import Scenario, skip_if_syscall_is_not_watched
from test_guard import ON

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")
SILENT = "set cuda-stop-info off"

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
    if how == "call":
        skip_if_syscall_is_not_watched()
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


def test_behind_a_child_that_shares_the_memory(shim: Path, compile_c, tmp_path: Path) -> None:
    """gdbserver takes our looks out of both, and nobody sees the program confine itself any more."""
    hook = compile_c("libguardhook.so", RESOLVER, "-shared", "-O0")
    beside = "#include <sched.h>\nstatic int ends(void *unused) { _exit(!!unused); }\nstatic void marked(void) {}\n"
    call = "    static char stack[1 << 16];\n    clone(ends, stack + sizeof stack, CLONE_VM, NULL);\n    marked();\n"
    source = CONFINES.replace("int main(", f"{beside}int main(").replace("    if (words", f"{call}    if (words")
    program = compile_c("program", source, "-O0", str(hook), f"-Wl,-rpath,{tmp_path}")
    make = 'cuda-break cuGetProcAddress if symbol == "cuMemAlloc*"'
    words = (ON, SILENT, make, "tbreak main", "RUN", "cuda-guards", "tbreak marked", "continue", "continue")
    text = Scenario(shim, "gdbserver").run(program, *words, hook=hook, arguments=("strict",))
    assert re.search("^1 +in the process ", text, re.MULTILINE) and "exited with code 07" in text, text


RAW = """
static inline long raw(long number, long first, long second, long third)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(first), "S"(second), "d"(third)
                     : "rcx", "r11", "memory");
    return result;
}
"""
BY_LIBC = ("syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)", "prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)")
BY_RAW = (
    "raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program)",
    "raw(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0)",
)


def past_libc(source: str) -> str:
    source = source.replace("static void confined", RAW + "static void confined", 1)
    for libc, by_itself in zip(BY_LIBC, BY_RAW):
        source = source.replace(libc, by_itself)
    return source


@pytest.mark.parametrize("how", ["strict", "call"])
@pytest.mark.parametrize("flags", [("-O0",), ("-O2",), ("-O2", "-s")])
def test_past_libc(scenario: Scenario, compile_c, tmp_path: Path, how: str, flags: tuple[str, ...]) -> None:
    """Nobody hears of that call. So its code is looked for, and there is no guard that asks the kernel."""
    hook = compile_c("libguardhook.so", RESOLVER, "-shared", "-O0")
    program = compile_c("program", past_libc(CONFINES), *flags, str(hook), f"-Wl,-rpath,{tmp_path}")
    make = 'cuda-break cuGetProcAddress if symbol == "cuMem*" || cudaVersion == 12000'
    words = (ON, SILENT, make, "RUN", "cuda-guards", "continue", "continue")
    text = scenario.run(program, *words, hook=hook, arguments=(how,))
    assert "program makes system calls past libc, by one of which" in text and "exited with code 07" in text, text


CALLS_FIRST = """
__asm__(".text; .globl cuGetProcAddress_v2; .type cuGetProcAddress_v2, @function\\n"
        "cuGetProcAddress_v2: call answer\\n ret\\n .size cuGetProcAddress_v2, . - cuGetProcAddress_v2");
__attribute__((visibility("hidden"), used)) int answer(void)
{
    return 0;
}
"""


def test_what_stands_in_the_way_in_any_program_is_the_reason(local: Scenario, compile_c, tmp_path: Path) -> None:
    """Without the sandbox there would be no guard either."""
    hook = compile_c("libguardhook.so", CALLS_FIRST, "-shared", "-O0")
    program = compile_c("program", past_libc(CONFINES), "-O0", str(hook), f"-Wl,-rpath,{tmp_path}")
    make = 'cuda-break cuGetProcAddress if symbol == "cuMem*"'
    for words in ((make, "tbreak main", "RUN"), ("tbreak confined", "RUN", make)):
        text = local.run(program, ON, SILENT, *words, "cuda-guards", hook=hook, arguments=("strict",))
        assert "a call is among the function's first instructions" in text and "seccomp" not in text, text
