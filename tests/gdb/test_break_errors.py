"""cuda-break --on error where the process looks at the results: only calls that fail stop."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from guard_programs import CALLS
from scenario import Scenario

FAILING = CALLS.replace("bytes = ((size_t)1 << 40)", "bytes = ((size_t)3 << 40)")
BREAK = "cuda-break cuMemAlloc --on error"
BY_GDB = "; results by gdb: "
HOOK = """
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize)
{
    *dptr = *dptr * 31 + bytesize;
    return bytesize >> 40 == 3 ? 2 : 0;
}
"""


@pytest.fixture
def failing(compile_c, tmp_path: Path) -> tuple[Path, Path]:
    hook = compile_c("libfails.so", HOOK, "-shared")
    return hook, compile_c("failing", FAILING, "-O2", str(hook), "-pthread", f"-Wl,-rpath,{tmp_path}")


@pytest.mark.parametrize("more", ["", " --from any", " if bytesize >= 1T"])
def test_calls_that_succeed_do_not_stop(local: Scenario, failing: tuple[Path, Path], more: str) -> None:
    """Of a million calls in four threads, each of which would take milliseconds."""
    hook, program = failing
    arguments = ("4", "240000", "3")
    alone = subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout
    words = (BREAK + more, "RUN", "cuda-guards", *["continue"] * 12)
    text = local.run(program, *words, hook=hook, arguments=arguments)
    sizes = re.findall(r"^Breakpoint 1 .*bytesize=(\d+) .*\) = CUDA_ERROR_OUT_OF_MEMORY", text, re.MULTILINE)
    assert sorted(map(int, sizes)) == [(3 << 40) + thread * 1000 + n for thread in range(1, 5) for n in range(3)], text
    assert "in the process" in text and BY_GDB not in text, text
    assert alone.partition(",")[0] in text and "exited normally" in text, text


def test_through_gdbserver(local: Scenario, failing: tuple[Path, Path]) -> None:
    """Whoever starts the server preloads our library there."""
    hook, program = failing
    server = f"gdbserver --once --wrapper env LD_PRELOAD={hook}:{local.shim}/libgdbcuda.so -- - {program} 2 100000 2"
    start = f"python gdb.execute('set remotetimeout 60'); gdb.execute('target remote | {server}')"
    text = local.run(program, f"cuda-load {hook}", BREAK, start, *["continue"] * 5, hook=None)
    assert text.count("= CUDA_ERROR_OUT_OF_MEMORY (2)") == 4 and "exited normally" in text, text


def test_without_our_library_gdb_looks(scenario: Scenario, failing: tuple[Path, Path]) -> None:
    hook, program = failing
    words = ("set cuda-guard-stacks off", BREAK, "RUN", "cuda-guards", "continue")
    text = scenario.run(program, *words, hook=hook, arguments=("1", "20", "1"))
    assert text.count("= CUDA_ERROR_OUT_OF_MEMORY (2)") == 1 and "exited normally" in text, text
    assert f"{BY_GDB}libgdbcuda.so is not in the process" in text, text


def test_two_wait_for_errors_of_one_function(local: Scenario, failing: tuple[Path, Path]) -> None:
    hook, program = failing
    words = (BREAK, f"{BREAK} if bytesize > 1T", "RUN", "cuda-guards", "delete 1", "continue", "cuda-guards")
    text = local.run(program, *words, hook=hook, arguments=("1", "20", "2"))
    first, second = text.split("Breakpoint 2  hook")
    assert f"{BY_GDB}2 breakpoints on the function wait for errors" in first and BY_GDB not in second, text


LAUNCHES = """
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int cuLaunchKernel(void *f, unsigned x, unsigned y, unsigned z, unsigned a, unsigned b, unsigned c, unsigned shared,
                   void *stream, void **parameters, void **extra);
static jmp_buf back;
void leave(unsigned n) { if (n % 10 == 7) longjmp(back, 1); }
void inside(void) { }
static void *parameters[1], *extra[1];
static int launch(unsigned n)
{
    return setjmp(back) ? -1 : cuLaunchKernel(&back, n, 2, 3, 4, 5, 6, 7 * n, (void *)8, parameters, extra);
}
int main(void)
{
    long sum = 0;
    for (unsigned n = 0; n < 1000; n++)
        sum = sum * 3 + launch(n);
    pid_t child = fork();
    if (!child)
        _exit(launch(999) == 719 && launch(1) == 0 ? 40 : 41);
    int status;
    waitpid(child, &status, 0);
    printf("sum %ld, child %d\\n", sum, WEXITSTATUS(status));
    return 0;
}
"""
LAUNCHED = """
void leave(unsigned n), inside(void);
int cuLaunchKernel(void *f, unsigned x, unsigned y, unsigned z, unsigned a, unsigned b, unsigned c, unsigned shared,
                   void *stream, void **parameters, void **extra)
{
    leave(x);
    if (x == 500)
        inside();
    int is_right = y == 2 && z == 3 && a == 4 && b == 5 && c == 6 && shared == 7 * x && stream == (void *)8 &&
        ((long)__builtin_frame_address(0) & 15) == 0;
    return !is_right ? 1 : x % 500 == 499 ? 719 : 0;
}
"""


@pytest.fixture
def launches(compile_c, tmp_path: Path) -> tuple[Path, Path]:
    hook = compile_c("liblaunched.so", LAUNCHED, "-shared", "-Wl,--unresolved-symbols=ignore-all")
    return hook, compile_c("launches", LAUNCHES, "-rdynamic", str(hook), f"-Wl,-rpath,{tmp_path}")


def test_arguments_on_the_stack_longjmp_and_children(local: Scenario, launches: tuple[Path, Path]) -> None:
    hook, program = launches
    alone = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert "child 40" in alone
    text = local.run(program, "cuda-break cuLaunchKernel --on error", "RUN", *["continue"] * 2, hook=hook)
    found = re.findall(r"^Breakpoint 1 .*gridDimX=(\d+).*sharedMemBytes=(\d+).*hStream=(\w+).* = (\w+)", text, re.M)
    assert found == [(str(n), str(7 * n), "0x8", "CUDA_ERROR_LAUNCH_FAILED") for n in (499, 999)], text
    assert alone in text and "exited normally" in text, text


@pytest.mark.parametrize("end", ["delete 1", "disable 1", "set cuda-guard off", "detach", "kill"])
def test_it_ends_while_a_call_is_inside(local: Scenario, launches: tuple[Path, Path], end: str) -> None:
    hook, program = launches
    alone = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    words = ("cuda-break cuLaunchKernel --on error if gridDimX >= 500", "break inside", "RUN", "bt", end)
    more = () if end in ("detach", "kill") else ("continue",)
    text = local.run(program, *words, *more, *more, hook=hook)
    assert re.search(r"#1 .*cuLaunchKernel.*\n#\d .*launch \(n=500\)", text), text
    assert text.count("= CUDA_ERROR_LAUNCH_FAILED") == (end == "set cuda-guard off"), text
    assert (alone in text) == (end != "kill"), text


THROWS = """
#include <cstdio>
#include <stdexcept>
extern "C" int cuMemAlloc_v2(unsigned long long *, unsigned long);
extern "C" void leave(unsigned long n) { if (n % 10 == 7) throw std::runtime_error("thrown"); }
int main()
{
    unsigned long long block = 0;
    int caught = 0, failed = 0;
    for (unsigned long n = 0; n < 1000; n++)
        try { failed += cuMemAlloc_v2(&block, n) != 0; } catch (const std::runtime_error &) { caught++; }
    std::printf("caught %d, failed %d\\n", caught, failed);
}
"""
THROWN = """
void leave(unsigned long);
int cuMemAlloc_v2(unsigned long long *block, unsigned long size)
{
    leave(size);
    *block = size;
    return size == 900 ? 2 : 0;
}
"""


def test_exceptions_fly_through(local: Scenario, compile_c, tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++ here")
    hook = compile_c("libthrown.so", THROWN, "-shared", "-O2", "-fexceptions", "-Wl,--unresolved-symbols=ignore-all")
    source, program = tmp_path / "throws.cc", tmp_path / "throws"
    source.write_text(THROWS)
    line = [compiler, "-g", "-O0", "-rdynamic", "-o", str(program), str(source), str(hook), f"-Wl,-rpath,{tmp_path}"]
    subprocess.run(line, check=True)
    text = local.run(program, BREAK, "RUN", "continue", hook=hook)
    assert "bytesize=900)" in text.replace(" [900 B]", "") and "caught 100, failed 1\n" in text, text
