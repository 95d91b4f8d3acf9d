"""The recorder in programs that confine themselves with seccomp: none of its own calls into the kernel then."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from forking_gdbcuda import run_gdbcuda
from guard_programs import RESOLVER
from scenario import Scenario, skip_if_syscall_is_not_watched
from test_fast_log import lists_locations
from test_fast_log import placed as placed
from test_guard_seccomp import CONFINES, past_libc

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the recorder is made for x86-64")
FAST = "cuda-log start --fast"


@pytest.fixture(autouse=True)
def _new_enough() -> None:
    if not lists_locations():
        pytest.skip("this gdb does not tell where its breakpoints are while the program goes on: --fast says so")


@pytest.mark.parametrize(("how", "most"), [("strict", 1), ("filter", 101), ("call", 101)])
def test_a_program_that_confines_itself(local: Scenario, compile_c, tmp_path: Path, how: str, most: int) -> None:
    """The kernel would end it for one of the recorder's system calls; strict mode takes the clock away as well."""
    if how == "call":
        skip_if_syscall_is_not_watched()
    hook = compile_c("libguardhook.so", RESOLVER, "-shared", "-O0")
    program = compile_c("program", CONFINES, "-O0", str(hook), f"-Wl,-rpath,{tmp_path}")
    words = ("RUN", "cuda-log", f"cuda-log save {tmp_path}/log")
    text = local.run(program, FAST, *words, hook=hook, arguments=(how,))
    assert "exited with code 07" in text, text
    assert f"{most} calls kept" in text, text
    made = "made where the program may read no clock (strict seccomp)"
    assert (f"\n100 calls were {made}.\n" in text) == (how == "strict"), text
    read = run_gdbcuda("log", "show", tmp_path / "log", check=True)
    assert (f"100 x a call that was {made}" in read.stderr) == (how == "strict"), read.stderr


def no_process_vm_readv(source: str) -> str:
    """Where the filter ends the program for the call that the recorder would ask with, too."""
    jump, rules = "SYS_rt_sigprocmask, 0, 1),", "{4, rules}"
    assert jump in source and rules in source
    kill = "BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),"
    asks = f"BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1), {kill}"
    clock = asks.replace("process_vm_readv", "clock_gettime")
    return source.replace(kill, f"{kill}{asks}{clock}", 1).replace(rules, "{8, rules}")


@pytest.mark.parametrize(("how", "most"), [("strict", 1), ("call", 101)])
@pytest.mark.parametrize("flags", [("-O0",), ("-O2",), ("-O2", "-s")])
def test_past_libc(
    local: Scenario, compile_c, tmp_path: Path, how: str, most: int, flags: tuple[str, ...]
) -> None:
    """gdb looks on at the instruction."""
    hook = compile_c("libguardhook.so", RESOLVER, "-shared", "-O0")
    source = no_process_vm_readv(past_libc(CONFINES))
    program = compile_c("program", source, *flags, str(hook), f"-Wl,-rpath,{tmp_path}")
    text = local.run(program, FAST, "RUN", "cuda-log", "cuda-log show --last 1", hook=hook, arguments=(how,))
    assert "exited with code 07" in text and f"{most} calls kept" in text, text
    assert "system calls past libc" not in text, text  # nothing is missing that a user could wonder about


SHARE = """static __attribute__((noinline)) long either(int is_first, long first, long second, long third)
{
    return is_first ? raw(SYS_seccomp, first, second, third) : raw(SYS_getppid, first, second, third);
}
static void confined"""


def test_two_calls_that_share_the_instruction(local: Scenario, compile_c, tmp_path: Path) -> None:
    """The compiler has the one jump to the other's, with its number."""
    hook = compile_c("libguardhook.so", RESOLVER, "-shared", "-O0")
    source = no_process_vm_readv(past_libc(CONFINES)).replace("static void confined", SHARE, 1)
    source = source.replace("raw(SYS_seccomp, SECCOMP", "either(1, SECCOMP")
    source = source.replace("    confined();", "    either(count - 2, 0, 0, 0);")
    program = compile_c("program", source, "-Os", str(hook), f"-Wl,-rpath,{tmp_path}")
    text = local.run(program, FAST, "RUN", "cuda-log", hook=hook, arguments=("call",))
    assert "exited with code 07" in text and "101 calls kept" in text, text


CATCHES = """    signal(SIGTRAP, _exit);
    confined();
    void *found;"""


@pytest.mark.parametrize("how", ["strict", "filter", "call"])
def test_a_program_that_catches_sigtrap(local: Scenario, compile_c, tmp_path: Path, how: str) -> None:
    """It meets no other breakpoint of ours, for each trap of its own would take ten times as long."""
    if how == "call":
        skip_if_syscall_is_not_watched()
    hook = compile_c("libguardhook.so", RESOLVER, "-shared", "-O0")
    source = "#include <signal.h>\n" + no_process_vm_readv(CONFINES).replace("    void *found;", CATCHES)
    program = compile_c("program", source, "-O0", str(hook), f"-Wl,-rpath,{tmp_path}")
    text = local.run(program, "tbreak confined", "RUN", FAST, "continue", "cuda-log", hook=hook, arguments=(how,))
    assert "exited with code 07" in text, text
    assert f"{1 if how == 'strict' else 101} calls kept" in text, text


MAY_CONFINE_ITSELF = """
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
int cuGetProcAddress_v2(const char *symbol, void **found, int version, unsigned long flags, int *status);
static __attribute__((noinline)) long raw(long number)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number) : "rcx", "r11", "memory");
    return result;
}
static __attribute__((noinline)) void begin(void)
{
    signal(SIGTRAP, _exit);
}
int main(void)
{
    void *found;
    int status;
    begin();
    for (int i = 0; i < 100; i++)
        cuGetProcAddress_v2("cuInit", &found, 12000, 0, &status);
    return raw(SYS_getppid) > 0 ? 7 : 0;
}
"""


def test_a_program_that_catches_sigtrap_and_makes_all_system_calls_itself(local: Scenario, compile_c) -> None:
    """Go's do. Its threads that have made no call are recorded too, though nobody has looked on before."""
    hook = compile_c("libguardhook.so", RESOLVER, "-shared", "-O0")
    program = compile_c("program", MAY_CONFINE_ITSELF, str(hook), f"-Wl,-rpath,{hook.parent}")
    text = local.run(program, "tbreak begin", "RUN", "finish", FAST, "continue", "cuda-log", hook=hook)
    assert "exited with code 07" in text and "100 calls kept" in text, text
    assert "system calls past libc" not in text, text


BUSY = """
    for (int i = 0; i < 1000; i++)
        raw(SYS_getppid, 0, 0, 0);
    confined();
"""


def test_an_instruction_that_makes_many_other_calls(local: Scenario, compile_c, tmp_path: Path) -> None:
    """The program would wait for gdb at each of them."""
    hook = compile_c("libguardhook.so", RESOLVER, "-shared", "-O0")
    source = no_process_vm_readv(past_libc(CONFINES))
    before = "    if (words[1][0] == 's')"
    assert before in source
    program = compile_c("program", source.replace(before, BUSY + before), "-O0", str(hook), f"-Wl,-rpath,{tmp_path}")
    text = local.run(program, FAST, "RUN", "cuda-log", hook=hook, arguments=("call",))
    assert "exited with code 07" in text and "101 calls kept" in text, text
    assert "threads that had made no call, are not recorded: program makes system calls past libc" in text, text


PLUGIN = """
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
void confine(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {4, rules};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_prctl), "D"(PR_SET_SECCOMP), "S"(SECCOMP_MODE_FILTER),
                     "d"(&program) : "rcx", "r11", "memory");
}
"""
LOADS = """
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
int cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, unsigned long long flags, int *status);
int main(int count, char **words)
{
    void *found;
    int status;
    cuGetProcAddress_v2("cuInit", &found, 12000, 0, &status);
    for (int round = 0; round < 2; round++) {
        void *plugin = dlopen(words[1], RTLD_NOW);
        if (round)
            ((void (*)(void))dlsym(plugin, "confine"))();
        else
            dlclose(plugin);
    }
    char *name = malloc(1 << 20);
    strcpy(name + (1 << 19), "cuInit");
    for (int i = 0; i < 10; i++)
        cuGetProcAddress_v2(name + (1 << 19), &found, 12000 + i, 0, &status);
    return 7;
}
"""


def test_in_a_library_that_comes_later(local: Scenario, compile_c, tmp_path: Path) -> None:
    """And goes, and comes again."""
    hook = compile_c("libguardhook.so", RESOLVER, "-shared", "-O0")
    plugin = compile_c("plugin.so", PLUGIN, "-shared", "-O2")
    program = compile_c("program", LOADS, "-O0", str(hook), f"-Wl,-rpath,{tmp_path}")
    text = local.run(program, FAST, "RUN", "cuda-log", hook=hook, arguments=(str(plugin),))
    assert "exited with code 07" in text and "11 calls kept" in text, text


def test_a_core_file_says_what_was_not_noted(local: Scenario, compile_c, tmp_path: Path) -> None:
    hook = compile_c("libguardhook.so", RESOLVER, "-shared", "-O0")
    program = compile_c("program", CONFINES, "-O0", str(hook), f"-Wl,-rpath,{tmp_path}")
    core = tmp_path / "core"
    words = (FAST, "catch syscall exit", "RUN", f"generate-core-file {core}", "kill")
    local.run(program, *words, hook=hook, arguments=("strict",))
    text = local.run(program, f"core-file {core}", "cuda-log show", hook=hook)
    assert "gdbcuda: 100 calls were made where the program may read no clock (strict seccomp).\n" in text, text


CLONES = """
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
static int ends(void *nothing) { _exit(0); }
static void beside(int by_syscall)
{
    static void *stack[1 << 13];
    void **top = stack + (1 << 13) - 1;
    *top = ends; /* there the child returns to */
    if (by_syscall)
        syscall(SYS_clone, CLONE_VM | SIGCHLD, top, 0, 0, 0);
    else
        clone(ends, top, CLONE_VM | SIGCHLD, 0);
    wait(0);
}
int main(int count, char **words)
"""


@pytest.mark.parametrize("how", ["filter", "call"])
def test_behind_a_child_that_shares_the_memory(local: Scenario, compile_c, tmp_path: Path, how: str) -> None:
    """gdb takes its breakpoints out of both: nobody saw the program confine itself, and it died of the recorder."""
    if how == "call":
        skip_if_syscall_is_not_watched()
    hook = compile_c("libguardhook.so", RESOLVER, "-shared", "-O0")
    source = no_process_vm_readv(CONFINES).replace("int main(int count, char **words)", CLONES)
    source = source.replace("    char *name", "    beside(words[1][0] == 'c');\n    char *name")
    program = compile_c("program", source, "-O0", str(hook), f"-Wl,-rpath,{tmp_path}")
    text = local.run(program, FAST, "RUN", "cuda-log", hook=hook, arguments=(how,))
    assert "exited with code 07" in text, text
    assert "are not recorded: the program makes a child that shares its memory (clone, CLONE_VM)" in text, text


LETS_GO = """
#include <stdio.h>
#include <sys/wait.h>
int main(int count, char **words)
{
    for (int i = 1; i < count; i++) {
        int status = -1;
        if (!fork())
            confines(2, words + i - 1);
        wait(&status);
        printf("%s: %x\\n", words[i], status);
    }
    return 3;
}
"""


def test_children_that_gdb_lets_go(placed: Scenario, compile_c, tmp_path: Path) -> None:
    """Nobody sees them confine themselves, nor reads what they record: they record nothing."""
    hook = compile_c("libguardhook.so", RESOLVER, "-shared", "-O0")
    source = no_process_vm_readv(CONFINES).replace("int main(", "static int confines(") + LETS_GO
    program = compile_c("program", source, "-O0", str(hook), f"-Wl,-rpath,{tmp_path}")
    text = placed.run(program, FAST, "RUN", hook=hook, arguments=("strict", "filter"))
    assert "strict: 700" in text and "filter: 700" in text and "exited with code 03" in text, text
