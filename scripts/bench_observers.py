"""What a call costs in the watched program, by each way to watch it, in one run.

Of what happens in its own time (recorder, uprobes) that is its processor time, which other programs on the machine do
not change much. A system call under strace waits for strace: there it is what the clock says.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from pathlib import Path

from bench_guards import compile_c
from bench_recorder import DRIVER, PROGRAM, nanoseconds

from gdbcuda.observe.uprobes import needs

AN_IOCTL = "strace, an ioctl, by the clock"
ROUNDS, MANY, FEW = 5, 2_000_000, 20_000  # uprobes: few enough that the kernel has room for all
PLAIN, PLAIN_IOCTL = "plain", "plain ioctl, by the clock"
IOCTLS = """
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
int main(int count, char **words)
{
    int device = open("/dev/null", O_RDWR);
    long calls = atol(words[count - 1]);
    double start = now();
    for (long i = 0; i < calls; i++)
        ioctl(device, 0xc020462a, &calls);
    printf("%.3f\\n", (now() - start) / calls);
    return 0;
}
"""


def times() -> dict[str, float]:
    """Median nanoseconds of a call; all take turns."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        compile_c(place / "libcuda.so.1", DRIVER, "-O2", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")
        program = PROGRAM.replace("CLOCK_MONOTONIC", "CLOCK_PROCESS_CPUTIME_ID")
        compile_c(place / "calls", program, "-O2", "-pthread", str(place / "libcuda.so.1"), f"-Wl,-rpath,{place}")
        compile_c(place / "ioctls", IOCTLS, "-O2")
        found: dict[str, list[float]] = {name: [] for name in lines(place)}
        for _ in range(ROUNDS):
            for name, line in lines(place).items():
                (place / "log.jsonl").unlink(missing_ok=True)
                found[name].append(nanoseconds(line, place))
        return {name: statistics.median(some) for name, some in found.items()}


def lines(place: Path) -> dict[str, list[str]]:
    calls, ioctls = str(place / "calls"), str(place / "ioctls")
    trace = [sys.executable, "-m", "gdbcuda", "trace"]
    out, few = ([calls, "o", "1", str(count)] for count in (MANY, FEW))
    uprobe = [*trace, "--with", "uprobe", "--function", "cuDeviceGet", "-o", "log.jsonl"]
    strace = [*trace, "--with", "strace", "-o", "log.jsonl"]
    found = {PLAIN: out, "recorder": [*trace, "-o", str(place / "trace"), "--", *out]}
    if not [*needs.missing()] and os.geteuid() == 0:
        found["uprobe, two arguments and one out-value"] = [*uprobe, "--", *few]
        found["uprobe, filtered out in the kernel"] = [*uprobe, "--filter", "ordinal == 9", "--", *few]
    return {**found, PLAIN_IOCTL: [ioctls, str(MANY)],
            AN_IOCTL: [*strace, "--device", "/dev/null", "--", ioctls, str(FEW)],
            "strace, a call without system calls": [*strace, "--", *out]}  # fmt: skip
