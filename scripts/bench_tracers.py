"""Other ways to record a call, in the place of gdbcuda trace: each where it is installed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench_guards import compile_c
from bench_tools import GDB, ROOT

PID_FILE = Path("/var/run/lttng/lttng-sessiond.pid")
MANY, FEW, STOPS = 200_000, 20_000, 1_000  # calls: by tracers, through the kernel, by a debugger's stops
FORWARD = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>
HEAD
int cuDeviceGet(int *device, int ordinal)
{
    static int (*real)(int *, int);
    if (!real) {
        real = dlsym(RTLD_NEXT, "cuDeviceGet");
        START
    }
    BEFORE
    int result = real(device, ordinal);
    AFTER
    return result;
}
"""
FPRINTF = {
    "HEAD": "static FILE *file;",
    "START": 'file = fopen("calls.jsonl", "w");',
    "BEFORE": "struct timespec begin, end; clock_gettime(CLOCK_MONOTONIC, &begin);",
    "AFTER": """clock_gettime(CLOCK_MONOTONIC, &end);
    fprintf(file, "{\\"ts\\":%ld.%09ld,\\"took\\":%ld,\\"name\\":\\"cuDeviceGet\\",\\"device\\":%d,\\"result\\":%d}\\n",
            begin.tv_sec, begin.tv_nsec, end.tv_nsec - begin.tv_nsec, *device, result);""",
}
LTTNG = {
    "HEAD": '#include "provider.h"',
    "START": "",
    "BEFORE": "tracepoint(gdbcuda_bench, enters, device, ordinal);",
    "AFTER": "tracepoint(gdbcuda_bench, leaves, *device, result);",
}
PROVIDER = """
#undef TRACEPOINT_PROVIDER
#define TRACEPOINT_PROVIDER gdbcuda_bench
#undef TRACEPOINT_INCLUDE
#define TRACEPOINT_INCLUDE "./provider.h"
#if !defined(PROVIDER_H) || defined(TRACEPOINT_HEADER_MULTI_READ)
#define PROVIDER_H
#include <lttng/tracepoint.h>
TRACEPOINT_EVENT(gdbcuda_bench, enters, TP_ARGS(int *, device, int, ordinal),
    TP_FIELDS(ctf_integer_hex(unsigned long, device, (unsigned long)device) ctf_integer(int, ordinal, ordinal)))
TRACEPOINT_EVENT(gdbcuda_bench, leaves, TP_ARGS(int, device, int, result),
    TP_FIELDS(ctf_integer(int, device, device) ctf_integer(int, result, result)))
#endif
#include <lttng/tracepoint-event.h>
"""
PROBES = """uprobe:{library}:cuDeviceGet {{ printf("%lx %d\\n", arg0, arg1); @out[tid] = arg0; }}
uretprobe:{library}:cuDeviceGet {{ printf("%d %d\\n", retval, *(int32 *)@out[tid]); }}"""


@contextmanager
def lines(place: Path) -> Iterator[dict[str, list[str]]]:
    """What is to be typed; the program prints what a call has cost."""
    calls = [str(place / "calls"), "o", "1"]
    compile_c(place / "fprintf.so", filled(FPRINTF), "-O2", "-shared", "-fPIC")
    found = {
        "a preloaded fprintf": ["env", f"LD_PRELOAD={place}/fprintf.so", *calls, str(MANY)],
        "uftrace": ["uftrace", "record", "--force", "-d", str(place / "uftrace"), "-A", "cuDeviceGet@arg1,arg2", "-R",
                    "cuDeviceGet@retval", *calls, str(MANY)],
        "ltrace": ["ltrace", "-o", "/dev/null", "-e", "cuDeviceGet", *calls, str(STOPS)],
        "bpftrace, uprobe and uretprobe": [
            "bpftrace", "-o", str(place / "bpftrace.txt"), "-e", PROBES.format(library=place / "libcuda.so.1"), "-c",
            " ".join([*calls, str(FEW)])],
        f"cuda-log, by stops ({STOPS} calls)": [
            GDB, "-nx", "-batch", "-x", str(ROOT / "gdbcuda.py"), "-ex", "cuda-log start cuDeviceGet", "-ex", "run",
            "--args", *calls, str(STOPS)],
    }  # fmt: skip
    if os.geteuid() != 0:
        del found["bpftrace, uprobe and uretprobe"]
    with lttng(place) as is_at_work:
        if is_at_work:
            found["LTTng-UST, two events"] = ["env", f"LD_PRELOAD={place}/lttng.so", *calls, str(MANY)]
        yield {name: line for name, line in found.items() if shutil.which(line[0])}


def filled(parts: dict[str, str]) -> str:
    text = FORWARD
    for word, code in parts.items():
        text = text.replace(word, code)
    return text


@contextmanager
def lttng(place: Path) -> Iterator[bool]:
    """A session of its own, with its own daemon; False where it is not installed."""
    (place / "provider.h").write_text(PROVIDER)
    source = "#define TRACEPOINT_CREATE_PROBES\n#define TRACEPOINT_DEFINE\n" + filled(LTTNG)
    try:
        compile_c(place / "lttng.so", source, "-O2", "-shared", "-fPIC", f"-I{place}", "-llttng-ust", "-w")
    except subprocess.CalledProcessError:
        yield False
        return
    if not shutil.which("lttng-sessiond") or PID_FILE.exists():
        yield False  # somebody else's is at work
        return
    try:
        quietly(["lttng-sessiond", "--daemonize", "--no-kernel"])
        quietly(["lttng", "create", "gdbcuda-bench", f"--output={place}/lttng"])
        quietly(["lttng", "enable-event", "--userspace", "gdbcuda_bench:*"])
        quietly(["lttng", "start"])
        yield True
        quietly(["lttng", "destroy", "gdbcuda-bench"])
    finally:
        if PID_FILE.exists():
            os.kill(int(PID_FILE.read_text()), signal.SIGTERM)


def quietly(words: list[str]) -> None:
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   timeout=60)  # fmt: skip
