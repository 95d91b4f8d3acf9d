"""cuda-delay and cuda-set: calls that wait, and what calls have written, replaced; in the process or by gdb."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from scenario import Scenario

ON_X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")

# A limit of one block, wrongly kept: it looks, asks the driver, and then adds.
WRONG_HOOK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
static int blocks;
typedef int allocate(unsigned long long *dptr, size_t bytesize);
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize)
{
    allocate *real = (allocate *)dlsym(RTLD_NEXT, "cuMemAlloc_v2");
    if (blocks >= 1)
        return 2;
    int result = real(dptr, bytesize);
    if (!result)
        __atomic_fetch_add(&blocks, 1, __ATOMIC_SEQ_CST);
    return result;
}
"""
TWO_THREADS = """
#include <pthread.h>
#include <stdio.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>
int cuInit(unsigned), cuDevicePrimaryCtxRetain(void **, int), cuCtxSetCurrent(void *);
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
static void *context;
static int granted;
static void *ask(void *wait)
{
    unsigned long long block;
    cuCtxSetCurrent(context);
    usleep(wait ? 50000 : 0);
    granted += cuMemAlloc_v2(&block, 1 << 20) == 0;
    return NULL;
}
int main(void)
{
    struct timespec began, ended;
    pthread_t threads[2];
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    clock_gettime(CLOCK_MONOTONIC, &began);
    for (long n = 0; n < 2; n++)
        pthread_create(&threads[n], NULL, ask, (void *)n);
    for (int n = 0; n < 2; n++)
        pthread_join(threads[n], NULL);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    long milliseconds = (ended.tv_sec - began.tv_sec) * 1000 + (ended.tv_nsec - began.tv_nsec) / 1000000;
    printf("%d granted, %s\\n", granted, milliseconds < 400 ? "soon" : milliseconds < 900 ? "together" : "one by one");
    return 0;
}
"""
MEMORY = """
#include <stdio.h>
#include <stddef.h>
typedef struct { unsigned long long total, free, used; } memory;
int cuMemGetInfo_v2(size_t *free, size_t *total), nvmlDeviceGetMemoryInfo(void *device, memory *found);
int cuDeviceGetCount(int *count);
int main(void)
{
    for (int n = 1; n <= 3; n++) {
        size_t free = 0, total = 0;
        memory found = {0};
        int count = 0;
        int first = cuMemGetInfo_v2(n == 2 ? NULL : &free, &total);
        int second = nvmlDeviceGetMemoryInfo(NULL, n == 3 ? NULL : &found), third = cuDeviceGetCount(&count);
        printf("%d: %d %zu %zu, %d %llu %llu %llu, %d %d\\n", n, first, free >> 20, total >> 20, second, found.total,
               found.free, found.used, third, count);
    }
    return 0;
}
"""
WRITTEN = """
#include <stddef.h>
typedef struct { unsigned long long total, free, used; } memory;
int cuMemGetInfo_v2(size_t *free, size_t *total)
{
    if (free)
        *free = (size_t)7 << 20;
    *total = (size_t)9 << 20;
    return 0;
}
int nvmlDeviceGetMemoryInfo(void *device, memory *found)
{
    if (!found)
        return 2;
    *found = (memory){10, 20, 30};
    return device != NULL;
}
int cuDeviceGetCount(int *count)
{
    *count = 5;
    return 100;
}
"""


@pytest.fixture
def racing(compile_c, shim: Path) -> tuple[Path, Path]:
    hook = compile_c("libwronghook.so", WRONG_HOOK, "-shared", "-ldl")
    return hook, compile_c("racing", TWO_THREADS, f"-L{shim}/standin", "-l:libcuda.so.1", "-pthread")


@ON_X86
def test_a_delay_shows_the_race(scenario: Scenario, racing: tuple[Path, Path]) -> None:
    """The other thread goes on meanwhile: both pass the limit, and both wait at the same time."""
    hook, program = racing
    words = ("cuda-delay cuMemAlloc 500ms --in driver", "RUN", "cuda-faults")
    text = scenario.run(program, *words, hook=hook)
    assert "2 granted, together" in text and re.search(r"^1 +2 times ", text, re.MULTILINE), text
    assert "is delayed by 500ms" in text, text


def test_without_a_delay_it_does_not_show(local: Scenario, racing: tuple[Path, Path]) -> None:
    hook, program = racing
    words = ("cuda-delay cuMemAlloc 500ms --in driver if bytesize > 1G", "RUN", "cuda-faults")
    text = local.run(program, *words, hook=hook)
    assert "1 granted, soon" in text and re.search(r"^1 +0 times ", text, re.MULTILINE), text


def test_a_delay_by_gdb(local: Scenario, racing: tuple[Path, Path]) -> None:
    hook, program = racing
    words = ("set cuda-guard off", "cuda-delay cuMemAlloc 500ms --in driver", "RUN", "cuda-faults")
    text = local.run(program, *words, hook=hook)
    assert re.search(r"^\d granted, (together|one by one)", text, re.MULTILINE), text
    assert re.search(r"^1 +[12] times? ", text, re.MULTILINE), text


@ON_X86
def test_one_thread_alone_is_delayed(local: Scenario, racing: tuple[Path, Path]) -> None:
    hook, program = racing
    words = ("break ask if wait == 0", "RUN", "cuda-delay cuMemAlloc 500ms --in driver if thread == 3", "delete 1",
             "continue", "cuda-faults")  # fmt: skip
    text = local.run(program, *words, hook=hook)
    assert re.search(r"^2 +[01] times? ", text, re.MULTILINE) and "granted" in text, text


@pytest.mark.smoke("gdbserver", "auto")
@pytest.mark.smoke("local", "off")
@pytest.mark.parametrize("guard", ["auto", "off"])
def test_what_calls_have_written(scenario: Scenario, compile_c, tmp_path: Path, guard: str) -> None:
    """Of a call that succeeded, where there is a place for it; two of one function."""
    hook = compile_c("libwritten.so", WRITTEN, "-shared")
    program = compile_c("memory", MEMORY, str(hook), f"-Wl,-rpath,{tmp_path}")
    words = (f"set cuda-guard {guard}", "cuda-set cuMemGetInfo total = 2G on return",
             "cuda-set cuMemGetInfo free = 1M on return", "cuda-set nvmlDeviceGetMemoryInfo memory.free = 0 on return",
             "cuda-set cuDeviceGetCount count = 8 on return", "RUN", "cuda-faults")  # fmt: skip
    text = scenario.run(program, *words, hook=hook)
    assert re.findall(r"^\d: .*", text, re.MULTILINE) == [
        "1: 0 1 2048, 0 10 0 30, 100 5",
        "2: 0 0 2048, 0 10 0 30, 100 5",
        "3: 0 1 2048, 2 0 0 0, 100 5",
    ], text


@ON_X86
def test_the_breakpoint_on_the_function_sees_the_call(scenario: Scenario, compile_c, tmp_path: Path) -> None:
    """Its caller is the program; where it returns the value is there."""
    hook = compile_c("libwritten.so", WRITTEN, "-shared")
    program = compile_c("memory", MEMORY, str(hook), f"-Wl,-rpath,{tmp_path}")
    words = ("cuda-set cuMemGetInfo total = 2G on return", "cuda-break cuMemGetInfo", "RUN", "bt", "cuda-faults",
             "delete 2", "continue")  # fmt: skip
    text = scenario.run(program, *words, hook=hook)
    assert "called by app main()" in text and re.search(r"^#[12] .* main \(\)", text, re.MULTILINE), text
    assert "1: 0 7 2048" in text and "3: 0 7 2048" in text, text
    who = "in the process" if scenario.place == "local" else "by gdb: libgdbcuda.so, which calls return to, is not"
    assert re.search(rf"^1 +1 time +{who}", text, re.MULTILINE), text


@ON_X86
def test_deleted_while_a_call_is_inside(local: Scenario, compile_c, tmp_path: Path) -> None:
    hook = compile_c("libwritten.so", WRITTEN, "-shared")
    program = compile_c("memory", MEMORY, str(hook), f"-Wl,-rpath,{tmp_path}")
    words = ("cuda-set cuMemGetInfo total = 2G on return", "cuda-break cuMemGetInfo", "RUN", "delete", "continue")
    text = local.run(program, *words, hook=hook)
    assert "2: 0 0 9" in text and "3: 0 7 9" in text and "exited normally" in text, text


def test_saved(local: Scenario, tmp_path: Path) -> None:
    words = ("cuda-set cuMemGetInfo --in driver total = 2G on return if nth == 1", "cuda-delay cuMemAlloc 2ms",
             f"cuda-save {tmp_path}/faults.gdb", "delete", f"source {tmp_path}/faults.gdb", "run",
             f"save breakpoints {tmp_path}/own.gdb", "delete", f"source {tmp_path}/own.gdb", "run",
             "cuda-faults")  # fmt: skip
    text = local.run("test_alloc", *words, hook=None)
    assert text.count("start      16384 MiB free of 2048 MiB") == 2, text
    assert re.findall(r"^\d+ +(\d times?) ", text, re.MULTILINE) == ["1 time", "3 times"], text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("cuda-delay cuMemAlloc", "TIME is missing, for example: cuda-delay cuMemAlloc 5ms"),
        ("cuda-delay cuMemAlloc 5", "TIME is a time such as 5ms, 200us or 1s, not '5', for example: cuda-delay cuMem"),
        ("cuda-delay cuMemAlloc 2000000s", "longer than a minute"),
        ("cuda-set cuMemGetInfo", "'OUT = VALUE', what is set and to what, is missing, for example: cuda-set"),
        ("cuda-set cuMemGetInfo totl = 2G on return", "did you mean total?"),
        ("cuda-set cuMemGetInfo total = 2X on return", "total (size_t), which takes a number, or a size like 2G"),
        ("cuda-set total = 2G on return", "the function that writes it is missing, for example: cuda-set cuMemGetInfo"),
        ("cuda-set cuMemGetInfo total = 2G on entry", "total is set on return, when the call has written it, not on"),
        ("cuda-set cuMemGetInfo total = 2G, free = 1G on return", "one value in one command: free wants another one"),
        ("cuda-set cuMemGetInfo total 2G on return", "'OUT = VALUE', what is set and to what, is missing"),
    ],
)
def test_mistakes(not_started, words: str, said: str) -> None:
    text = not_started.run(words)
    assert said in text and len(text.strip().splitlines()) == 1, text


def test_completion(not_started) -> None:
    def offered(line: str) -> list[str]:
        return not_started.run(f"complete {line}").splitlines()

    assert "cuda-set cuMemGetInfo total" in offered("cuda-set cuMemGetInfo to")
    assert "cuda-set nvmlDeviceGetMemoryInfo memory.used" in offered("cuda-set nvmlDeviceGetMemoryInfo memory.u")
    assert "cuda-set cudaPointerGetAttributes attributes.type = cudaMemoryTypeHost" in offered(
        "cuda-set cudaPointerGetAttributes attributes.type = cudaMemoryTypeH"
    )
    assert "cuda-delay cuMemAlloc 5ms" in offered("cuda-delay cuMemAlloc 5")
