"""cuda-fail: calls that fail as the user says, in the process or by gdb, and everything else as it was."""

from __future__ import annotations

import platform
import re
import subprocess
from pathlib import Path

import pytest
from guard_programs import CALLS, HOOK, UNGUARDABLE
from scenario import Scenario
from test_break_errors import LAUNCHED, LAUNCHES
from test_guard import build  # noqa: F401  (a fixture)

ON_X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")
FAIL = "cuda-fail cuMemAlloc with CUDA_ERROR_OUT_OF_MEMORY"
REFUSED = ["64 MiB     CUDA_ERROR_OUT_OF_MEMORY (2)", "1 GiB + 1  allocated", "3 GiB      CUDA_ERROR_OUT_OF_MEMORY (2)"]
PROGRAM = """
#include <stddef.h>
#include <stdio.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
int main(void)
{
    for (size_t n = 1; n <= 10; n++) {
        unsigned long long block = 0;
        int result = cuMemAlloc_v2(&block, n << 20);
        printf("%zu:%d:%llu ", n, result, block >> 20);
    }
    puts("");
    return 0;
}
"""


def seen(text: str) -> dict[int, tuple[int, int]]:
    """What the program had of its calls: result and what was written."""
    return {int(n): (int(result), int(out)) for n, result, out in re.findall(r"(\d+):(-?\d+):(\d+) ", text)}


def injected(text: str) -> list[str]:
    return re.findall(r"^(\d+ +\d+ times?) ", text, re.MULTILINE)


@pytest.mark.smoke("gdbserver", "auto")
@pytest.mark.smoke("local", "off")
@pytest.mark.parametrize("guard", ["auto", "off"])
def test_the_program_sees_a_driver_that_fails(scenario: Scenario, guard: str) -> None:
    """Only in the layer meant, for the callers meant; in the process and by gdb."""
    words = (f"set cuda-guard {guard}", f"{FAIL} if bytesize < 1G", "cuda-fail cuMemAlloc --in driver if bytesize > 2G"
             " with CUDA_ERROR_OUT_OF_MEMORY --times 1", "RUN", "cuda-faults", "info breakpoints")  # fmt: skip
    text = scenario.run("test_alloc", *words)
    assert [line for line in text.splitlines() if line in REFUSED] == REFUSED, text
    assert re.search(r"^1 +1 time ", text, re.MULTILINE) and re.search(r"^2 +1 time ", text, re.MULTILINE), text
    assert "Breakpoint 1: cuMemAlloc_v2 in hook libgdbcuda-hook.so" in text
    assert "fails with CUDA_ERROR_OUT_OF_MEMORY, called from the program, if bytesize < 1073741824" in text, text
    assert "2       breakpoint     keep y" in text, text


@ON_X86
@pytest.mark.parametrize(
    ("words", "failing"),
    [
        ("if nth == 3", {3}),
        ("if every 4", {4, 8}),
        ("if after 8", {9, 10}),
        ("if bytesize >= 9M || bytesize == 2M", {2, 9, 10}),
        ("if caller in app && bytesize > 9M", {10}),
        ("if caller in main && bytesize > 9M", {10}),
        ("if caller in driver", set()),
        ("--from main if bytesize < 2M", {1}),
        ("if thread == 1 && bytesize < 2M", {1}),
        ("if thread == 2", set()),
        ("--times 2 if bytesize > 3M", {4, 5}),
    ],
)
@pytest.mark.parametrize("guard", ["auto", "off"])
def test_which_calls(local: Scenario, build, words: str, failing: set[int], guard: str) -> None:  # noqa: F811
    hook, program = build(HOOK, PROGRAM)
    text = local.run(program, f"set cuda-guard {guard}", f"cuda-fail cuMemAlloc {words} with 46", "RUN", "cuda-faults",
                     hook=hook)  # fmt: skip
    assert seen(text) == {n: (46, 0) if n in failing else (0, n) for n in range(1, 11)}, text
    assert injected(text)[0].split()[1] == str(len(failing)), text


@ON_X86
def test_it_is_done_in_the_process(scenario: Scenario, build) -> None:  # noqa: F811
    """A million failing calls in two threads; each stop would take a tenth of a millisecond and more."""
    hook, program = build(HOOK, CALLS)
    words = ("cuda-fail cuMemAlloc if bytesize % 2 == 0 with CUDA_SUCCESS", "break main", "RUN", "cuda-faults",
             "continue", "cuda-faults")  # fmt: skip
    text = scenario.run(program, *words, hook=hook, arguments=("2", "1000000", "0"))
    before, after = text.split("exited normally")
    assert re.search(r"^1 +0 times +in the process ", before, re.MULTILINE), text
    assert 900_000 < int(injected(after)[0].split()[1]) < 1_100_000, text


@ON_X86
def test_what_is_done_to_the_breakpoint(scenario: Scenario, build) -> None:  # noqa: F811
    """Switched off, on and deleted between the calls; a breakpoint on the same function sees those that are made."""
    hook, program = build(HOOK, PROGRAM)
    words = ("cuda-fail cuMemAlloc if bytesize == 2M || bytesize > 5M with 46", "cuda-break cuMemAlloc", "RUN",
             *["continue"] * 3, "cuda-faults", "disable 1", *["continue"] * 3, "enable 1", "delete 2", "break puts",
             "continue", "cuda-faults", "delete 1", "cuda-faults", "continue")  # fmt: skip
    text = scenario.run(program, *words, hook=hook)
    stops = [int(size) >> 20 for size in re.findall(r"^Breakpoint 2 .*bytesize=(\d+) ", text, re.MULTILINE)]
    assert stops == [1, 3, 4, 5, 6, 7, 8], text  # 2 has failed
    assert "1        3 times" in text and "no faults" in text, text
    assert seen(text) == {n: (46, 0) if n in (2, 9, 10) else (0, n) for n in range(1, 11)}, text


@ON_X86
@pytest.mark.parametrize("order", ["log first", "fault first"])
def test_the_recorder_has_the_calls_that_fail(local: Scenario, order: str) -> None:
    """In the process too: the driver's answer, as the hook library has seen it."""
    fail = "cuda-fail cuMemAlloc --in driver if bytesize > 1G with 2"
    log, stop = "cuda-log start --fast cuMemAlloc cuMemGetInfo", "break show_memory if when[0] == 'a'"
    more = ("cuda-set cuMemGetInfo total = 2G on return", "cuda-delay cuMemFree 1ms")
    late = (fail, *more, stop, "break allocate_buffers", "RUN", log, "continue")
    words = (log, fail, *more, stop, "RUN") if order == "log first" else late
    text = local.run("test_alloc", *words, "cuda-faults", "continue", "cuda-log show --tree")
    assert re.search(r"^1 +2 times +in the process ", text, re.MULTILINE), text
    calls = re.findall(r"(hook|driver) +cuMemAlloc_v2.*bytesize=(\d+).* = CUDA_(\w+)", text)
    assert [who for who, size, said in calls if said == "ERROR_OUT_OF_MEMORY"] == ["hook", "driver"] * 2, text
    assert re.search(r"hook +cuMemGetInfo_v2.* 2147483648 .*\n.*driver +cuMemGetInfo_v2.* 17179869184 .*total", text)


@ON_X86
def test_a_step_over_the_call_sees_it_fail(local: Scenario) -> None:
    words = (FAIL, "break allocate_buffer", "RUN", "next", "print result", "delete 2", "continue")
    text = local.run("test_alloc", *words)
    assert "$1 = CUDA_ERROR_OUT_OF_MEMORY" in text and text.count("CUDA_ERROR_OUT_OF_MEMORY (2)") == 3, text


def test_a_step_into_the_call_by_gdb(local: Scenario) -> None:
    """It ends in the function, at its end: nothing of it has run."""
    words = ("set cuda-guard off", FAIL, "break allocate_buffer", "RUN", "next", "print result", "continue", "step",
             "finish", "continue")  # fmt: skip
    text = local.run("test_alloc", *words)
    assert "$1 = CUDA_ERROR_OUT_OF_MEMORY" in text and "SIG" not in text, text


@ON_X86
@pytest.mark.parametrize("words", ["", " --after-call"])
@pytest.mark.parametrize("guard", ["auto", "off"])
def test_arguments_on_the_stack_and_forks(scenario: Scenario, compile_c, tmp_path: Path, words: str,
                                            guard: str) -> None:  # fmt: skip
    """A child runs as without gdb."""
    hook = compile_c("liblaunched.so", LAUNCHED, "-shared", "-Wl,--unresolved-symbols=ignore-all")
    program = compile_c("launches", LAUNCHES, "-rdynamic", str(hook), f"-Wl,-rpath,{tmp_path}")
    fail = f"cuda-fail cuLaunchKernel if gridDimX % 10 == 3 with CUDA_ERROR_LAUNCH_FAILED{words}"
    text = scenario.run(program, f"set cuda-guard {guard}", fail, "RUN", "cuda-faults", hook=hook)
    total = 0
    for n in range(1000):
        total = total * 3 + (-1 if n % 10 == 7 else 719 if n % 10 == 3 or n % 500 == 499 else 0)
    total = (total + (1 << 63)) % (1 << 64) - (1 << 63)
    assert f"sum {total}, child 40" in text and re.search(r"^1 +100 times ", text, re.MULTILINE), text


def test_where_no_guard_is_possible(scenario: Scenario, build) -> None:  # noqa: F811
    hook, program = build(UNGUARDABLE, PROGRAM)
    text = scenario.run(program, "cuda-fail cuMemAlloc if bytesize == 2M with 46", "break main", "RUN", "cuda-faults",
                        "continue", hook=hook)  # fmt: skip
    assert {n: result for n, (result, _) in seen(text).items()} == {n: 46 if n == 2 else 0 for n in range(1, 11)}, text
    assert re.search(r"^1 +0 times +by gdb: .*call is among the function's first instructions", text, re.MULTILINE)


def test_saved_and_rerun(local: Scenario, tmp_path: Path) -> None:
    fail = "cuda-fail cuMemAlloc if bytesize > 1G with 700 --times 1 --after-call"
    first = local.run("test_alloc", fail, "run", f"cuda-save {tmp_path}/faults.gdb", "run", "cuda-faults")
    assert first.count("1 GiB + 1  CUDA_ERROR_ILLEGAL_ADDRESS (700)") == 2 and "1 time " in first, first
    words = ("run", "cuda-faults", f"save breakpoints {tmp_path}/own.gdb")
    text = local.run("test_alloc", f"source {tmp_path}/faults.gdb", *words)
    assert "1 GiB + 1  CUDA_ERROR_ILLEGAL_ADDRESS (700)" in text, text
    text = local.run("test_alloc", f"source {tmp_path}/own.gdb", "run", "cuda-faults")
    assert "1 GiB + 1  CUDA_ERROR_ILLEGAL_ADDRESS (700)" in text, text


ENDLESS = """
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
int main(void)
{
    for (size_t n = 1, failed = 0;; n++) {
        unsigned long long block;
        failed += cuMemAlloc_v2(&block, n) != 0;
        if (n % 100 == 0) {
            printf("%zu\\n", failed);
            fflush(stdout);
        }
        usleep(1000);
    }
}
"""


@ON_X86
def test_attached_and_let_go(local: Scenario, build) -> None:  # noqa: F811
    """The process goes on without gdb as without a fault."""
    _, program = build(HOOK, ENDLESS)
    running = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout is not None and running.stdout.readline() == "0\n"  # a hundred calls without gdb
        stop = "python import threading, os; threading.Timer(2, lambda: os.kill(%d, 2)).start()"
        words = (f"attach {running.pid}", "cuda-fail cuMemAlloc --from any with 46", stop % running.pid, "continue",
                 "cuda-faults", "detach")  # fmt: skip
        text = local.run(None, *words, hook=None)
        (times,) = re.findall(r"^1 +(\d+) times +in the process ", text, re.MULTILINE)
        ends = [int(running.stdout.readline()) for _ in range(int(times) // 100 + 50)]
        assert 0 < int(times) == ends[-1] == ends[-2] and running.poll() is None, (ends, text)
    finally:
        running.kill()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("cuda-fail cuMemAlloc with CUDA_ERROR_OUT_OF_MEMRY", "did you mean CUDA_ERROR_OUT_OF_MEMORY?"),
        ("cuda-fail cuMemAlloc with NVML_ERROR_MEMORY", "returns CUresult, which has no 'NVML_ERROR_MEMORY'"),
        ("cuda-fail cuMemAlloc with 12345", "12345 is no value of CUresult; with --any-number it is returned"),
        ("cuda-fail cuMemAlloc with 99999999999 --any-number", "has more than the 32 bits of a CUresult"),
        ("cuda-fail cuMemAlloc", "'with STATUS', what the call returns, is missing, for example: cuda-fail cuMemAlloc"),
        ("cuda-fail cuMemAlloc with", "'with STATUS', what the call returns, is missing"),
        ("cuda-fail", "FUNCTION is missing, for example: cuda-fail cuMemAlloc with"),
        ("cuda-fail cudaGetErrorString with 2", "cudaGetErrorString returns const char *, no status"),
        ("cuda-fail cudaCreateChannelDesc with 2", "returns struct cudaChannelFormatDesc, no status"),
        ("cuda-fail dlsym with 2", "dlsym is no function of the CUDA runtime, driver or NVML"),
        ("cuda-fail cuMemAlloc with 2 --times 0", "--times is a number, 1 or more"),
        ("cuda-fail cuMemAlloc if bytesize > 1G with 2 if bytesize > 2G", "there are two conditions"),
        ("cuda-fail cuMemAlloc if bytesiz > 1G with 2", "did you mean bytesize?"),
    ],
)
def test_mistakes(not_started, words: str, said: str) -> None:
    text = not_started.run(words)
    assert said in text and len(text.strip().splitlines()) == 1, text


def test_completion(not_started) -> None:
    def offered(line: str) -> list[str]:
        return not_started.run(f"complete {line}").splitlines()

    assert "cuda-fail cuMemAlloc with CUDA_ERROR_OUT_OF_MEMORY" in offered("cuda-fail cuMemAlloc with CUDA_ERROR_OUT")
    assert not offered("cuda-fail cuMemAlloc with NVML_")
    assert "cuda-fail nvmlInit with NVML_ERROR_MEMORY" in offered("cuda-fail nvmlInit with NVML_ERROR_M")
    assert "cuda-fail cuMemAlloc with" in offered("cuda-fail cuMemAlloc wi")
    assert "cuda-fail cuMemAlloc if bytesize" in offered("cuda-fail cuMemAlloc if by")
    assert "cuda-fail cuMemAlloc with 2 --after-call" in offered("cuda-fail cuMemAlloc with 2 --af")
