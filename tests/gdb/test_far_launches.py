"""Through gdbserver, gdb leaves breakpoints in a child by vfork once another child has shared the program's memory."""

from __future__ import annotations

from pathlib import Path

from scenario import Scenario

HOOK = """
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize) { *dptr = bytesize; return 0; }
int cuMemFree_v2(unsigned long long dptr) { return dptr == 1; }
"""
PROGRAM = """
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
int cuMemFree_v2(unsigned long long dptr);
static volatile int is_over;
static int shares(void *unused)
{
    (void)unused;
    _exit(40);
}
static void call(void)
{
    unsigned long long block;
    cuMemAlloc_v2(&block, 5);
    cuMemFree_v2(5);
}
static void *work(void *unused)
{
    while (!is_over) {
        call();
        usleep(200);
    }
    return unused;
}
static int launch(int executes)
{
    int status;
    pid_t child = vfork();
    if (child == 0) {
        if (executes)
            execl("/bin/true", "true", (char *)NULL);
        _exit(0);
    }
    waitpid(child, &status, 0);
    return status != 0;
}
void never(void)
{
}
int main(void)
{
    static char stack[1 << 16];
    int status, died = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    for (int i = 0; i < 10; i++) {
        call();
        waitpid(clone(shares, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL), &status, 0);
        call();
        died += launch(1) + launch(0);
    }
    is_over = 1;
    pthread_join(thread, NULL);
    return died;
}
"""


def test_no_child_by_vfork_meets_what_is_ours_in_libc(shim: Path, compile_c, tmp_path: Path) -> None:
    """gdb takes out none behind the first that gdbserver does not know any more, by address: the user's."""
    hook = compile_c("libfar.so", HOOK, "-shared", "-g0", "-O1")
    program = compile_c("program", PROGRAM, str(hook), f"-Wl,-rpath,{tmp_path}", "-pthread")
    far = Scenario(shim, "gdbserver", beside=str(shim / "libgdbcuda.so"))
    counted = "cuda-break cuMemAlloc --count --from any if bytesize == 99"
    assert "exited normally" in far.run(program, "break never", counted, "RUN", hook=None)
