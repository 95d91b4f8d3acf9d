"""A base name means all symbols of its function that can be called in the layer meant; --exact one symbol."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scenario import Scenario

CLIENT = """
#include <dlfcn.h>
#include "gdbcuda_api.h"
int main(int argc, char **argv)
{
    void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    nvmlMemory_v2_t memory = {.version = nvmlMemory_v2};
    for (; --argc; argv++)
        ((nvmlReturn_t (*)(nvmlDevice_t, void *))dlsym(nvml, argv[1]))(0, &memory);
    return 0;
}
"""
LINKED = """
#include "gdbcuda_api.h"
int main(void) { void *block; return cudaMallocAsync_ptsz(&block, 1000, 0) + (int)nvmlInit_v2(); }
"""
OWN_THREAD = """
#include <dlfcn.h>
#include <pthread.h>
#include "gdbcuda_api.h"
nvmlReturn_t nvmlDeviceGetCount(unsigned *count) { return *count = 1, NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count) { return *count = 2, NVML_SUCCESS; }
static void *watch(void *unused) { unsigned count; nvmlDeviceGetCount(&count); return unused; }
nvmlReturn_t nvmlInit_v2(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, watch, 0);
    pthread_join(thread, 0);
    return NVML_SUCCESS;
}
"""


@pytest.fixture
def include(shim: Path) -> str:
    return f"-I{shim}"


@pytest.fixture
def linked(compile_c, shim: Path, include: str) -> Path:
    """Compiled with --default-stream per-thread, as its runtime's functions say."""
    return compile_c("linked", LINKED, include, f"-L{shim}/standin", "-l:libcudart.so.13", "-l:libnvidia-ml.so.1")


def made(text: str) -> list[str]:
    return re.findall(r"^Breakpoint \d+: (\w+) in ", text, re.MULTILINE)


def stops(text: str) -> list[tuple[str, str]]:
    return re.findall(r"^Breakpoint \d+  (\w+) \S+  (\w+)\(", text, re.MULTILINE)


def test_a_client_that_asks_by_name(scenario: Scenario, compile_c, include: str) -> None:
    """Nobody can know which of the two it will ask for."""
    client = compile_c("client", CLIENT, include)
    name = "nvmlDeviceGetMemoryInfo"
    text = scenario.run(client, f"cuda-break {name}", f"cuda-break {name} --in driver", "RUN", *["continue"] * 4,
                        arguments=(f"{name}_v2", name))  # fmt: skip
    assert made(text) == [name, f"{name}_v2"] * 2
    assert stops(text) == [("hook", f"{name}_v2"), ("driver", f"{name}_v2"), ("hook", name), ("driver", name)]


def test_a_program_with_streams_of_its_threads(scenario: Scenario, linked: Path) -> None:
    text = scenario.run(linked, "cuda-break cuMemAllocAsync", "RUN")
    assert made(text) == ["cuMemAllocAsync", "cuMemAllocAsync_ptsz"]
    assert stops(text) == [("hook", "cuMemAllocAsync_ptsz")]


def test_the_thread_of_a_hook_library(local: Scenario, compile_c, linked: Path, include: str) -> None:
    """It may call what the program does not; --exact is kept by cuda-save."""
    hook = compile_c("libthread.so", OWN_THREAD, include, "-shared")
    both = "cuda-break nvmlDeviceGetCount --in hook --from any"
    more = (f"{both} --exact", f"{both} --exact --once")
    text = local.run(linked, both, *more, "cuda-save /dev/stdout", "run", hook=hook)
    assert made(text) == ["nvmlDeviceGetCount_v2", *["nvmlDeviceGetCount"] * 3]
    assert stops(text)[0] == ("hook", "nvmlDeviceGetCount")
    assert text.count("cuda-break nvmlDeviceGetCount --exact --from any --in hook") == 3
    text = local.run(linked, "cuda-break nvmlDeviceGetCount", both.replace("any", "hook"), hook=hook)
    assert "does not call" not in text and len(made(text)) == 3


def test_in_the_hook_what_only_its_thread_calls(scenario: Scenario, compile_c, linked: Path, include: str) -> None:
    """--in hook means all that can be called there. What the program does call stops for its calls alone."""
    hook = compile_c("libthread.so", OWN_THREAD, include, "-shared")
    text = scenario.run(linked, "cuda-break nvmlDeviceGetCount --in hook", "cuda-save /dev/stdout", "RUN", hook=hook)
    assert made(text) == ["nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"]
    assert re.search("nvmlDeviceGetCount_v2 in hook .*, called from the program$", text, re.MULTILINE)
    assert "(the program does not call nvmlDeviceGetCount: anyone's calls stop there)" in text
    assert "cuda-break nvmlDeviceGetCount --exact --from any --in hook" in text
    assert "cuda-break nvmlDeviceGetCount_v2 --from app --in hook" in text
    assert stops(text)[0] == ("hook", "nvmlDeviceGetCount")
    assert "called by hook libthread.so watch()" in text
    text = scenario.run(linked, "cuda-break nvmlDeviceGetCount --in hook --exact",
                        "cuda-break nvmlDeviceGetCount", hook=hook)  # fmt: skip
    assert made(text) == ["nvmlDeviceGetCount", "nvmlDeviceGetCount_v2"]


def test_what_cannot_be_called_is_left_out(local: Scenario) -> None:
    """test_alloc asks nobody for functions, so it calls what it is linked with; what a condition fits is said."""
    text = local.run("test_alloc", "cuda-break cuMemAlloc nvmlDeviceGetMemoryInfo cuLaunchKernel",
                     "cuda-break nvmlDeviceGetMemoryInfo --from any if memory->version > 0")  # fmt: skip
    assert made(text) == ["cuMemAlloc_v2", "nvmlDeviceGetMemoryInfo", "cuLaunchKernel", "nvmlDeviceGetMemoryInfo_v2"]
    assert "(the condition does not fit 1 of them: nvmlDeviceGetMemoryInfo)" in text


def test_the_symbol_of_before_cuda_4(local: Scenario, compile_c) -> None:
    """A mistake in the program, which asks for another function than C means by that name."""
    client = compile_c("old", """
#include <dlfcn.h>
int main(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    unsigned int block;
    return ((int (*)(unsigned int *, unsigned int))dlsym(driver, "cuMemAlloc"))(&block, 100);
}
""")
    text = local.run(client, "cuda-break cuMemAlloc cuMemFree", "run")
    assert made(text) == ["cuMemAlloc_v2", "cuMemAlloc", "cuMemFree_v2"]
    assert stops(text) == [("hook", "cuMemAlloc")]
