"""cuda-break: one location, the right one, in every life of the process."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from idle_gdb import IdleGdb
from of_two_versions import compile_older
from scenario import Scenario


def enabled_rows(text: str) -> list[str]:
    """The rows of the last ``info breakpoints`` whose place is switched on."""
    table = text.rpartition("Num     Type")[2]
    return [row for row in table.splitlines() if re.match(r"\d+(\.\d+)?\s.*\sy\s+0x", row)]


@pytest.mark.smoke
def test_stops_in_the_hook_alone(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "cuda-break cuMemAlloc", "RUN", "info breakpoints", "bt")
    assert (
        "Breakpoint 1: cuMemAlloc_v2 in hook libgdbcuda-hook.so (pending until it is loaded), called from the program"
        in text
    )
    assert re.search(
        r"Breakpoint 1  hook libgdbcuda-hook\.so  cuMemAlloc_v2\(dptr=0x\w+ -> \(not written yet\), "
        r"bytesize=67108864 \[64\.00 MiB\]\)\n +called by app allocate_buffer\(\) at test_alloc\.c:\d+, thread 1",
        text,
    )
    assert len(enabled_rows(text)) == 1
    assert "[hook libgdbcuda-hook.so] cuMemAlloc_v2" in text
    assert "[app] main" in text


@pytest.mark.parametrize(("layer", "file"), [("driver", "libcuda.so.1"), ("hook", "libgdbcuda-hook.so")])
def test_in_picks_the_layer(scenario: Scenario, layer: str, file: str) -> None:
    text = scenario.run("test_alloc", f"cuda-break cuMemAlloc --in {layer}", "RUN", "info breakpoints")
    assert f"Breakpoint 1  {layer} {file}  cuMemAlloc_v2(" in text
    assert len(enabled_rows(text)) == 1


RELEASE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
typedef int (*allocate_t)(void **, unsigned long);
static void *(*real_dlsym)(void *, const char *);
static void *driver;
static int allocate(void **block, unsigned long bytes)
{
    int status = ((allocate_t)real_dlsym(driver, "cuMemAlloc_v2"))(block, bytes);
    return status ? 2 : 0;
}
__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name)
{
    real_dlsym = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    if (strcmp(name, "cuMemAlloc_v2"))
        return real_dlsym(handle, name);
    driver = handle;
    return allocate;
}
"""


def test_a_release_build_is_seen_in_what_it_answers_with(scenario: Scenario, compile_c) -> None:
    """It has no names: what it answers dlsym with is known when it is asked."""
    hook = compile_c("librelease.so", RELEASE, "-shared", "-fvisibility=hidden", "-s")
    text = scenario.run("dlsym_alloc", "cuda-break cuMemAlloc", "RUN", "cuda-break cuMemFree", hook=hook)
    assert "Breakpoint 1: cuMemAlloc_v2 in the outermost library that has it (pending until one is loaded; " in text
    assert "librelease.so hides what it defines: this stops in what it answers dlsym with)\n" in text
    assert re.search(r"Breakpoint 2  hook librelease\.so \+0x\w+ for  cuMemAlloc_v2\(.*\n +called by app", text)
    assert "Breakpoint 3: cuMemFree_v2 in driver libcuda.so.1 (librelease.so hides what it defines: this" in text
    assert text.count("what it answers dlsym with from now on)\n") == 1


def test_a_hidden_function_of_the_hook_is_in_the_hook(local: Scenario) -> None:
    text = local.run("dlsym_alloc", "cuda-break cuMemAlloc", hook=local.sample("wrong/hidden.so"))
    assert "Breakpoint 1: cuMemAlloc_v2 in hook hidden.so (pending until it is loaded), called from the program" in text


def test_in_the_hook_that_does_not_have_it(local: Scenario) -> None:
    text = local.run("test_alloc", "cuda-break cuCtxSynchronize --in hook", hook=local.sample("minimal_hook.so"))
    assert "in hook (pending; minimal_hook.so has no function of that name, not even a hidden one: this stops" in text


def test_a_function_of_the_hook_that_is_none_of_the_api(scenario: Scenario) -> None:
    """The hook itself calls it."""
    text = scenario.run("test_alloc", "cuda-break cuMemoryAllocate if 1 > 0", "RUN", "bt 2")
    assert "Breakpoint 1: cuMemoryAllocate in hook libgdbcuda-hook.so (pending until it is loaded), if 1 > 0\n" in text
    assert "  (cuMemoryAllocate: no function of the API; called by anyone, --from says otherwise)\n" in text
    assert re.search(r"#0 .* cuMemoryAllocate \(.*\n#1 .*\[hook libgdbcuda-hook.so\]", text)


def test_a_function_of_older_headers_is_called_so(local: Scenario, compile_c) -> None:
    """Drivers keep it under its old name for programs that were compiled with those headers."""
    hook = compile_c("libolder.so", "int nvmlGetBlacklistDeviceCount(unsigned *n) { return *n = 0; }", "-shared")
    text = local.run("test_alloc", "cuda-break nvmlGetBlacklistDeviceCount", hook=hook)
    assert "Breakpoint 1: nvmlGetBlacklistDeviceCount in hook libolder.so (pending" in text
    assert "  (nvmlGetBlacklistDeviceCount: in older headers, now nvmlGetExcludedDeviceCount; called by any" in text


def test_in_takes_a_library(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "cuda-break cuMemAlloc --in libcuda.so.1", "RUN")
    assert "Breakpoint 1  driver libcuda.so.1  cuMemAlloc_v2(" in text


def test_both_layers_of_one_call(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "cuda-break cuMemAlloc --in hook,driver", "RUN", "continue")
    hook = text.index("Breakpoint 1  hook")
    assert text.index("Breakpoint 1  driver") > hook


def test_condition_on_parameter_names(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "cuda-break cuMemAlloc if bytesize > 1<<30", "RUN")
    assert "if bytesize > 1073741824" in text
    assert "bytesize=1073741825 [1.00 GiB]" in text
    assert "bytesize=67108864" not in text


def test_condition_holds_without_debug_info(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "cuda-break cuMemAlloc --in driver if bytesize >= 2G", "RUN")
    assert "bytesize=3221225472 [3.00 GiB]" in text
    assert text.count("Breakpoint 1  driver") == 1


def test_condition_with_enum_constant(scenario: Scenario) -> None:
    text = scenario.run(
        "runtime_alloc", "cuda-break cudaMemcpy if kind == cudaMemcpyDeviceToHost && count >= 4K", "RUN"
    )
    assert "kind=cudaMemcpyDeviceToHost (2)" in text
    assert "cudaMemcpyHostToDevice" not in text


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("cuda-break cuMemAloc", "did you mean cuMemAlloc"),
        ("cuda-break cuMemAlloc if size > 1", "dptr, bytesize"),
        ("cuda-break cuMemAlloc if bytesize >", "cuda-break: "),
        ("cuda-break cuMemAlloc if", "wants a condition"),
        ("cuda-break 'cuNothing*'", "no function"),
        ("cuda-break cuMemAlloc --on sometimes", "not 'sometimes', for example: cuda-break cuMemAlloc --on error"),
        ("cuda-break", "FUNCTION is missing"),
        ("cuda-break cuMemAlloc every 4", "'every 4' is no function; a condition begins with if, as in: cuda-break"),
        ("cuda-break cuMemAlloc bytesize > 1G", "'>' is no function; a condition begins with if, as in: cuda-break"),
        ("cuda-break cuMemAlloc if bytesize > 1G --once", "column 15: --once belongs in front of if"),
        ("cuda-break dlsym --on return", "--on return is for functions of the API, which dlsym is not"),
    ],
)
def test_mistakes_are_one_line_and_make_nothing(not_started: IdleGdb, command: str, message: str) -> None:
    text = not_started.run(command, "info breakpoints")
    assert message in text
    assert "No breakpoints" in text
    assert len(text.strip().splitlines()) == 2, text


def test_survives_a_second_run(local: Scenario) -> None:
    """In a gdb that overwrites at once what it frees: else it survives for a while where it still uses that."""
    words = ("unset environment GLIBC_TUNABLES", "cuda-break cuMemAlloc", "run", "run", "info breakpoints")
    overwriting = {"GLIBC_TUNABLES": "glibc.malloc.perturb=165:glibc.malloc.tcache_count=0"}
    text = local.run("test_alloc", *words, environment=overwriting)
    assert text.count("Breakpoint 1  hook") == 2, text
    assert len(enabled_rows(text)) == 1


@pytest.mark.smoke("local")
def test_survives_dlopen(scenario: Scenario) -> None:
    text = scenario.run("dlsym_alloc", "cuda-break cuMemAlloc --in driver", "RUN", "info breakpoints")
    assert "Breakpoint 1  driver libcuda.so.1  cuMemAlloc_v2(" in text
    assert len(enabled_rows(text)) == 1


def test_from_filters_the_caller(scenario: Scenario) -> None:
    own = scenario.run(
        "test_alloc", "cuda-break cuCtxGetDevice --from hook", "RUN", environment={"GDBCUDA_MEMORY_LIMIT": "2g"}
    )
    assert re.search(r"called by hook libgdbcuda-hook\.so \w+\(\)", own)
    program = scenario.run("test_alloc", "cuda-break cuCtxGetDevice", "RUN", environment={"GDBCUDA_MEMORY_LIMIT": "2g"})
    assert "Breakpoint 1  " not in program


def test_globs(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "cuda-break 'cuMemFree*'", "RUN")
    assert "cuMemFree_v2(dptr=0x" in text


def test_a_glob_is_for_the_functions_that_the_condition_fits(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "cuda-break 'cuMemAlloc*' if bytesize > 2G", "RUN", "info breakpoints")
    assert "(the condition does not fit 2 of them: cuMemAllocPitch, cuMemAllocPitch_v2)\n" in text
    assert re.search(r"^Breakpoint \d+  hook .*cuMemAlloc_v2\(.*bytesize=3221225472", text, re.MULTILINE)
    assert "cuMemAllocPitch" not in text.rpartition("Num     Type")[2]


def test_so_it_is_for_the_log(local: Scenario) -> None:
    text = local.run("test_alloc", "cuda-log start 'cuMem*' --in hook if bytesize > 2G", "run", "cuda-log show")
    assert re.findall(r"^#\d.* hook +(\w+)\(", text, re.MULTILINE) == ["cuMemAlloc_v2"], text


def test_the_loaders_functions_have_parameters_too(scenario: Scenario) -> None:
    words = ('cuda-break dlsym if symbol == "cuMemAlloc*" && handle != NULL', "RUN", "cuda-guards", "continue")
    text = scenario.run("dlsym_alloc", *words)
    assert set(re.findall(r"^Breakpoint 1  hook \S+  dlsym asked for (\w+)", text, re.MULTILINE)) == {"cuMemAlloc_v2"}
    assert re.search(r"^1 +in the process ", text, re.MULTILINE), text


def test_a_name_of_the_hook_that_is_no_api(scenario: Scenario) -> None:
    text = scenario.run("dlsym_alloc", "cuda-break dlsym --from any", "RUN")
    assert re.search(r"Breakpoint 1\S*, dlsym \(", text)


def test_without_a_hook_the_outermost(scenario: Scenario) -> None:
    text = scenario.run("runtime_alloc", "cuda-break cudaMalloc", "RUN", "info breakpoints", hook=None)
    assert "no hook library yet, see cuda-load" in text
    assert re.search(r"Breakpoint 1  runtime libcudart\.so\.\d+  cudaMalloc\(", text)
    assert len(enabled_rows(text)) == 1


def test_nvml(scenario: Scenario) -> None:
    text = scenario.run("nvml_info", "cuda-break nvmlDeviceGetMemoryInfo --once", "RUN")
    assert re.search(r"Breakpoint 1  hook \S+  nvmlDeviceGetMemoryInfo\w*\(device=0x\w+", text)


@pytest.mark.parametrize("name", ["''", "cuMemAlloc_v2@plt"])
def test_what_no_function_is_called(local: Scenario, name: str) -> None:
    text = local.run("test_alloc", f"cuda-break {name}", "info breakpoints")
    assert "cuda-break: " in text
    assert "No breakpoints" in text


@pytest.mark.parametrize(("typed", "says"), [
    ("cuda-break 15", "15 is a line and no function; gdb's own stops there: break 15"),
    ("cuda-break test_alloc.c:25 --in app", "test_alloc.c:25 is a line and no function"),
    ("cuda-break main,allocate_buffer", "written with blanks between them, not commas: main allocate_buffer"),
    ("cuda-break cuMemAlloc, cuMemFree", "functions are written with blanks between them, not commas: cuMemAlloc"),
    ("cuda-log start cuMemAlloc,cuMemFree", "blanks between them, not commas: cuMemAlloc cuMemFree"),
])  # fmt: skip
def test_what_gdb_s_break_would_take(not_started: IdleGdb, typed: str, says: str) -> None:
    """It was a breakpoint that waited for a function of that name for ever."""
    text = not_started.run(typed, "info breakpoints", "complete cuda-break cuMemAlloc_")
    assert says in text and "No breakpoints" in text and "@plt" not in text


@pytest.mark.parametrize("option", ["--in drivr", "--from Hook", "--in hook,runtimes"])
def test_a_layer_with_a_typo(local: Scenario, option: str) -> None:
    text = local.run("test_alloc", f"cuda-break cuMemAlloc {option}", "info breakpoints")
    assert re.search(r"cuda-break: no layer '\w+'; did you mean \w+\?", text)
    assert "No breakpoints" in text
    assert "in libx.so" in local.run("test_alloc", "cuda-break cuMemAlloc --in libx.so")


def test_functions_that_only_one_of_two_versions_has(local: Scenario, tmp_path: Path) -> None:
    """A driver is newer than the runtime, and both may be older than what the table knows."""
    program = compile_older(local.shim, tmp_path)
    words = ("cuda-break cudaGetDeviceProperties_v2 if device == 0", "cuda-break cuCtxSynchronize_v2")
    text = local.run(program, *words, "RUN", "continue", hook=None)
    assert "Breakpoint 1  runtime libcudart.so.12  cudaGetDeviceProperties_v2(" in text, text
    assert "Breakpoint 2  driver libcuda.so.1  cuCtxSynchronize_v2(ctx=NULL)" in text, text
