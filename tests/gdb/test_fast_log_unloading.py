"""cuda-log start --fast has no breakpoint in a library: it learns all the same that one has gone and come again."""

from __future__ import annotations

import platform
import re

import pytest
from scenario import Scenario
from test_fast_log import _new_enough as _new_enough
from test_fast_log import placed as placed
from test_unloading import AS_ALONE, ROUNDS, run
from test_unloading import reloading as reloading

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the recorder is made for x86-64")


def test_every_call_of_a_library_that_comes_again(placed: Scenario, reloading) -> None:
    """Where it was before, too."""
    said = run(placed, reloading, "cuda-log start --fast cuMemAlloc", "RUN", "cuda-log summary")
    assert AS_ALONE in said, said
    assert re.search(rf"cuMemAlloc_v2 +hook +{ROUNDS * 5} ", said), said


def test_a_fault_behind_its_calls(placed: Scenario, reloading) -> None:
    """Its code stays for calls that return into it, and is used again: the recorder has to go on with that, too."""
    fault = "cuda-fail cuMemAlloc --from any with 2 --after-call if bytesize > 100G"
    said = run(placed, reloading, fault, "cuda-log start --fast cuMemAlloc", "RUN", "cuda-log summary")
    assert AS_ALONE in said, said
    assert re.search(rf"cuMemAlloc_v2 +hook +{ROUNDS * 5} ", said), said


POLLING = """
#include <dlfcn.h>
#include <sys/mman.h>
static void poll(void) {
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    int (*begin)(void) = dlsym(library, "nvmlInit_v2"), (*end)(void) = dlsym(library, "nvmlShutdown");
    begin(), end();
    dlclose(library);
}
int cuInit(unsigned);
int main(void) {
    cuInit(0);
    for (int i = 0; i < 12; i++) {
        poll();
        if (i % 4 == 3) mmap(0, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
}
"""


def test_a_library_that_comes_and_goes_takes_no_more_room(local: Scenario, compile_c) -> None:
    """As programs do that ask NVML now and then. The process has room for 4096 functions; this one has 400."""
    program = compile_c("polling", POLLING, f"-L{local.shim}/standin", "-l:libcuda.so.1", "-ldl")
    text = local.run(program, "cuda-log start --fast", "RUN", "cuda-log summary", "cuda-log", hook=None)
    assert re.search(r"nvmlInit_v2 +driver +12 ", text) and "Not recorded" not in text, text
