"""By whichever door calls come to the recorder: of each thread and function there are as many as the program made."""

from __future__ import annotations

import fcntl
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from forking_gdbcuda import run_gdbcuda
from shim_support import HOOK, OLDER_LIBC, SHIM, Run, make
from traced_programs import Trace, needs_recorder, trace

__all__ = ["trace"]  # the fixture
pytestmark = needs_recorder
CALLS, THREADS = 5000, 6
NAMES = ("cudaMalloc", "cudaFree", "cudaMemset", "cudaStreamQuery")

# Each thread makes other calls, in an order of its own, and says how many of which.
PROGRAM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef LINKED
#include "gdbcuda_call.h"
#else
#define GDBCUDA_CALL(name, real) real
#endif
int cudaMalloc(void **block, unsigned long size), cudaFree(void *block);
int cudaMemset(void *block, int value, unsigned long size), cudaStreamQuery(void *stream);
#ifdef ASKED
#define CALL(name) ((__typeof__(&name))dlsym(RTLD_DEFAULT, #name))
#else
#define CALL(name) GDBCUDA_CALL(name, name)
#endif
static void *work(void *argument)
{
    unsigned random = (unsigned)(long)argument * 7919 + 17;
    long made[4] = {0};
    void *block = NULL;
    for (int i = 0; i < CALLS; i++) {
        random = random * 1103515245 + 12345;
        switch (random >> 16 & 3) {
        case 0: made[0]++, CALL(cudaMalloc)(&block, random); break;
        case 1: made[1]++, CALL(cudaFree)(block); break;
        case 2: made[2]++, CALL(cudaMemset)(block, 1, 2); break;
        default: made[3]++, CALL(cudaStreamQuery)(block);
        }
    }
    printf("%ld %ld %ld %ld %ld\n", syscall(SYS_gettid), made[0], made[1], made[2], made[3]);
    return NULL;
}
int main(void)
{
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
"""
RUNTIME = """
int cudaMalloc(void **block, unsigned long size) { *block = (void *)size; return 0; }
int cudaFree(void *block) { return block == (void *)1; }
int cudaMemset(void *block, int value, unsigned long size) { return !block && !value && !size; }
int cudaStreamQuery(void *stream) { return stream == (void *)1; }
"""
DOORS = ("a PLT", "dlsym", "ld --wrap", "linked in")


@pytest.fixture(scope="module")
def archives(shim: Path) -> None:
    with open(shim / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = make(SHIM, "-s", "wrap")
    assert made.returncode == 0, made.stdout + made.stderr


def build(door: str, folder: Path) -> Path:
    """By a PLT and by name the runtime is a library; else it is in the program, where no loader sees its calls."""
    (folder / "program.c").write_text(PROGRAM)
    (folder / "runtime.c").write_text(RUNTIME)
    common = ["gcc", f"-DCALLS={CALLS}", f"-DTHREADS={THREADS}", "-pthread", *OLDER_LIBC]
    if door in ("a PLT", "dlsym"):
        library = folder / "libcudart.so.11.0"  # not one of the stand-in's
        soname = f"-Wl,-soname,{library.name}"
        subprocess.run(["gcc", "-shared", "-fPIC", soname, "-o", library, "runtime.c"], cwd=folder, check=True)
        rest = ["-DASKED"] if door == "dlsym" else []
        rest += ["program.c", "-Wl,--no-as-needed", str(library), f"-Wl,-rpath,{folder}", "-ldl"]
    elif door == "ld --wrap":
        wrapped = run_gdbcuda("wrap-flags", *NAMES, check=True).stdout.split()
        subprocess.run(["gcc", "-c", "runtime.c"], cwd=folder, check=True)
        rest = ["program.c", *wrapped, "runtime.o", "-ldl"]
    else:
        linked = ["-DLINKED", f"-I{SHIM}/linked"]
        rest = [*linked, "program.c", "runtime.c", f"{SHIM}/build/libgdbcuda-call.a", "-ldl"]
    subprocess.run([*common, "-o", "program", *rest], cwd=folder, check=True)
    return folder / "program"


@pytest.mark.usefixtures("archives")
@pytest.mark.parametrize("door", DOORS)
def test_each_call_of_each_thread_is_recorded_once(door: str, trace: Trace, tmp_path: Path) -> None:
    found = trace(build(door, tmp_path))
    rows = [tuple(map(int, row)) for row in re.findall(r"^(\d+) (\d+) (\d+) (\d+) (\d+)$", found.done.stdout, re.M)]
    assert len(rows) == THREADS and all(sum(row[1:]) == CALLS for row in rows), found.done
    made = Counter({(row[0], name): count for row in rows for name, count in zip(NAMES, row[1:])})
    assert Counter((call.lwp, call.name) for call in found.recorded()) == made


NO_GDB = {"GDBCUDA_GDB": "/none/gdb"}


@pytest.mark.parametrize("by", ["--hook", "LD_PRELOAD"])
def test_preload_needs_no_gdb_and_says_that_routes_stay(by: str, trace: Trace, run: Run, shim: Path) -> None:
    hook = str(shim / HOOK)
    named = ("--hook", hook) if by == "--hook" else ()
    own = {} if named else {"LD_PRELOAD": hook}
    found = trace("test_alloc", options=("--preload", "--with", "auto", *named), **NO_GDB, **own)
    assert found.done.stdout == run("test_alloc", preload=[HOOK]).stdout
    assert found.done.stderr == (
        f"gdbcuda: the recorder is preloaded in front of {HOOK}; it exports no function, so each object reaches the "
        "functions that it reaches without\n"
    )
    assert {call["layer"] for call in found.calls() if call["depth"] == 0} == {"hook"}


def test_preload_with_no_other_library(trace: Trace, run: Run) -> None:
    found = trace("test_alloc", options=("--preload",), **NO_GDB)
    assert found.done.stdout == run("test_alloc").stdout and "is preloaded alone; " in found.done.stderr
    assert {call["layer"] for call in found.calls()} == {"driver"}


@pytest.mark.parametrize(("options", "why"), [("-p1", "process that runs"), ("--with=strace", "not one for")])
def test_what_preload_does_not_go_with(options: str, why: str) -> None:
    done = run_gdbcuda("trace", "--preload", options)
    assert done.returncode == 2 and why in done.stderr and done.stderr.count("\n") == 1
