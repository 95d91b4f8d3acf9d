"""What a call costs that gdbcuda trace records, beside what one would write by hand instead."""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench_guards import compile_c

ROOT = Path(__file__).resolve().parent.parent
ROUNDS, CALLS, FEW = 7, 2_000_000, 200_000
CLOCK, PLAIN = "two looks at the clock (rdtsc)", "plain"
DRIVER = """
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuCtxSetCurrent(void *context) { return context == 0; }
"""
PROGRAM = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
int cuDeviceGet(int *device, int ordinal), cuCtxSetCurrent(void *context);
static long calls;
static int what;
static char *walked; /* as a program between its calls: other memory, at random */
static unsigned long step(unsigned long at)
{
    for (int i = 0; i < 256; i++) {
        at = at * 6364136223846793005ul + 1442695040888963407ul;
        walked[at >> 39]++;
    }
    return at;
}
static unsigned long ticks(void) { unsigned low, high; __asm__ volatile("rdtsc" : "=a"(low), "=d"(high)); return low; }
static void *work(void *unused)
{
    static __thread int device, far[16][1024];
    volatile unsigned long kept = 0;
    unsigned long at = 1;
    for (long i = 0; i < calls; i++) {
        if (what == 'o')
            cuDeviceGet(&device, 3);
        else if (what == 'r')
            cuCtxSetCurrent(&device);
        else if (what == 'w')
            at = step(at);
        else if (what == 'b')
            at = step(at), cuDeviceGet(far[i % 16], 3), cuCtxSetCurrent(&device), at = step(at), cuCtxSetCurrent(&device);
        else
            kept += ticks() + ticks();
    }
    return unused;
}
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
int main(int count, char **words)
{
    int threads = atoi(words[2]);
    pthread_t made[64];
    walked = calloc(1, 1 << 25);
    what = words[1][0], calls = 1000;
    work(NULL);
    calls = atol(words[3]);
    double start = now();
    for (int i = 1; i < threads; i++)
        pthread_create(&made[i], NULL, work, NULL);
    work(NULL);
    for (int i = 1; i < threads; i++)
        pthread_join(made[i], NULL);
    printf("%.3f\\n", (now() - start) / calls);
    return count - 4;
}
"""
BY_HAND = """
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>
int cuDeviceGet(int *device, int ordinal)
{
    static int (*real)(int *, int);
    static FILE *file;
    struct timespec begin, end;
    if (!real)
        real = dlsym(RTLD_NEXT, "cuDeviceGet"), file = fopen("calls.jsonl", "w");
    clock_gettime(CLOCK_MONOTONIC, &begin);
    int result = real(device, ordinal);
    clock_gettime(CLOCK_MONOTONIC, &end);
    fprintf(file, "{\\"ts\\":%ld.%09ld,\\"took\\":%ld,\\"name\\":\\"cuDeviceGet\\",\\"device\\":%d,\\"result\\":%d}\\n",
            begin.tv_sec, begin.tv_nsec, end.tv_nsec - begin.tv_nsec, *device, result);
    return result;
}
"""


def times() -> dict[str, float]:
    """Median nanoseconds of a call; all take turns."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        compile_c(place / "libcuda.so.1", DRIVER, "-O2", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")
        compile_c(place / "calls", PROGRAM, "-O2", "-pthread", str(place / "libcuda.so.1"), f"-Wl,-rpath,{place}")
        compile_c(place / "by_hand.so", BY_HAND, "-O2", "-shared", "-fPIC", "-D_GNU_SOURCE")
        rows = {name: line for name, line in lines(place).items() if shutil.which(line[0])}
        found: dict[str, list[float]] = {name: [] for name in rows}
        for _ in range(ROUNDS):
            for name, line in rows.items():
                found[name].append(nanoseconds(line, place))
        return {name: statistics.median(some) for name, some in found.items()}


def lines(place: Path) -> dict[str, list[str]]:
    calls = str(place / "calls")
    trace = [sys.executable, "-m", "gdbcuda", "trace", "-o", str(place / "trace"), "--"]
    out, result, threads = ([calls, *what, str(CALLS)] for what in ("o1", "r1", "o8"))
    return {
        CLOCK: [calls, "clock", "1", str(CALLS)],
        PLAIN: out,
        "gdbcuda trace, two arguments and one out-value": [*trace, *out],
        "the same, --all": [*trace[:-1], "--all", "--", *out],
        "--filter, not wanted": [*trace[:-1], "--filter", "ordinal > 7", "--", *out],
        "gdbcuda trace, one argument": [*trace, *result],
        "8 threads, plain": threads,
        "8 threads, gdbcuda trace": [*trace, *threads],
        "a preloaded fprintf": ["env", f"LD_PRELOAD={place}/by_hand.so", *out],
        "uftrace": ["uftrace", "record", "-d", str(place / "uftrace"), "-P", "cuDeviceGet", *out[:3], str(FEW)],
        "ltrace": ["ltrace", "-o", "/dev/null", "-e", "cuDeviceGet", *out[:3], str(FEW // 100)],
    }


def nanoseconds(line: list[str], place: Path) -> float:
    shutil.rmtree(place / "trace", ignore_errors=True)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(line, cwd=place, env=environment, capture_output=True, text=True, check=True, timeout=300)
    found = re.search(r"^([\d.]+)$", done.stdout, re.MULTILINE)
    assert found, done.stdout + done.stderr
    return float(found[1])
