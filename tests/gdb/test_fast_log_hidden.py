"""cuda-log start --fast: functions whose length neither debug info nor the loader's symbols tell."""

from __future__ import annotations

import re

from scenario import Scenario
from test_fast_log import _new_enough as _new_enough
from test_fast_log import placed as placed
from test_fast_log import pytestmark as pytestmark

INSIDE = """
__attribute__((visibility("hidden"), noinline)) int cudaMalloc(void **p, unsigned long size)
{
    *p = (void *)size;
    return 0;
}
int main(void)
{
    void *p;
    return cudaMalloc(&p, 1) || cudaMalloc(&p, 2) || cudaMalloc(&p, 3);
}
"""


def test_hidden_functions_without_debug_info(local: Scenario, compile_c) -> None:
    """As of the runtime that nvcc links into programs: its file's symbol table alone says how long they are."""
    program = compile_c("inside", INSIDE, "-g0")
    text = local.run(program, "cuda-log start --fast", "RUN", "cuda-log summary", "cuda-log", hook=None)
    assert re.search(r"cudaMalloc +\w+ +3 ", text) and "Not recorded" not in text, text


HIDDEN = """
#include <dlfcn.h>
#include <string.h>
static int (*real)(unsigned long *, unsigned long);
static int allocates(unsigned long *given, unsigned long size)
{
    return size > 1 ? 2 : real(given, size);
}
void *dlsym(void *handle, const char *name)
{
    void *found = ((void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"))(handle, name);
    if (!found || strcmp(name, "cuMemAlloc_v2"))
        return found;
    real = found;
    return allocates;
}
"""
ASKS = """
#include <dlfcn.h>
int main(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    int (*allocate)(unsigned long *, unsigned long) = dlsym(library, "cuMemAlloc_v2");
    unsigned long given;
    return allocate(&given, 1) != 3 || allocate(&given, 2) != 2;
}
"""


def test_a_stripped_hook_library_that_answers_dlsym(placed: Scenario, compile_c) -> None:
    """As HAMi-core's release: what unwinders read alone says how long its functions are."""
    hook = compile_c("libhidden.so", HIDDEN, "-shared", "-O2", "-s", "-ldl")
    program = compile_c("asks", ASKS, "-ldl")
    text = placed.run(program, "cuda-log start --fast", "RUN", "cuda-log show --tree", "cuda-log", hook=hook)
    assert re.search(r"hook +cuMemAlloc_v2\(.*bytesize=1\).*\n.*driver +cuMemAlloc_v2\(", text), text
    assert re.search(r"hook +cuMemAlloc_v2\(.*bytesize=2\) = CUDA_ERROR_OUT_OF_MEMORY", text), text
    assert "Not recorded" not in text and "exited normally" in text, text
