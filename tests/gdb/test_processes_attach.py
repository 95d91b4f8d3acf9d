"""Attach to a program that runs, and let it go: it goes on as if nobody had been there."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from guard_programs import HOOK
from scenario import Scenario

WORK = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int cuInit(unsigned); int cuDeviceGet(int *, int); int cuDevicePrimaryCtxRetain(void **, int);
int cuCtxSetCurrent(void *); int cuMemAlloc_v2(unsigned long *, unsigned long); int cuMemFree_v2(unsigned long);
int main(void) {
    int device, over = 0; void *context; char line[8];
    cuInit(0); cuDeviceGet(&device, 0); cuDevicePrimaryCtxRetain(&context, device); cuCtxSetCurrent(context);
    puts("ready"); fflush(stdout);
    for (unsigned long count = 0; count < 200; count++) {
        unsigned long block;
        if (cuMemAlloc_v2(&block, 1000 + count) || cuMemFree_v2(block)) return 2;
        usleep(10000);
    }
    for (char **one = environ; *one; one++) over++;
    printf("variables %d, preload %s\\n", over, getenv("LD_PRELOAD"));
    return 0;
}
"""


class Running:
    def __init__(self, program: Path, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen([str(program)], env=environment, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None and self.process.stdout.readline() == "ready\n"

    def end(self) -> tuple[str, int]:
        out, _ = self.process.communicate(timeout=60)
        return out, self.process.returncode


@pytest.fixture
def started(local: Scenario, compile_c) -> Iterator:
    program = compile_c("work", "#define _GNU_SOURCE\n" + WORK, f"-L{local.shim}/standin", "-l:libcuda.so.1")
    running: list[Running] = []

    def start(**environment: str) -> Running:
        running.append(Running(program, {"LD_LIBRARY_PATH": f"{local.shim}/standin", **environment}))
        return running[-1]

    yield start
    for one in running:
        one.process.kill()
        one.process.wait()


def test_with_the_hook_and_away_again(local: Scenario, started) -> None:
    program = started(LD_PRELOAD=str(local.hook))
    text = local.run(
        None, f"attach {program.process.pid}", "cuda-load", "cuda-break cuMemAlloc --on return", "cuda-dlsym log on",
        "cuda-log start cuMemAlloc", "set cuda-recursion-limit 50", "continue", "cuda-call", "detach",
        "info breakpoints", hook=None,
    )  # fmt: skip
    out, status = program.end()
    assert "in the process: libgdbcuda-hook.so" in text
    assert "= CUDA_SUCCESS\n              returned to app main() at work.c:" in text
    assert "not freed at exit" not in text
    assert "$_cuda_returned" not in text.rpartition("detached]")[2]  # breakpoints at call sites are gone
    assert (out, status) == (f"variables 2, preload {local.hook}\n", 0)


def test_through_a_gdbserver_it_is_said_how_to_start_it(local: Scenario, compile_c) -> None:
    waits = "#include <unistd.h>\nint main(void) { return write(1, \"ready\\n\", 6) != 6 || pause(); }"
    running = Running(compile_c("waits", waits), {})
    try:
        server = f"target remote | gdbserver --once --attach - {running.process.pid}"
        text = local.run(None, f"cuda-load {local.hook}", "set remotetimeout 60", server, "detach", hook=None)
    finally:
        running.process.kill()
        running.end()
    how = f"its LD_PRELOAD is not set; start it there with  gdbserver --wrapper env LD_PRELOAD={local.hook} -- …"
    assert f"is NOT in this process: {how} (" in text


def test_without_the_hook_it_is_said(local: Scenario, started) -> None:
    program = started()
    text = local.run(
        None, f"attach {program.process.pid}", "cuda-check", "cuda-load", f"cuda-load {local.hook}", "cuda-check",
        "cuda-break cuMemAlloc", "detach", hook=None,
    )  # fmt: skip
    out, status = program.end()
    pid = program.process.pid
    said = f"no hook library in process {pid}; LD_PRELOAD works at a start only: cuda-load ./libhook.so, run"
    assert text.count(said) == 2
    why = "it was started without it, and LD_PRELOAD works at a start only (cuda-help processes)"
    assert f"is NOT in this process: {why}\n" in text
    assert "It will be preloaded by the next run." in text
    assert "work: the hook is inert (preload-lost)" in text
    assert f"hook {local.hook.name} (pending: it is not in this process; --in driver stops without it)" in text
    assert (out, status) == ("variables 1, preload (null)\n", 0)


EXECUTES = """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
static void *wait_for_ever(void *nothing)
{
    for (;;)
        pause();
    return nothing;
}
static int tracer(void)
{
    char line[256];
    int pid = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof(line), file) && sscanf(line, "TracerPid: %d", &pid) != 1)
        ;
    fclose(file);
    return pid;
}
int main(int count, char **words)
{
    unsigned long long block = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_ever, NULL);
    if (count == 1) {
        puts("ready");
        fflush(stdout);
        while (!tracer())
            usleep(10000);
        execl("/proc/self/exe", words[0], "again", (char *)0);
    }
    for (int i = 0; i < 1000; i++)
        cuMemAlloc_v2(&block, i == 500 ? 1ul << 40 : i);
    return 4;
}
"""


@pytest.mark.parametrize("way", ["attach", "target remote | gdbserver --once --attach -"])
def test_several_threads_and_an_exec(local: Scenario, compile_c, tmp_path: Path, way: str) -> None:
    """gdbserver shows all threads of the process at once."""
    hook = compile_c("libthreadshook.so", HOOK, "-shared", "-O2")
    program = compile_c("program", EXECUTES, str(hook), f"-Wl,-rpath,{tmp_path}", "-pthread")
    running = Running(program, {"LC_ALL": "C.UTF-8"})
    try:
        text = local.run(
            program, f"{way} {running.process.pid}", f"cuda-load {hook}", "cuda-break cuMemAlloc if bytesize >= 1T",
            "continue", "cuda-guards", "continue", hook=None,
        )  # fmt: skip
    finally:
        running.process.kill()
        running.end()
    assert re.search(r"^Breakpoint 1  hook .*bytesize=1099511627776 ", text, re.MULTILINE), text
    assert "annot insert" not in text and "failed" not in text and "exited with code 04" in text, text
