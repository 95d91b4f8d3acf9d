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


LOOPING = """
__asm__(".globl cuMemCreate\\n.type cuMemCreate,@function\\ncuMemCreate:\\n"
        "mov (%rdi),%rax\\n1: imul $31,%rax,%rax\\ndec %rsi\\njnz 1b\\nxor %eax,%eax\\nret\\n"
        ".size cuMemCreate,.-cuMemCreate");
int cuMemAlloc_v2(unsigned long *block, unsigned long bytes) { *block = bytes * 31; return 0; }
"""
OPENING = """
#include <dlfcn.h>
int main(int count, char **words)
{
    for (int i = 0; i < 2; i++) {
        void *library = dlopen(words[1], RTLD_NOW);
        int (*create)(unsigned long *, unsigned long) = dlsym(library, "cuMemCreate");
        int (*allocate)(unsigned long *, unsigned long) = dlsym(library, "cuMemAlloc_v2");
        unsigned long block = create(&block, 3) + allocate(&block, 7);
        dlclose(library);
    }
}
"""


def test_what_was_not_recorded_is_said_when_it_has_gone_too(local: Scenario, compile_c) -> None:
    library = compile_c("libloops.so", LOOPING, "-shared", "-O2")
    program = compile_c("opening", OPENING, "-ldl")
    names = "cuMemCreate cuMemAlloc_v2"
    text = local.run(program, f"cuda-log start --fast {names}", "RUN", "cuda-log", hook=None, arguments=(str(library),))
    assert "Not recorded: 1 of 2 functions (its own code jumps back into its first bytes (+3)): cuMemCreate.\n" in text


def test_that_calls_are_missing_is_said_when_it_has_come_again(local: Scenario, compile_c) -> None:
    """And when the program has run again: the log has the calls of both."""
    library = compile_c("libloops.so", LOOPING, "-shared", "-O2")
    program = compile_c("opening", OPENING, "-ldl")
    entry = ("tbreak cuMemAlloc_v2", "RUN", "continue", "cuda-log", "RUN", "cuda-log")
    words = ("cuda-log start --fast cuMemAlloc_v2", "set breakpoint pending on", *entry)
    text = local.run(program, *words, hook=None, arguments=(str(library),))
    assert "; 3 calls kept." in text, text
    said = "in whose first bytes a thread may have been as the program went on: cuMemAlloc_v2.\n"
    assert text.count(f"\nCalls may be missing of functions {said}") == 2, text
