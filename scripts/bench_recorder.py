"""What a call costs that gdbcuda trace records, beside other tracers and what one would write by hand instead."""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import bench_tracers
from bench_guards import compile_c
from bench_tools import with_extension

ROUNDS, CALLS, FEW = 7, 2_000_000, 100_000
CLOCK, PLAIN = "two looks at the clock (rdtsc)", "plain"
BY_HAND = "the same words, written by hand in the program"
OTHER_WORK = "three calls and other work between them"
DRIVER = """
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuCtxSetCurrent(void *context) { return context == 0; }
"""
PROGRAM = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
#define RECORDS 8192
static __thread unsigned long *ring, begun;
#define IN_ORDER() __asm__ volatile("" : : : "memory")
static unsigned long clock_now(void)
{
    unsigned low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (unsigned long)high << 32 | low;
}
/* What the recorder writes for such a call, by who knows it beforehand: the floor of all that keep so much. */
static int by_hand(int *device, int ordinal)
{
    unsigned long position = ++begun, *record = ring + position % RECORDS * 16;
    record[0] = 0;
    IN_ORDER();
    record[1] = 7, record[3] = (unsigned long)by_hand, record[4] = (unsigned long)&position;
    record[8] = (unsigned long)device, record[9] = (unsigned)ordinal;
    record[10] = record[11] = record[12] = record[13] = position;
    record[2] = clock_now();
    IN_ORDER();
    record[0] = position;
    int result = cuDeviceGet(device, ordinal);
    record[5] = clock_now();
    record[6] = (unsigned)result;
    if (!result)
        record[14] = sizeof *device, record[15] = (unsigned)*device;
    IN_ORDER();
    record[7] = position;
    return result;
}
static unsigned long ticks(void) { unsigned low, high; __asm__ volatile("rdtsc" : "=a"(low), "=d"(high)); return low; }
static void *work(void *unused)
{
    static __thread int device, far[16][1024];
    volatile unsigned long kept = 0;
    unsigned long at = 1;
    ring = what == 'h' && !ring ? memset(aligned_alloc(4096, RECORDS * 128), 1, RECORDS * 128) : ring;
    for (long i = 0; i < calls; i++) {
        if (what == 'o')
            cuDeviceGet(&device, 3);
        else if (what == 'h')
            by_hand(&device, 3);
        else if (what == 'r')
            cuCtxSetCurrent(&device);
        else if (what == 'w')
            at = step(at);
        else if (what == 'b')
            at = step(at), cuDeviceGet(far[i % 16], 3), cuCtxSetCurrent(&device),
            at = step(at), cuCtxSetCurrent(&device);
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
    walked = mmap(NULL, 1 << 25, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(walked, 1 << 25, MADV_NOHUGEPAGE); /* or it would hang on where that is */
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


def times() -> dict[str, float]:
    """Median nanoseconds of a call; all take turns."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        compile_c(place / "libcuda.so.1", DRIVER, "-O2", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")
        compile_c(place / "calls", PROGRAM, "-O2", "-pthread", str(place / "libcuda.so.1"), f"-Wl,-rpath,{place}")
        with bench_tracers.lines(place) as others:
            rows = {**lines(place), **others}
            found: dict[str, list[float]] = {name: [] for name in rows}
            for _ in range(ROUNDS):
                for name, line in rows.items():
                    found[name].append(nanoseconds(line, place))
        return {name: statistics.median(some) for name, some in found.items()}


def lines(place: Path) -> dict[str, list[str]]:
    calls = str(place / "calls")
    trace = [sys.executable, "-m", "gdbcuda", "trace", "-o", str(place / "trace"), "--"]
    out, result, threads = ([calls, *what, str(CALLS)] for what in ("o1", "r1", "o8"))
    work = [calls, "between", "1", str(FEW)]
    return {
        CLOCK: [calls, "clock", "1", str(CALLS)],
        PLAIN: out,
        BY_HAND: [calls, "hand", "1", str(CALLS)],
        "gdbcuda trace, two arguments and one out-value": [*trace, *out],
        "the same, --all": [*trace[:-1], "--all", "--", *out],
        "--filter, not wanted": [*trace[:-1], "--filter", "ordinal > 7", "--", *out],
        "gdbcuda trace, one argument": [*trace, *result],
        "8 threads, plain": threads,
        "8 threads, gdbcuda trace": [*trace, *threads],
        f"{OTHER_WORK}, plain": work,
        f"{OTHER_WORK}, gdbcuda trace": [*trace, *work],
    }


def nanoseconds(line: list[str], place: Path) -> float:
    shutil.rmtree(place / "trace", ignore_errors=True)
    done = subprocess.run(line, cwd=place, env=with_extension(), capture_output=True, text=True, check=True,
                          timeout=300)  # fmt: skip
    found = re.search(r"^([\d.]+)$", done.stdout, re.MULTILINE)
    assert found, done.stdout + done.stderr
    return float(found[1])
