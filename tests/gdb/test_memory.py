"""cuda-memory in a real gdb, on a program that does everything wrong that one can do with a block of memory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from forking_gdbcuda import run_gdbcuda
from scenario import Scenario

WRONG = """
#include <stddef.h>
#define GDBCUDA_API_SOURCE_NAMES
#include "gdbcuda_api.h"
static CUdeviceptr kept, block;
static char bytes[8192];
static void load_model(void) { cuMemAlloc(&kept, 1 << 20); }
static void wrong(void)
{
    cuMemAlloc(&block, 4096);
    cuMemcpyHtoD(block, bytes, 4097);  /* OUT OF RANGE */
    cuMemFree(block + 16);             /* INTERIOR */
    cuMemFreeHost((void *)block);      /* WRONG FAMILY */
    cuMemFree(block);
    cuMemsetD8(block, 0, 16);          /* USE AFTER FREE */
    cuMemFree(block);                  /* DOUBLE FREE */
    cuMemFree(4);                      /* UNKNOWN */
    cuMemFree(0);
}
int main(void)
{
    CUdevice device;
    CUcontext context;
    cuInit(0);
    cuDeviceGet(&device, 0);
    cuDevicePrimaryCtxRetain(&context, device);
    cuCtxSetCurrent(context);
    load_model();
    wrong();
    return 0;
}
"""
RIGHT = """
#include <stdlib.h>
#define GDBCUDA_API_SOURCE_NAMES
#include "gdbcuda_api.h"
enum { SIZE = 3000, TRIES = 50 };
int main(void)
{
    CUcontext context;
    CUdeviceptr block, kept;
    void *locked;
    cuInit(0);
    cuCtxCreate_v2(&context, 0, 0);
    cuMemAlloc(&kept, SIZE);
    cuMemAlloc(&block, SIZE);
    cuMemAllocHost(&locked, SIZE);
    cuMemFree(block);
    cuMemFreeHost(locked);
    for (int i = 0; i < TRIES; i++)
        cuMemcpy(kept, (CUdeviceptr)malloc(SIZE), SIZE); /* the copy does not say that its source is the host's */
    return 0;
}
"""
KINDS = ["out of range", "interior pointer", "wrong family", "use after free", "double free", "unknown pointer"]


@pytest.fixture
def wrong(shim: Path, compile_c) -> Path:
    return compile_c("wrong_memory", WRONG, f"-I{shim}", f"-L{shim}/standin", "-lcuda")


@pytest.mark.smoke("local")
def test_every_mistake_is_recorded_with_its_line(scenario: Scenario, wrong: Path) -> None:
    text = scenario.run(wrong, "cuda-log start --memory", "RUN", "cuda-memory problems", "cuda-memory leaks")
    shown = text.partition("cuda-memory leaks)\n")[2]
    found = re.findall(rf"^({'|'.join(KINDS)}): .*\n.*by wrong at wrong_memory_?\w*\.c:(\d+)", shown, re.MULTILINE)
    lines = WRONG.splitlines()
    assert [kind for kind, _ in found] == KINDS
    for kind, line in found:
        assert kind.split()[0].upper() in lines[int(line) - 1]
    assert re.search(r"1048576 \[1\.00 MiB\] +cuMemAlloc_v2 +load_model at wrong_memory\w*\.c:7", shown)
    assert "load_model(void) { cuMemAlloc(&kept, 1 << 20); }" in shown  # the line itself
    assert "cuda-memory: not freed at exit: 1 block: device 1048576 [1.00 MiB] in 1 (cuda-memory leaks)" in text


def test_the_programs_own_memory_is_no_freed_block(scenario: Scenario, shim: Path, compile_c) -> None:
    program = compile_c("right_memory", RIGHT, f"-I{shim}", f"-L{shim}/standin", "-lcuda")
    start = "cuda-log start --memory --in driver"
    text = scenario.run(program, start, "RUN", "cuda-memory problems", "cuda-log summary")
    assert re.search(r"^No bad free and no bad copy was seen\.$", text, re.MULTILINE), text
    assert re.search(r"cuMemcpy .*\b50\b", text), text


CAPTURES = """
typedef void *handle;
int cuInit(unsigned), cuDevicePrimaryCtxRetain(handle *, int), cuCtxSetCurrent(handle);
int cuStreamCreate(handle *, unsigned), cuStreamBeginCapture_v2(handle, int), cuStreamEndCapture(handle, handle *);
int cuMemAllocAsync(unsigned long long *, unsigned long, handle);
int main(void)
{
    unsigned long long block;
    handle context, stream, graph;
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    cuStreamCreate(&stream, 0);
    cuMemAllocAsync(&block, 1000, stream);
    cuStreamBeginCapture_v2(stream, 0);
    cuMemAllocAsync(&block, 2000, stream);
    cuStreamEndCapture(stream, &graph);
    cuMemAllocAsync(&block, 3000, stream);
    return 0;
}
"""


def test_what_goes_into_a_graph_is_told_of_memory_too(scenario: Scenario, shim: Path, compile_c) -> None:
    program = compile_c("captures", CAPTURES, f"-L{shim}/standin", "-lcuda")
    text = scenario.run(program, "cuda-log start --memory", "RUN", "cuda-log show cuMemAllocAsync", hook=None)
    shown = re.findall(r"cuMemAllocAsync\(.*bytesize=(\d+).*= CUDA_SUCCESS( captured by 0x)?", text)
    assert shown == [("1000", ""), ("2000", " captured by 0x"), ("3000", "")], text


ONLY_ALLOCATES = """
#define _GNU_SOURCE
#include <dlfcn.h>
int cuMemAlloc_v2(unsigned long long *block, unsigned long bytes)
{
    return ((int (*)(unsigned long long *, unsigned long))dlsym(RTLD_NEXT, "cuMemAlloc_v2"))(block, bytes);
}
"""


def test_of_a_layer_without_the_frees_it_is_unknown_what_is_live(scenario: Scenario, shim: Path, compile_c) -> None:
    hook = compile_c("libonly.so", ONLY_ALLOCATES, "-shared")
    program = compile_c("right_memory", RIGHT, f"-I{shim}", f"-L{shim}/standin", "-lcuda")
    text = scenario.run(program, "cuda-log start cuMemAlloc --in hook", "RUN", "cuda-memory leaks", hook=hook)
    assert "not freed" not in text.lower() and "Unknown whether freed: 2 blocks: device" in text, text
    assert "not every call of cuMemFree" in text


@pytest.mark.smoke("gdbserver")
def test_it_stops_at_the_mistake_when_asked(scenario: Scenario, wrong: Path) -> None:
    text = scenario.run(
        wrong, "cuda-log start --memory --in hook", "set cuda-memory-stop on", "RUN", "cuda-memory at block",
        "continue", "cuda-call", "info breakpoints", "bt 2",
    )  # fmt: skip
    assert re.search(r"Temporary breakpoint \d+.*cuMemcpyHtoD_v2 \(", text)
    assert "cuda-memory: out of range: 4097 bytes from dstDevice on go 1 beyond the 4.00 KiB of #3" in text
    assert re.search(r"is 0 bytes into the 4\.00 KiB of #3 cuMemAlloc_v2 at 0x\w+; device, by wrong at", text)
    assert "cuda-memory: interior pointer: 16 bytes into" in text
    assert re.search(r"cuMemFree_v2 in hook libgdbcuda-hook\.so, called by app wrong\(\)", text)
    assert "No breakpoints" in text


def test_what_an_earlier_recorder_has_seen_is_still_known(local: Scenario, wrong: Path) -> None:
    start = "cuda-log start --memory --in hook"
    text = local.run(wrong, "break wrong", start, "run", "cuda-log stop", start, "continue", "cuda-memory leaks")
    assert re.search(r"1048576 \[1\.00 MiB\] +cuMemAlloc_v2 +load_model at", text), text


def test_the_threads_of_the_sample_make_no_mistake(scenario: Scenario) -> None:
    text = scenario.run("threads", "cuda-log start --memory --in hook", "RUN", "cuda-memory", "cuda-memory by-site",
                        arguments=("8", "40"))  # fmt: skip
    made = [int(n) for n in re.findall(r"cuMemAlloc_v2 (\d+)", text)]
    freed = [int(n) for n in re.findall(r"cuMemFree_v2 (\d+)", text)]
    assert f"{sum(made) - sum(freed)} blocks: device" in text
    assert "No bad free and no bad copy was seen." in text
    assert re.search(rf"^ +{sum(made)} .*allocate at threads\.c:\d+", text, re.MULTILINE)


def test_layers_report_different_memory(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "cuda-log start --memory", "RUN", "cuda-memory reported", "cuda-memory peak",
                        environment={"GDBCUDA_MEMORY_LIMIT": "2g"})  # fmt: skip
    assert re.search(r"cuMemGetInfo +hook .*2147483648 \[2\.00 GiB\]", text)
    assert re.search(r"cuMemGetInfo +driver .*17179869184 \[16\.00 GiB\]", text)
    assert re.search(r"First refusal: .*CUDA_ERROR_OUT_OF_MEMORY", text)


def skip_where_threads_cannot_be_held(text: str) -> None:
    """The hook library has a thread of its own, so cuda-gdb 13 asks nothing; it says why."""
    if "cuda-memory: the other threads cannot be held meanwhile" in text:
        pytest.skip("this gdb cannot hold the other threads")


@pytest.mark.usefixtures("calls_functions")
def test_layers_are_asked_now(scenario: Scenario) -> None:
    """The program itself has not asked yet; the question leaves no trace in the log and none in the program."""
    text = scenario.run(
        "test_alloc", "cuda-log start cuMemAlloc cuMemFree cuMemGetInfo nvmlDeviceGetMemoryInfo",
        "cuda-break cuMemFree --once", "RUN", "cuda-log", "cuda-memory compare", "cuda-log", "show scheduler-locking",
        "continue",
        environment={"GDBCUDA_MEMORY_LIMIT": "2g"},
    )  # fmt: skip
    skip_where_threads_cannot_be_held(text)
    limit, whole, ours = "2147483648 [2.00 GiB]", "17179869184 [16.00 GiB]", r"1140850689 \[1\.06 GiB\]"
    for asked in ("cuMemGetInfo_v2", "nvmlDeviceGetMemoryInfo"):
        assert re.search(rf"{asked} +hook \S+ +{ours} +{re.escape(limit)} +{ours} +0 +{ours}$", text, re.MULTILINE)
        assert re.search(rf"{asked} +driver \S+ +\d+ .*{re.escape(whole)} +{ours} +511 +{ours}$", text, re.MULTILINE)
    kept = re.findall(r"(\d+) calls kept", text)
    assert len(kept) == 2 and kept[0] == kept[1] and 'execution is "replay"' in text
    assert "copied     the same came back" in text


@pytest.mark.usefixtures("calls_functions")
def test_a_breakpoint_in_the_question_is_one_line(local: Scenario) -> None:
    text = local.run("test_alloc", "cuda-log start --memory", "break main", "run", "break cuMemGetInfo_v2",
                     "cuda-memory compare")  # fmt: skip
    skip_where_threads_cannot_be_held(text)
    assert "cuda-memory: cuMemGetInfo_v2 cannot be called in the program: The program being debugged stopped" in text


def test_without_a_process_nobody_is_asked(local: Scenario) -> None:
    """The ledger and the hook library's own books are there all the same."""
    text = local.run("test_alloc", "cuda-log start --memory", "cuda-memory compare")
    assert "cuda-memory: there is no process that could be asked" in text and "\nLedger: 0 in use\n" in text


@pytest.mark.parametrize(
    ("commands", "message"),
    [
        (("cuda-memory",), "nothing is recorded: cuda-log start --memory"),
        (("cuda-log start --memory", "cuda-memory lives"), "no view 'lives'; there are live, leaks"),
        (("cuda-log start --memory", "cuda-memory at"), "at wants an address"),
        (("cuda-log start --memory", "cuda-memory live 5"), "live takes no address"),
        (("cuda-log start --memory", "cuda-memory live --least 1X"),
         "--least is a size such as 4096, 0x1000 or 1G, not '1X', for example: cuda-memory live --least 1M"),
        (("cuda-log start --memory", "cuda-memory peak --least 1M"), "--least is for live, leaks, by-site"),
        (("cuda-log start --memory", "cuda-memory --json --least 1M"), "--json gives all views at once"),
        (("cuda-log start --memory", "cuda-memory history 5"), "0x5 has not been in any block"),
    ],
)
def test_mistakes(local: Scenario, commands: tuple[str, ...], message: str) -> None:
    text = local.run("test_alloc", *commands, hook=None)
    assert message in text.splitlines()[-1]


def test_what_allocates_is_recorded_with_its_frees(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "cuda-log start cuMemAlloc", "RUN", "cuda-memory leaks")
    assert "2 functions and 4 that release what they hand out" in text
    assert "Everything that was handed out has been given back." in text


def test_a_recorder_of_some_calls_leaves_the_rest_unknown(scenario: Scenario, tmp_path: Path) -> None:
    log, page = tmp_path / "log", tmp_path / "page.html"
    start = f"cuda-log start cuMemAlloc --from app --in hook --to {log}"
    text = scenario.run("test_alloc", start, "RUN", "cuda-memory leaks")
    unknown = "Unknown whether freed: 3 blocks: device 4362076161 [4.06 GiB] in 3; not every call of cuMemFree"
    assert unknown in text and "ot freed" not in text
    for told in (text, shell("log", "memory", "--view", "leaks", str(log))):
        assert "(cuda-log start --memory alone records them)" in " ".join(told.split())
    assert unknown in shell("log", "memory", "--view", "leaks", str(log))
    shell("log", "report", str(log), "-o", str(page))
    assert "not freed, in 0 blocks" in page.read_text()


def test_blocks_from_before_the_log_are_no_bad_frees(scenario: Scenario, tmp_path: Path) -> None:
    log = tmp_path / "log"
    text = scenario.run(
        "test_alloc", "set cuda-memory-stop on", "break release_buffers", "RUN", f"cuda-log start --memory --to {log}",
        "continue", "cuda-memory", "cuda-memory --json",
    )  # fmt: skip
    assert "exited normally" in text and "unknown pointer" not in text
    said = "Blocks that the log does not know were freed by 3 calls"
    assert said in text and '"frees_of_unknown_blocks":[' in text and '"problems":[]' in text
    assert said in shell("log", "memory", str(log))


def shell(*words: str) -> str:
    return run_gdbcuda(*words, check=True).stdout
