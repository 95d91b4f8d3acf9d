"""cuda-break: one location, the right one, in every life of the process."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from idle_gdb import IdleGdb
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
        ("cuda-break", "required"),
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
    text = local.run("test_alloc", "cuda-break cuMemAlloc", "run", "run", "info breakpoints")
    assert text.count("Breakpoint 1  hook") == 2
    assert len(enabled_rows(text)) == 1


@pytest.mark.smoke
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


@pytest.mark.parametrize("option", ["--in drivr", "--from Hook", "--in hook,runtimes"])
def test_a_layer_with_a_typo(local: Scenario, option: str) -> None:
    text = local.run("test_alloc", f"cuda-break cuMemAlloc {option}", "info breakpoints")
    assert re.search(r"cuda-break: no layer '\w+'; did you mean \w+\?", text)
    assert "No breakpoints" in text
    assert "in libx.so" in local.run("test_alloc", "cuda-break cuMemAlloc --in libx.so")


INDIRECT = """
static int one(unsigned long long *dptr, unsigned long bytesize)
{
    *dptr += bytesize;
    return 0;
}
static void *choose(void)
{
    return one;
}
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize) __attribute__((ifunc("choose")));
"""
CALLS_IT = """
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
int main(void)
{
    unsigned long long sum = 0;
    for (int i = 1; i < 4; i++)
        cuMemAlloc_v2(&sum, (unsigned long)i);
    return (int)sum;
}
"""


def test_an_indirect_function(scenario: Scenario, compile_c, tmp_path: Path) -> None:
    """gdb knows no code of it before somebody has called it, and makes a breakpoint of which it tells nobody."""
    hook = compile_c("libindirect.so", INDIRECT, "-shared")
    program = compile_c("program", CALLS_IT, str(hook), "-Wl,-z,lazy", f"-Wl,-rpath,{tmp_path}")
    text = scenario.run(program, "tbreak main", "RUN", "cuda-break cuMemAlloc", "info breakpoints", hook=hook)
    assert "cuda-break: that is an indirect function (IFUNC): which code it stands for only gdb's own break" in text
    assert "No breakpoints" in text and "fault of gdbcuda" not in text, text


def test_an_indirect_function_that_was_not_loaded_yet(scenario: Scenario, compile_c, tmp_path: Path) -> None:
    """The loader asks it for its code: there gdb puts the breakpoint, and it is the function all the same."""
    hook = compile_c("libindirect.so", INDIRECT, "-shared")
    program = compile_c("program", CALLS_IT, str(hook), "-Wl,-z,lazy", f"-Wl,-rpath,{tmp_path}")
    text = scenario.run(program, "cuda-break cuMemAlloc if bytesize == 2", "RUN", "continue", hook=hook)
    assert "hook libindirect.so one for  cuMemAlloc_v2(dptr=" in text and "bytesize=2)" in text, text
    assert ", of 1: " not in text, text
    assert len(re.findall(r"^Breakpoint 1, ", text, re.MULTILINE)) == 1 and "exited with code 06" in text, text


DRIVER_TOO = """
#include <dlfcn.h>
static int (*onward)(unsigned long long *, unsigned long);
static int one(unsigned long long *dptr, unsigned long bytesize)
{
    onward = dlsym(RTLD_NEXT, "cuMemAlloc_v2");
    return bytesize > 2ul << 30 ? 2 : onward(dptr, bytesize);
}
static void *choose(void) { return one; }
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize) __attribute__((ifunc("choose")));
"""


@pytest.mark.parametrize("binding", ["lazy", "now"])
def test_an_indirect_function_beside_the_driver_s(scenario: Scenario, compile_c, binding: str) -> None:
    """gdb follows it only where it is a breakpoint's one place. The loader's question is no call of the function."""
    hook = compile_c("libindirect.so", DRIVER_TOO, "-shared")
    words = ("cuda-break cuMemAlloc --from any if nth >= 2", "cuda-log start cuMemAlloc", "RUN", "continue",
             "cuda-log show --tree")  # fmt: skip
    environment = {"LD_BIND_NOW": "1"} if binding == "now" else {}
    text = scenario.run("test_alloc", *words, hook=hook, environment=environment)
    assert re.findall(r"^Breakpoint \d+  (hook [^(]*)\(.*bytesize=(\d+) ", text, re.MULTILINE) == [
        ("hook libindirect.so one for  cuMemAlloc_v2", str((1 << 30) + 1)),
        ("hook libindirect.so one for  cuMemAlloc_v2", str(3 << 30)),
    ]
    layers = ["hook", "driver", "hook", "driver"]
    assert re.findall(r"T1  (\w+) +cuMemAlloc_v2\(", text)[:4] == layers and "not in CUresult" not in text


def test_the_program_s_first_instruction_is_watched_once(scenario: Scenario) -> None:
    table = "maintenance info breakpoints"
    text = scenario.run("test_alloc", "cuda-break cuMemAlloc", "RUN", "cuda-guards", "echo begun\\n", table, "delete",
                        "continue")  # fmt: skip
    assert "<_start>" not in text.partition("begun\n")[2] and "exited" in text, text


def test_nobody_asks_for_the_code_any_more(scenario: Scenario, compile_c) -> None:
    """What heard the loader's question leaves gdb's table with the last who waited, in a script too."""
    hook = compile_c("libindirect.so", DRIVER_TOO, "-shared")
    table = "maintenance info breakpoints"
    text = scenario.run("test_alloc", "cuda-break cuMemAlloc", "RUN", table, "delete", "cuda-guards", "echo gone\\n",
                        table, "continue", hook=hook)  # fmt: skip
    before, _, after = text.partition("gone\n")
    assert re.search(r"^-\d+ .* y .* choose\b", before, re.MULTILINE), before
    assert " choose" not in after and "exited" in after, after


LOADS_MORE = """
#include <dlfcn.h>
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
int main(void)
{
    unsigned long long memory;
    dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    for (unsigned long i = 1; i < 4; i++) {
        cuMemAlloc_v2(&memory, i);
        dlopen("libutil.so.1", RTLD_NOW);
    }
    return 0;
}
"""


@pytest.mark.parametrize("binding", ["-fplt", "-fno-plt"])
def test_places_of_an_indirect_function_stay_off(scenario: Scenario, compile_c, tmp_path: Path, binding: str) -> None:
    """gdb switches them on when it sets the breakpoint again, at the next load."""
    hook = compile_c("libindirect.so", DRIVER_TOO, "-shared", "-g0")
    program = compile_c("program", LOADS_MORE, binding, str(hook),
                        f"-Wl,-rpath,{tmp_path}:{scenario.shim}/standin")  # fmt: skip
    words = ("cuda-break cuMemAlloc --from any", "RUN", "continue", "continue", "info breakpoints", "continue")
    text = scenario.run(program, *words, hook=hook)
    assert re.findall(r"^Breakpoint \d+  (\w+) .*bytesize=(\d+)", text, re.MULTILINE) == [
        ("hook", "1"), ("hook", "2"), ("hook", "3"),
    ], text  # fmt: skip
    assert re.findall(r"^1\.\d +(\w)", text, re.MULTILINE) == ["n", "n"], text


VERSIONS = """
int first(unsigned long long *dptr, unsigned long bytesize) { return 2; }
int second(unsigned long long *dptr, unsigned long bytesize) { return 0; }
__asm__(".symver first, cuMemAlloc_v2@HOOK_1");
__asm__(".symver second, cuMemAlloc_v2@@HOOK_2");
"""


def test_versions_of_one_symbol(scenario: Scenario, compile_c, tmp_path: Path) -> None:
    """Who was linked without versions gets the oldest, which is not the default."""
    (tmp_path / "map").write_text("HOOK_1 { global: cuMemAlloc_v2; local: *; };\nHOOK_2 { } HOOK_1;\n")
    hook = compile_c("libversions.so", VERSIONS, "-shared", f"-Wl,--version-script={tmp_path}/map")
    text = scenario.run("test_alloc", "cuda-break cuMemAlloc", "cuda-log start cuMemAlloc", "tbreak exit", "RUN",
                        "info breakpoints", "delete", "continue", "cuda-log show", hook=hook)  # fmt: skip
    assert re.findall(r"T1  (\w+) +cuMemAlloc_v2\(.*?\) = (\w+)", text) == [("hook", "CUDA_ERROR_OUT_OF_MEMORY")] * 3
    if " in first at " not in text:
        pytest.skip("this gdb finds the default version of a symbol alone (gdb 11 finds all)")
    assert re.search(r"^Breakpoint 1(\.\d)?, first ", text, re.MULTILINE), text


def test_an_indirect_function_on_return(scenario: Scenario, compile_c, tmp_path: Path) -> None:
    hook = compile_c("libindirect.so", INDIRECT, "-shared")
    program = compile_c("program", CALLS_IT, str(hook), f"-Wl,-rpath,{tmp_path}")
    text = scenario.run(program, "cuda-break cuMemAlloc --on return if bytesize == 2", "RUN", "continue", hook=hook)
    assert re.search(r"hook libindirect.so  cuMemAlloc_v2\(.*bytesize=2\) = CUDA_SUCCESS", text), text
    assert "exited with code 06" in text, text
