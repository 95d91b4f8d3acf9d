"""A program that runs before gdb comes, and that knows whether it has been changed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from forking_gdbcuda import run_gdbcuda
from scenario import Scenario

# Each thread counts up in its sizes, and sees that its registers and its errno are as they were.
WORK = """
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int cuInit(unsigned); int cuDeviceGet(int *, int); int cuDevicePrimaryCtxRetain(void **, int);
int cuCtxSetCurrent(void *); int cuMemAlloc_v2(unsigned long *, unsigned long); int cuMemFree_v2(unsigned long);
static void *context;
static volatile int is_over;
static void *work(void *number) {
    unsigned long block, count, size = ((unsigned long)number + 1) << 24;
    cuCtxSetCurrent(context);
    for (count = 0; !is_over; count++) {
        double kept = 1.5 + count;
        __asm__ volatile("" : "+x"(kept));
        errno = 77;
        if (cuMemAlloc_v2(&block, size + count) || errno != 77 || kept != 1.5 + count || cuMemFree_v2(block)) exit(9);
        usleep(2000);
    }
    return 0;
}
int main(void) {
    int device; pthread_t threads[3]; char line[8];
    cuInit(0); cuDeviceGet(&device, 0); cuDevicePrimaryCtxRetain(&context, device);
    for (long i = 0; i < 3; i++) pthread_create(threads + i, 0, work, (void *)i);
    puts("ready"); fflush(stdout);
    if (!fgets(line, 8, stdin)) return 2;
    is_over = 1;
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    puts("over");
    return 5;
}
"""


class Working:
    def __init__(self, program: Path, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen([str(program)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)  # fmt: skip
        assert self.process.stdout is not None and self.process.stdout.readline() == "ready\n"
        self.pid = self.process.pid
        self.code = self.driver_code()

    def children(self) -> list[int]:
        return [int(one) for one in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]

    def driver_code(self, child: int = 0) -> bytes:
        place = f"/proc/{child or self.pid}"
        with open(f"{place}/maps") as maps, open(f"{place}/mem", "rb", buffering=0) as memory:
            start, end = next(re.match(r"(\w+)-(\w+) r-x.*libcuda\.so", line) for line in maps
                              if "r-xp" in line and "libcuda.so" in line).groups()  # type: ignore[union-attr]
            memory.seek(int(start, 16))
            return memory.read(int(end, 16) - int(start, 16))

    def is_traced(self) -> bool:
        return "TracerPid:\t0\n" not in Path(f"/proc/{self.pid}/status").read_text()

    def goes_on(self) -> None:
        """Its code is its own, and so are its end and its exit status."""
        assert self.process.poll() is None and not self.is_traced()
        assert self.driver_code() == self.code
        assert self.process.communicate("end\n", timeout=60)[0] == "over\n"
        assert self.process.returncode == 5


# For gdb's prompt: until the program, which gdb has let go, is over; whoever has started it may not have heard of that.
DETACHED_TO_ITS_END = (
    "python pid = gdb.selected_inferior().pid",
    "detach",
    "python __import__('os').system("
    "f'while grep -qs \"^State:.[^ZX]\" /proc/{pid}/status; do sleep 0.05; done')",
)
# The same of what `until_threads_run` waits for, of a process p that gdb's Python has started.
UNTIL_THREADS_RUN = ("python __import__('os').system("
                     "f'until [ $(ls /proc/{p.pid}/task | wc -l) -gt 1 ]; do sleep 0.05; done')")  # fmt: skip


def until_threads_run(pid: int) -> None:
    """Of the sample `threads`: all libraries are there, and calls are made."""
    deadline = time.monotonic() + 60
    while len(os.listdir(f"/proc/{pid}/task")) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)


@pytest.fixture
def working(local: Scenario, compile_c) -> Iterator:
    running: list[Working] = []

    def start(source: str = WORK, **environment: str) -> Working:
        program = compile_c("work", "#define _GNU_SOURCE\n" + source, f"-L{local.shim}/standin", "-l:libcuda.so.1")
        running.append(Working(program, {"LD_LIBRARY_PATH": f"{local.shim}/standin", **environment}))
        return running[-1]

    yield start
    for one in running:
        one.process.kill()
        one.process.wait()


def gdbcuda(*words: object) -> subprocess.CompletedProcess[str]:
    return run_gdbcuda(*words, timeout=300)


def calls(folder: Path, are_lost: bool = False) -> list[Any]:
    done = gdbcuda("log", "show", "--json", folder)
    assert (done.returncode, done.stderr) == (0, "") or are_lost, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def wait_for_calls(folder: Path, threads: int = 3) -> None:
    deadline = time.monotonic() + 60
    while len(list(folder.glob("*.ring"))) < threads and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(0.3)
