"""A running process whose libraries are more than 2 GB away from ours: code for them is in pages near them."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from running_program import calls, gdbcuda
from scenario import Scenario

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the recorder is made for x86-64")

# libcuda is above what is mapped first, our library will be below. Another library comes later.
FAR = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int cuInit(unsigned); int cuDeviceGet(int *, int); int cuDevicePrimaryCtxRetain(void **, int);
int cuCtxSetCurrent(void *); int cuMemAlloc_v2(unsigned long *, unsigned long); int cuMemFree_v2(unsigned long);
static void far_away(void) {
    if (mmap(0, 6ul << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED) exit(3);
}
static void one_more(unsigned long count) {
    unsigned long block;
    if (cuMemAlloc_v2(&block, (1 << 24) + count) || cuMemFree_v2(block)) exit(9);
    usleep(2000);
}
void is_loaded(void) {}
static volatile int is_wanted; /* after so many calls */
int main(void) {
    int device; void *context; unsigned long count = 0; char line[8];
    far_away();
    cuInit(0); cuDeviceGet(&device, 0); cuDevicePrimaryCtxRetain(&context, device); cuCtxSetCurrent(context);
    fcntl(0, F_SETFL, O_NONBLOCK);
    puts("ready"); fflush(stdout);
    while (read(0, line, 8) <= 0) {
        one_more(count++);
        if (is_wanted && !--is_wanted) {
            far_away();
            int (*init)(void) = dlsym(dlopen("libnvidia-ml.so.1", RTLD_NOW), "nvmlInit_v2");
            init();
            is_loaded();
        }
    }
    puts("over");
    return 5;
}
"""


def far() -> str:
    return "#include <fcntl.h>\n" + FAR


def test_functions_far_away_again_and_again(working, tmp_path: Path) -> None:
    """The process has room for 4096 functions: the same ones take none of it when they are recorded again."""
    program = working(far())
    code = set()
    for number in range(5):
        folder = tmp_path / str(number)
        done = gdbcuda("trace", "-p", program.pid, "--for", "200ms", "-o", folder)
        mapped = Path(f"/proc/{program.pid}/maps").read_text()
        code.add(tuple(re.findall(r"^(.*) r-xp .* 00:00 0", mapped, re.MULTILINE)))
        assert done.returncode == 0 and "Not recorded" not in done.stderr, done
        sizes = [int(one["arguments"]["bytesize"]) for one in calls(folder) if one["name"] == "cuMemAlloc_v2"]
        assert len(sizes) > 3 and sizes == list(range(sizes[0], sizes[0] + len(sizes)))
    assert len(code) == 1, code
    program.goes_on()


def test_only_the_calls_that_are_wanted(working, tmp_path: Path) -> None:
    program = working(far())
    words = ("--for", "500ms", "--filter", "bytesize % 2 == 0", "--in", "driver", "-o", tmp_path / "log")
    assert gdbcuda("trace", "-p", program.pid, *words).returncode == 0
    found = calls(tmp_path / "log")
    assert found and {one["name"] for one in found} == {"cuMemAlloc_v2"}
    assert {int(one["arguments"]["bytesize"]) % 2 for one in found} == {0}
    program.goes_on()


def test_a_debugger_that_stays_and_a_library_that_comes_later(local: Scenario, working) -> None:
    program = working(far())
    text = local.run(
        None, f"attach {program.pid}", "cuda-log start --fast", "tbreak is_loaded", "set var is_wanted = 100",
        "continue", "cuda-log summary", "cuda-log", "cuda-log stop", "detach", hook=None,
    )  # fmt: skip
    counted = {row[1]: int(row[2]) for row in re.finditer(r"^(cu\w+|nvml\w+) +driver +(\d+) ", text, re.MULTILINE)}
    assert counted["nvmlInit_v2"] == 1 and counted["cuMemAlloc_v2"] > 3, text
    assert abs(counted["cuMemAlloc_v2"] - counted["cuMemFree_v2"]) <= 1, text  # recorded since a call of one of them
    assert "Not recorded" not in text, text
    program.goes_on()


# Other things lie above it, and the heap is all that is below.
LAST = """
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int cuInit(unsigned);
static void take(unsigned long size) {
    if (mmap(0, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED) exit(3);
}
int main(void) {
    cuInit(0);
    take(6ul << 30);
    for (int i = 0; i < 400; i++) take(1 << 16);
    int (*init)(void) = dlsym(dlopen("libnvidia-ml.so.1", RTLD_NOW), "nvmlInit_v2");
    init();
    kill(getpid(), SIGKILL);
}
"""


def test_the_folder_has_the_names_of_what_lies_far_away(local: Scenario, compile_c, tmp_path: Path) -> None:
    """gdb's next look comes too late."""
    program = compile_c("last", LAST, f"-L{local.shim}/standin", "-l:libcuda.so.1")
    text = local.run(program, f"cuda-log start --fast --keep {tmp_path / 'kept'}", "RUN", "cuda-log", hook=None)
    assert "SIGKILL" in text and "Not recorded" not in text, text
    assert [one["name"] for one in calls(tmp_path / "kept")] == ["cuInit", "nvmlInit_v2"]
