"""Guards in programs that make children which share their memory, and run on meanwhile."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from guard_programs import HOOK
from scenario import Scenario, is_before_13, skip_if_syscall_is_not_watched
from test_guard import ON

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")
SILENT = "set cuda-stop-info off"

BY_BYTES = """
__asm__(".text\\n.globl cuMemAlloc_v2\\n.type cuMemAlloc_v2,@function\\ncuMemAlloc_v2:\\n"
        "mov (%rdi),%rax\\nmov %rax,%rdx\\nshl $5,%rdx\\nsub %rax,%rdx\\nadd %rsi,%rdx\\nmov %rdx,(%rdi)\\n"
        "xor %eax,%eax\\nret\\n.size cuMemAlloc_v2,.-cuMemAlloc_v2\\n");
"""
CLONES = """
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
static volatile int over;
static long wrong;
static void *work(void *argument)
{
    for (unsigned long i = 0; !over; i++) {
        unsigned long long sum = 7ull << 40 | i, before = sum;
        unsigned long bytes = i % 200 ? 4 : 5;
        cuMemAlloc_v2(&sum, bytes);
        if (sum != before * 31 + bytes)
            __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
    }
    return argument;
}
static int child(void *argument)
{
    (void)argument;
    _exit(40);
}
int main(void)
{
    static char stack[1 << 16];
    pthread_t thread[4];
    int good = 0;
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < 200; i++) {
        int status;
        pid_t made = clone(child, stack + sizeof stack, CLONE_VM | SIGCHLD | (i % 2 ? CLONE_VFORK : 0), NULL);
        good += waitpid(made, &status, 0) == made && WIFEXITED(status) && WEXITSTATUS(status) == 40;
        usleep(300);
    }
    over = 1;
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    printf("good %d, wrong %ld\\n", good, wrong);
    return 0;
}
"""


def changed(changes: tuple[tuple[str, str], ...]) -> str:
    """The same program, with children made in another way."""
    source = CLONES
    for before, after in changes:
        assert before in source
        source = source.replace(before, after)
    return source


def play_clones(
    local: Scenario, compile_c, source: str, flags: tuple[str, ...], children: int, condition: str, *words: str
) -> None:
    """It ends as without gdb, and what gdb does at such a child is said once."""
    if is_before_13():
        pytest.skip("before gdb 13, gdb alone does not come to this program's end either")
    hook = compile_c("libguardhook.so", BY_BYTES, "-shared")
    program = compile_c("program", source, *flags, str(hook), "-pthread", f"-Wl,-rpath,{hook.parent}")
    make = ("set displaced-stepping off", ON, SILENT, f"cuda-break cuMemAlloc if {condition}")
    text = local.run(program, *make, *words, "RUN", hook=hook)
    assert f"good {children}, wrong 0" in text and "exited normally" in text, text
    assert text.count("takes its breakpoints out of both, and misses calls until the next stop\n") == 1, text


def test_clones_that_share_memory(local: Scenario, compile_c) -> None:
    """gdb takes its breakpoints out of a child, and so out of the parent, one by one, while other threads run on. (In
    place: else gdb puts back in the child, and so in the parent, the bytes that a displaced step executes.)"""
    play_clones(local, compile_c, CLONES, ("-O1",), 200, "bytesize == 5", "ignore 1 100000")


# By libc's syscall(), which returns in the child to what its new stack begins with.
PAST_LIBC = (
    ("#include <sys/wait.h>\n", "#include <signal.h>\n#include <sys/syscall.h>\n#include <sys/wait.h>\n"),
    ("static int child(void *argument)\n{\n    (void)argument;\n    _exit(40);\n", """static void child(void)
{
    for (;;)
        __asm__ volatile("syscall" : : "a"(231), "D"(40) : "rcx", "r11", "memory");
"""),
    ("static char stack", "static _Alignas(64) char stack"),
    ("        int status;\n", """        int status;
        void **top = (void **)(stack + sizeof stack - 64);
        *top = (void *)child;
"""),
    ("clone(child, stack + sizeof stack, CLONE_VM | SIGCHLD | (i % 2 ? CLONE_VFORK : 0), NULL)",
     "(pid_t)syscall(SYS_clone, CLONE_VM | SIGCHLD | (i % 2 ? CLONE_VFORK : 0), top, 0, 0, 0)"),
)  # fmt: skip


def test_clones_past_libc_that_share_memory(local: Scenario, compile_c) -> None:
    skip_if_syscall_is_not_watched()
    play_clones(local, compile_c, changed(PAST_LIBC), ("-O1",), 200, "bytesize == 77")


# By an instruction of the program's own: the flags are loaded long before.
BY_ITSELF = (
    ("#include <sys/wait.h>\n", "#include <signal.h>\n#include <sys/wait.h>\n"),
    ("static int child(void *argument)\n{\n    (void)argument;\n    _exit(40);\n",
     """static WHERE long cloned(long flags, char *top)
{
    register long none __asm__("r10") = 0, tls __asm__("r8") = 0;
    long made;
    __asm__ volatile("syscall\\n test %%rax,%%rax\\n jnz 1f\\n mov $40,%%edi\\n mov $231,%%eax\\n syscall\\n1:"
                     : "=a"(made) : "a"(56L), "D"(flags), "S"(top), "d"(0L), "r"(none), "r"(tls)
                     : "rcx", "r11", "memory");
    return made;
"""),
    ("clone(child, stack + sizeof stack, CLONE_VM | SIGCHLD | (i % 2 ? CLONE_VFORK : 0), NULL)",
     "(pid_t)cloned(CLONE_VM | SIGCHLD, stack + sizeof stack)"),
    ("i < 200", "i < 60"),
)  # fmt: skip


@pytest.mark.parametrize("flags", [("-O1", "-DWHERE=inline"), ("-O0", "-DWHERE=", "-s")])
def test_clones_by_an_instruction_of_its_own(local: Scenario, compile_c, flags: tuple[str, ...]) -> None:
    play_clones(local, compile_c, changed(BY_ITSELF), flags, 60, "bytesize == 77")


OTHER_CALLS = """
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
static __attribute__((noinline)) void over(void)
{
    __asm__ volatile("");
}
int main(void)
{
    unsigned long long sum = 0;
    for (int i = 0; i < 4000; i++)
        cuMemAlloc_v2(&sum, syscall(SYS_gettid) == 0);
    over();
    return 0;
}
"""
LOOKING = """python
from gdbcuda.live.guard import libc_calls
see, looks = libc_calls.LibcCall.see, {}
def counted(self):
    looks[id(self)] = looks.get(id(self), 0) + 1
    see(self)
libc_calls.LibcCall.see = counted
end
"""
LOOKS = """python
print("looks", max(looks.values()))
end
"""


FORKS_BY_CLONE3 = """
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
static __attribute__((noinline)) void over(void)
{
    __asm__ volatile("");
}
static void *wait_long(void *unused)
{
    sleep(1000);
    return unused;
}
int main(void)
{
    unsigned long long sum = 0;
    unsigned long how[11] = {FLAGS, [4] = SIGCHLD};
    pthread_t thread;
    pthread_create(&thread, NULL, wait_long, NULL);
    cuMemAlloc_v2(&sum, 4);
    long made = syscall(SYS_clone3, how, sizeof how);
    if (!made)
        _exit(0);
    waitpid(made, NULL, 0);
    over();
    return 0;
}
"""


@pytest.mark.parametrize(("flags", "is_kept"), [("0", True), ("0x100 | 0x4000", True), ("0x100", False)])
def test_the_flags_of_clone3_are_where_its_argument_leads(
    local: Scenario, compile_c, tmp_path: Path, flags: str, is_kept: bool
) -> None:
    """Most of its children share nothing. (CLONE_VM is 0x100, with 0x4000 the parent waits.)"""
    skip_if_syscall_is_not_watched()
    if is_before_13():
        pytest.skip("before gdb 13 guards go in front of other calls too")
    hook = compile_c("libguardhook.so", HOOK, "-shared")
    source = FORKS_BY_CLONE3.replace("FLAGS", flags)
    if not is_kept:  # it would use its parent's stack: the kernel refuses what is no size of the struct
        source = source.replace("sizeof how", "1")
    program = compile_c("program", source, "-O1", str(hook), "-pthread", f"-Wl,-rpath,{tmp_path}")
    words = (ON, "cuda-break cuMemAlloc if bytesize == 5", "tbreak over", "RUN", "cuda-guards")
    text = local.run(program, *words, hook=hook)
    assert bool(re.search("^1 +in the process", text, re.MULTILINE)) == is_kept, text


def test_who_makes_other_system_calls_is_let_alone(local: Scenario, compile_c, tmp_path: Path) -> None:
    """Each look is a stop."""
    skip_if_syscall_is_not_watched()
    if is_before_13():
        pytest.skip("before gdb 13 nothing is silent without a prompt")
    hook = compile_c("libguardhook.so", HOOK, "-shared")
    program = compile_c("program", OTHER_CALLS, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}")
    (tmp_path / "looking.gdb").write_text(LOOKING)
    (tmp_path / "looks.gdb").write_text(LOOKS)
    words = (f"source {tmp_path}/looking.gdb", ON, "cuda-break cuMemAlloc if bytesize == 5", "tbreak over", "RUN",
             f"source {tmp_path}/looks.gdb")  # fmt: skip
    text = local.run(program, *words, "continue", hook=hook)
    assert re.search("^looks (2|3|4)\\d\\d$", text, re.MULTILINE) and "exited normally" in text, text


BY_ONE_INSTRUCTION = """
long any_call(long number, long first);
__asm__(".text\\n.type any_call,@function\\nany_call:\\n push %rbx\\n mov %rdi,%rax\\n mov %rsi,%rbx\\n"
        "mov %rbx,%rdi\\n syscall\\n pop %rbx\\n ret\\n.size any_call,.-any_call\\n");
"""


def test_a_call_of_another_number_by_the_instruction_for_all_is_no_child(
    local: Scenario, compile_c, tmp_path: Path
) -> None:
    """Go's programs make all their system calls by one, in front of which the first argument is moved."""
    hook = compile_c("libguardhook.so", HOOK, "-shared")
    source = BY_ONE_INSTRUCTION + OTHER_CALLS.replace("syscall(SYS_gettid)", "any_call(SYS_gettid, 0x100)")
    program = compile_c("program", source.replace("4000", "3"), "-O1", str(hook), f"-Wl,-rpath,{tmp_path}")
    words = (ON, "cuda-break cuMemAlloc if bytesize == 5", "tbreak over", "RUN", "cuda-guards", "continue")
    text = local.run(program, *words, hook=hook)
    assert re.search("^1 +in the process", text, re.MULTILINE) and "exited normally" in text, text
    assert "takes its breakpoints out" not in text
