"""Threads that gdb takes for running are held still for a moment, and those that cannot be stopped are let be."""

from __future__ import annotations

from pathlib import Path

from scenario import Scenario

WAITS = """
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int cuInit(unsigned);
static char stack[1 << 16];
static int child(void *unused) { while (access(getenv("END"), F_OK)) usleep(1000); return 0; }
int main(void) {
    char line[8];
    cuInit(0);
    puts("ready"); fflush(stdout);
    while (access(getenv("BEGIN"), F_OK)) usleep(1000);
    clone(child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | CLONE_UNTRACED | SIGCHLD, 0);
    wait(0);
    if (!fgets(line, 8, stdin)) return 2;
    puts("over");
    return 5;
}
"""
HOLD = "python with held_still.held_still() as are_still: print('still', are_still, held_still.is_asked_already(pid))"


def test_who_waits_in_the_kernel_is_sent_nothing(local: Scenario, working, tmp_path: Path) -> None:
    """A SIGSTOP would stop the program when gdb has gone. And nobody waits for it twice."""
    program = working(WAITS, BEGIN=str(tmp_path / "begin"), END=str(tmp_path / "end"))
    text = local.run(
        None, f"attach {program.pid}", "python from gdbcuda.live.threads import held_still, raw_stacks",
        "python import time; pid = gdb.selected_inferior().pid", "continue &",
        f"python open({str(tmp_path / 'begin')!r}, 'w')",
        "python while raw_stacks.state(pid) != 'D': time.sleep(0.001)",
        HOLD, "python held_still.PATIENCE = 1e9", HOLD, f"python open({str(tmp_path / 'end')!r}, 'w')", hook=None,
    )  # fmt: skip
    assert text.count("still False False\n") == 2, text
    program.goes_on()
