"""detach and quit while threads fork: a child that gdb has not heard of yet runs as it does alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from running_program import DETACHED_TO_ITS_END
from scenario import GDBSERVER, Scenario
from test_fast_log import lists_locations

FORKERS = """
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
static int forks, good, bad;
static void *work(void *argument)
{
    unsigned long long place;
    int status;
    for (int i = 0; i < 12; i++) {
        __atomic_fetch_add(&forks, 1, __ATOMIC_RELAXED);
        pid_t child = fork();
        if (!child) {
            cuMemAlloc_v2(&place, 1);
            _exit(40);
        }
        waitpid(child, &status, 0);
        __atomic_fetch_add(WIFEXITED(status) && WEXITSTATUS(status) == 40 ? &good : &bad, 1, __ATOMIC_RELAXED);
    }
    return argument;
}
int main(int count, char **words)
{
    pthread_t thread[16];
    for (int i = 0; i < 16; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    while (__atomic_load_n(&forks, __ATOMIC_RELAXED) < 48)
        ;
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR2);
    for (int i = 0; i < 16; i++)
        pthread_join(thread[i], NULL);
    FILE *told = fopen(words[1], "w");
    fprintf(told, "good %d, bad %d\\n", good, bad);
    return count + fclose(told);
}
"""
HOOK = "int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize) { *dptr = bytesize; return 0; }"


WATCHED = (["cuda-log start cuMemAlloc"], ["cuda-break cuMemAlloc if bytesize == 77"],
           ["set cuda-guard off", "cuda-break cuMemAlloc if bytesize == 77"])  # fmt: skip


@pytest.mark.parametrize("watched", WATCHED, ids=["log", "guard", "gdb tests"])
def test_children_that_gdb_has_not_heard_of(scenario: Scenario, compile_c, tmp_path: Path, watched: list[str]) -> None:
    """gdb alone leaves its breakpoints in them, and so it did ours: they died of SIGTRAP. And whoever asks a gdbserver
    for threads where one forks has gdb take the child for a process of its own, in which it ends itself."""
    hook = compile_c("libforkedhook.so", HOOK, "-shared")
    program = compile_c("program", FORKERS, str(hook), "-pthread", f"-Wl,-rpath,{tmp_path}")
    told = tmp_path / "told"
    wait = f"shell for i in $(seq 300); do [ -s {told} ] && break; sleep 0.1; done; cat {told}"
    for _ in range(2):
        words = ("handle SIGUSR2 stop nopass", "tbreak main", "RUN", *watched, "continue", "detach", wait)
        text = scenario.run(program, *words, hook=hook, arguments=(str(told),))
        assert "good 192, bad 0" in text and "detached]" in text, text
        assert "New inferior" not in text and "Remote communication error" not in text, text
        told.unlink()


def test_an_ide_lets_go_while_children_wait(local: Scenario, compile_c, tmp_path: Path) -> None:
    """MI's own detach asks no hook: what is to be out of them then is so at each stop."""
    pytest.importorskip("pygdbmi.gdbcontroller", reason="pygdbmi is not installed (scripts/test installs it)")
    if not lists_locations():
        pytest.skip("what this gdb's breakpoints are at only a command tells, and at a stop there is none")
    from clients.mi import Ide

    hook = compile_c("libforkedhook.so", HOOK, "-shared")
    program = compile_c("program", FORKERS, str(hook), "-pthread", f"-Wl,-rpath,{tmp_path}")
    told = tmp_path / "told"
    ide = Ide(program, (str(told),), local.environment())
    try:
        for word in ("handle SIGUSR2 stop nopass", "-break-insert -t main", "-exec-run"):
            ide.do(word)
        ide.stop()
        for word in (*WATCHED[2], "-exec-continue"):
            ide.do(word)
        ide.stop()
        ide.do("-target-detach")
        ide.do(f"shell for i in $(seq 300); do [ -s {told} ] && break; sleep 0.1; done")
        assert told.read_text() == "good 192, bad 0\n"
    finally:
        ide.close()


@pytest.mark.parametrize("watched", WATCHED[1:], ids=["guard", "gdb tests"])
def test_breakpoints_that_go_while_children_wait(
    scenario: Scenario, compile_c, tmp_path: Path, watched: list[str]
) -> None:
    """As detach: what gdb has no more in its table when it hears of a child it does not take out of it."""
    if not lists_locations():
        pytest.skip("what this gdb's breakpoints are at only a command tells, and there is none in its event")
    hook = compile_c("libforkedhook.so", HOOK, "-shared")
    program = compile_c("program", FORKERS, str(hook), "-pthread", f"-Wl,-rpath,{tmp_path}")
    told = tmp_path / "told"
    for goes in ("delete", "disable"):
        words = ("handle SIGUSR2 stop nopass", "tbreak main", "RUN", *watched, "continue", goes, "continue")
        text = scenario.run(program, *words, hook=hook, arguments=(str(told),))
        assert told.read_text() == "good 192, bad 0\n", text
        told.unlink()


@pytest.mark.parametrize("watched", WATCHED[1:], ids=["guard", "gdb tests"])
def test_quit_where_gdb_has_attached(local: Scenario, compile_c, tmp_path: Path, watched: list[str]) -> None:
    """As detach, which has a hook; gdb's end has an event."""
    if not lists_locations():
        pytest.skip("what this gdb's breakpoints are at only a command tells, and at gdb's end there is none")
    hook = compile_c("libforkedhook.so", HOOK, "-shared")
    waits = FORKERS.replace("static int forks,", "static volatile int go;\nstatic int forks,", 1)
    waits = waits.replace("    pthread_t thread[16];", "    while (!go)\n        ;\n    pthread_t thread[16];")
    waits = waits.replace("    syscall(SYS_tgkill", "    signal(SIGUSR2, SIG_IGN);\n    syscall(SYS_tgkill")
    program = compile_c("program", waits, str(hook), "-pthread", f"-Wl,-rpath,{tmp_path}")
    told = tmp_path / "told"
    for _ in range(3):
        with subprocess.Popen([program, told]) as running:
            words = ("handle SIGUSR2 stop nopass", f"attach {running.pid}", *watched, "set variable go = 1", "continue")
            text = local.run(None, *words, hook=None)
            if "ptrace: Operation not permitted" in text:
                running.kill()
                pytest.skip("this machine does not let us attach")
        assert "received signal SIGUSR2" in text and told.read_text() == "good 192, bad 0\n", text
        told.unlink()


REWRITES = """
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
__attribute__((noinline, aligned(4096))) void first(void) { __asm__ volatile("nop"); }
__attribute__((noinline)) void second(void) { __asm__ volatile("nop"); }
static volatile unsigned char own;
__attribute__((constructor)) static void look(void)
{
    own = *(volatile unsigned char *)first;
}
int main(void)
{
    unsigned long long place;
    cuMemAlloc_v2(&place, 5);
    mprotect((void *)first, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
    *(volatile unsigned char *)first = own;
    raise(SIGUSR2);
    first();
    second();
    cuMemAlloc_v2(&place, 7);
    printf("came to its end with %llu\\n", place);
    return 0;
}
"""


def test_a_breakpoint_that_the_server_knows_no_more(shim: Path, compile_c, tmp_path: Path) -> None:
    """With a guard they stay in the process while it stands. (At the next one that is made gdbserver finds it gone.)"""
    hook = compile_c("liblosthook.so", HOOK, "-shared")
    program = compile_c("rewrites", REWRITES, str(hook), f"-Wl,-rpath,{tmp_path}")
    guard = "cuda-break cuMemAlloc if bytesize == 77"
    text = Scenario(shim, "gdbserver").run(
        program, "handle SIGUSR2 stop nopass", "tbreak main", "RUN", guard, "break *first", "break *second",
        "continue", "break *main", *DETACHED_TO_ITS_END, hook=hook,
    )  # fmt: skip
    assert "came to its end with 7" in text, text


ENDS = {
    "end of the script": "echo",
    "quit": "quit",
    "detach inferiors": "detach inferiors 1",
    "SIGTERM": "shell kill -TERM $PPID",
    "SIGHUP": "shell kill -HUP $PPID",
}


@pytest.mark.parametrize("way", ENDS)
def test_gdb_ends_and_the_server_knows_a_breakpoint_no_more(local: Scenario, compile_c, tmp_path: Path, way) -> None:
    """What has been attached to goes on: detach is one way of many."""
    if not lists_locations() and not way.startswith("detach"):
        pytest.skip("gdb before 12 tells nobody that it ends")
    hook = compile_c("liblosthook.so", HOOK, "-shared")
    waits = REWRITES.replace("    mprotect(", "    static volatile int go;\n    while (!go)\n        ;\n    mprotect(")
    waits = waits.replace("    raise(", "    signal(SIGUSR2, SIG_IGN);\n    raise(")
    program = compile_c("rewrites", waits, str(hook), f"-Wl,-rpath,{tmp_path}")
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as running:
        attach = f"target remote | {GDBSERVER} --once --attach - {running.pid}"
        words = (attach, "handle SIGUSR2 stop nopass", "cuda-break cuMemAlloc if bytesize == 77", "break *first",
                 "break *second", "set variable main::go = 1", "continue", "break *main", ENDS[way])  # fmt: skip
        text = local.run(None, *words, hook=None)
        if "Operation not permitted" in text:
            running.kill()
            pytest.skip("this machine does not let us attach")
        told = running.communicate(timeout=60)[0]
    assert (told, running.returncode) == ("came to its end with 7\n", 0) and "SIGUSR2" in text, text
