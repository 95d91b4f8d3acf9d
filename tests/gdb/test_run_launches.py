"""`gdbcuda run`: programs that launch others, and processes that end while others go on."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from run_command import RunTypist, run
from scenario import Scenario, is_cuda_gdb


@pytest.fixture(autouse=True)
def _keeps_children() -> None:
    if is_cuda_gdb():
        pytest.skip("cuda-gdb keeps no children: gdbcuda run says so")


VFORKS = """
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned long rounds;

static void *go_on(void *unused)
{
    for (;; usleep(1000))
        __atomic_add_fetch(&rounds, 1, __ATOMIC_SEQ_CST);
    return unused;
}

int main(void)
{
    pthread_t thread;
    int ends[2];
    pthread_create(&thread, NULL, go_on, NULL);
    for (int i = 0; i < 2; i++) {
        if (pipe(ends))
            return 2;
        pid_t child = vfork();
        if (child == 0) {
            dup2(ends[0], 0);
            close(ends[1]);
            execlp("cat", "cat", (char *)NULL);
            _exit(3);
        }
        close(ends[0]);
        usleep(200000); /* the child is in its main by then, mostly */
        unsigned long before = __atomic_load_n(&rounds, __ATOMIC_SEQ_CST);
        for (int j = 0; j < 50 && __atomic_load_n(&rounds, __ATOMIC_SEQ_CST) == before; j++)
            usleep(100000);
        puts(__atomic_load_n(&rounds, __ATOMIC_SEQ_CST) == before ? "the thread stands still" : "the thread goes on");
        close(ends[1]);
        waitpid(child, NULL, 0);
    }
    return 0;
}
"""


LAUNCHES = """
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    for (int i = 0; i < 3; i++)
        if (vfork() == 0) {
            if (i) /* meanwhile the one before comes to gdb's breakpoint in its loader */
                usleep(300000);
            execlp("cat", "cat", "/dev/null", (char *)NULL);
            _exit(3);
        }
    for (int status, i = 0; i < 3; i++)
        wait(&status);
    puts("all have ended");
    return 0;
}
"""


def test_threads_go_on_beside_a_child_by_vfork(local: Scenario, tmp_path: Path) -> None:
    """As those of a launcher that its workers talk to: they would wait for each other for ever."""
    program = tmp_path / "vforks"
    program.with_suffix(".c").write_text(VFORKS)
    subprocess.run(["gcc", "-o", program, program.with_suffix(".c"), "-lpthread"], check=True)
    done = run(local, "--", program)
    assert done.stdout.count("the thread goes on") == 2 and "stands still" not in done.stdout, done


def test_a_child_that_loads_while_the_next_one_is_launched(local: Scenario, tmp_path: Path) -> None:
    """gdb cannot stop a parent at a vfork, and would wait for it."""
    program = tmp_path / "launches"
    program.with_suffix(".c").write_text(LAUNCHES)
    subprocess.run(["gcc", "-o", program, program.with_suffix(".c")], check=True)
    assert run(local, "--", program).stdout == "all have ended\n"


OF_EVERY_KIND = """
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
int cuInit(unsigned), cuDevicePrimaryCtxRetain(void **, int), cuCtxSetCurrent(void *), cuMemAlloc_v2(void **, size_t);

int main(void)
{
    char *words[] = {"true", NULL};
    void *context, *block;
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    if (vfork() == 0) {
        execl("/no/such/program", "x", (char *)NULL);
        _exit(127);
    }
    cuMemAlloc_v2(&block, 64 << 20);
    if (vfork() == 0)
        _exit(4);
    cuMemAlloc_v2(&block, 64 << 20);
    posix_spawnp(&(pid_t){0}, "true", NULL, NULL, words, environ);
    cuMemAlloc_v2(&block, 64 << 20);
    int status = system("exit 3");
    cuMemAlloc_v2(&block, 64 << 20);
    while (wait(NULL) > 0)
        ;
    printf("ended with %d\\n", WEXITSTATUS(status));
    return 5;
}
"""


def test_launches_of_every_kind(local: Scenario, tmp_path: Path) -> None:
    """One that fails, one without a program, one by posix_spawn, one by system."""
    program = tmp_path / "launches"
    program.with_suffix(".c").write_text(OF_EVERY_KIND)
    line = ["gcc", "-D_GNU_SOURCE", "-o", program, program.with_suffix(".c"), f"-L{local.shim}/standin", "-lcuda"]
    subprocess.run(line, check=True)
    done = run(local, "--break", "cuMemAlloc", "--memory", "--", program)
    assert (done.returncode, done.stdout) == (5, "ended with 3\n")
    assert done.stderr.count("Breakpoint 1  driver libcuda.so.1  cuMemAlloc_v2(") == 4
    assert "not freed at exit: 4 blocks: device 268435456 [256.00 MiB] in 4" in done.stderr


def test_a_step_ends_at_a_launch_and_all_can_run_again(local: Scenario, tmp_path: Path) -> None:
    program = tmp_path / "launches"
    source = LAUNCHES.replace("{\n", "{\n    raise(SIGSEGV);\n", 1)
    program.with_suffix(".c").write_text(f"#include <signal.h>\n{source}")
    subprocess.run(["gcc", "-g", "-o", program, program.with_suffix(".c")], check=True)
    typist = RunTypist(local, "--", program)
    try:
        assert "received signal SIGSEGV" in typist.started
        stepped = [typist.type(line) for line in ("handle SIGSEGV nopass", "up 2", *["next"] * 5)]
        assert "gdbcuda: a vfork has ended the step: finish leads out of it" in "".join(stepped)
        assert re.search(r"\[Inferior 1 \(process \d+\) exited normally\]", typist.type("continue"))
        assert re.search(r"^\* 1 .*launches", typist.type("info inferiors"), re.MULTILINE)
        assert "received signal SIGSEGV" in typist.type("run")
    finally:
        typist.end()


def test_a_process_that_ends_stops_no_other(local: Scenario, tmp_path: Path) -> None:
    typist = RunTypist(local, "--", "sh", "-c", "for i in 1 2 3; do /bin/true; done; kill -SEGV $$")
    try:
        assert "received signal SIGSEGV" in typist.started
    finally:
        typist.end()


RANKS_THAT_END = """
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int cuInit(unsigned), cuDevicePrimaryCtxRetain(void **, int), cuCtxSetCurrent(void *), cuMemAlloc_v2(void **, size_t);
static void *context;

static void *allocate(void *calls)
{
    void *block;
    cuCtxSetCurrent(context);
    for (long i = 0; !calls || i < (long)calls; i++, usleep(500))
        cuMemAlloc_v2(&block, 4096);
    return NULL;
}

static void rank(int number)
{
    pthread_t thread;
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    for (int i = 0; i < 4; i++)
        pthread_create(&thread, NULL, allocate, NULL);
    allocate((void *)20);
    if (number == 0)
        exit(3);
    if (number == 1)
        kill(getpid(), SIGTERM);
    abort();
}

int main(void)
{
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        int status;
        if (child == 0)
            rank(i);
        waitpid(child, &status, 0);
        printf("%d %d\\n", WEXITSTATUS(status), WTERMSIG(status));
    }
    fflush(stdout);
    pid_t first = getpid();
    if (fork() == 0)
        while (getppid() == first)
            usleep(1000);
    else
        rank(0);
    return 0;
}
"""


def test_processes_whose_threads_stop_while_they_end(local: Scenario, tmp_path: Path) -> None:
    """gdb would lose what it knows of all of them: one that exits, one that gets a signal from outside, one that
    aborts, and the first of all while another one is there."""
    program = tmp_path / "ranks"
    program.with_suffix(".c").write_text(RANKS_THAT_END)
    line = ["gcc", "-D_GNU_SOURCE", "-o", program, program.with_suffix(".c"), f"-L{local.shim}/standin", "-lcuda"]
    subprocess.run([*line, "-lpthread"], check=True)
    done = run(local, "--break", "cuMemAlloc if bytesize == 7", "--", program)
    assert (done.returncode, done.stdout) == (3, "3 0\n0 15\n0 6\n"), done.stderr
    assert "gdbcuda:" not in done.stderr and "SIGABRT in process" in done.stderr and "SIGTERM" not in done.stderr
