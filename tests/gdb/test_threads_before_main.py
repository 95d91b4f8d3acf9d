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


BARE = """
#include <signal.h>
#include <unistd.h>
int cuInit(unsigned flags);
int work(void)
{
    cuInit(0);
    raise(SIGUSR2);
    _exit(7);
}
__asm__(".globl _start\\n_start: xor %ebp, %ebp\\nand $-16, %rsp\\ncall work\\nhlt");
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="gdb steps a thread aside at the program's entry point")
@pytest.mark.parametrize(("stops", "then"), [("stop", ["cuda-log summary"]), ("nostop", [])])
def test_a_program_that_never_comes_to_libcs_start(local: Scenario, compile_c, stops: str, then: list[str]) -> None:
    """gdb steps as the user wants it to at the first stop in the program, and behind its end in a script."""
    hook = compile_c("libwatcher.so", HOOK, "-shared", "-pthread", f"-L{local.shim}/standin", "-lcuda")
    program = compile_c("bare", BARE, "-nostartfiles", str(local.shim / "standin/libcuda.so.1"))
    text = local.run(program, f"handle SIGUSR2 {stops} nopass", "cuda-log start cuDriverGetVersion", "RUN", *then,
                     "show displaced-stepping", *["continue"] * len(then), hook=hook)  # fmt: skip
    assert "exited with code 07" in text and "step over breakpoints is auto" in text, text
