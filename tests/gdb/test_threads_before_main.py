"""A hook library whose constructor begins threads, as watchers and clients of remote GPUs do: they meet our breakpoints
while the main thread is on its way to `main`."""

from __future__ import annotations

import platform

import pytest
from scenario import Scenario

THREADS, CALLS = 6, 20
HOOK = f"""
#include <dlfcn.h>
#include <pthread.h>
int cuDriverGetVersion(int *version);
static pthread_t watchers[{THREADS}];
static void *watch(void *argument)
{{
    for (int i = 0, version; i < {CALLS}; i++)
        cuDriverGetVersion(&version);
    return argument;
}}
int cuInit(unsigned flags)
{{
    int (*real)(unsigned) = dlsym(RTLD_NEXT, "cuInit");
    for (int i = 0; i < {THREADS}; i++)
        pthread_join(watchers[i], NULL);
    return real(flags);
}}
__attribute__((constructor)) static void begin(void)
{{
    for (int i = 0; i < {THREADS}; i++)
        pthread_create(&watchers[i], NULL, watch, NULL);
}}
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="gdb steps a thread aside at the program's entry point")
@pytest.mark.parametrize("wanted", ["auto", "on"])
def test_who_is_on_its_way_to_main_executes_the_programs_own_code(local: Scenario, compile_c, wanted: str) -> None:
    """gdb has other threads execute instructions where the program begins. It steps as the user wants it to again."""
    hook = compile_c("libwatcher.so", HOOK, "-shared", "-pthread", f"-L{local.shim}/standin", "-lcuda")
    text = local.run("test_alloc", f"set displaced-stepping {wanted}", "cuda-log start cuDriverGetVersion", "RUN",
                     "show displaced-stepping", "cuda-log summary", hook=hook)  # fmt: skip
    assert "exited normally" in text and f"{THREADS * CALLS} calls of 1 function" in text, text
    assert f"step over breakpoints is {wanted}" in text
