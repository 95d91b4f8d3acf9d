"""cuda-break: one location, the right one, in every life of the process."""

from __future__ import annotations

import re

import pytest
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


def test_a_release_build_is_seen_in_what_it_hands_on(scenario: Scenario, compile_c) -> None:
    """It has no names: the driver is the outermost that has the function, and only the hook calls that."""
    hook = compile_c("librelease.so", RELEASE, "-shared", "-fvisibility=hidden", "-s")
    text = scenario.run("dlsym_alloc", "cuda-break cuMemAlloc", "RUN", "cuda-break cuMemFree", hook=hook)
    assert "Breakpoint 1: cuMemAlloc_v2 in the outermost library that has it (pending until one is loaded; " in text
    assert "librelease.so hides what it defines: seen is what it hands on)\n" in text
    assert re.search(r"Breakpoint 1  driver libcuda\.so\.1  cuMemAlloc_v2\(.*\n +called by hook librelease\.so", text)
    assert "Breakpoint 2: cuMemFree_v2 in driver libcuda.so.1 (librelease.so hides what it defines: seen is" in text


def test_a_hidden_function_of_the_hook_is_in_the_hook(local: Scenario) -> None:
    text = local.run("dlsym_alloc", "cuda-break cuMemAlloc", hook=local.sample("wrong/hidden.so"))
    assert "Breakpoint 1: cuMemAlloc_v2 in hook hidden.so (pending until it is loaded), called from the program" in text


def test_in_the_hook_that_does_not_have_it(local: Scenario) -> None:
    text = local.run("test_alloc", "cuda-break cuCtxSynchronize --in hook", hook=local.sample("minimal_hook.so"))
    assert "in hook (pending; minimal_hook.so has no function of that name, not even a hidden one: see" in text


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
        ("cuda-break cuMemAlloc --on sometimes", "invalid choice"),
        ("cuda-break", "required"),
    ],
)
def test_mistakes_are_one_line_and_make_nothing(local: Scenario, command: str, message: str) -> None:
    text = local.run("test_alloc", command, "info breakpoints", hook=None)
    assert message in text
    assert "No breakpoints" in text
    assert len(text.strip().splitlines()) == 2, text


def test_survives_a_second_run(local: Scenario) -> None:
    text = local.run("test_alloc", "cuda-break cuMemAlloc", "run", "run", "info breakpoints")
    assert text.count("Breakpoint 1  hook") == 2
    assert len(enabled_rows(text)) == 1


def test_survives_a_second_run_with_a_return_breakpoint(local: Scenario) -> None:
    text = local.run("test_alloc", "cuda-break cuMemAlloc --on return", "run", "run")
    assert "Cannot insert" not in text
    assert text.count("= CUDA_SUCCESS") == 2


@pytest.mark.smoke
def test_survives_dlopen(scenario: Scenario) -> None:
    text = scenario.run("dlsym_alloc", "cuda-break cuMemAlloc --in driver", "RUN", "info breakpoints")
    assert "Breakpoint 1  driver libcuda.so.1  cuMemAlloc_v2(" in text
    assert len(enabled_rows(text)) == 1


def test_user_may_switch_a_location_back_on(local: Scenario) -> None:
    text = local.run("test_alloc", "cuda-break cuMemAlloc", "run", "enable 1.1", "continue", "info breakpoints")
    assert len(enabled_rows(text)) == 2


def test_what_the_user_switched_stays_so_in_the_next_run(local: Scenario) -> None:
    there = ("break main", "cuda-break cuMemAlloc", "run")
    text = local.run("test_alloc", *there, "enable 2.1", "disable 2.2", "run", "info breakpoints")
    assert [row.partition(" ")[0] for row in enabled_rows(text)] == ["1", "2.1"]
    again = local.run("test_alloc", *there, "disable 2.2", "enable 2.2", "run", "continue")
    assert again.count("Breakpoint 2  hook libgdbcuda-hook.so  cuMemAlloc_v2(") == 1


def test_from_filters_the_caller(scenario: Scenario) -> None:
    own = scenario.run(
        "test_alloc", "cuda-break cuCtxGetDevice --from hook", "RUN", environment={"GDBCUDA_MEMORY_LIMIT": "2g"}
    )
    assert re.search(r"called by hook libgdbcuda-hook\.so \w+\(\)", own)
    program = scenario.run("test_alloc", "cuda-break cuCtxGetDevice", "RUN", environment={"GDBCUDA_MEMORY_LIMIT": "2g"})
    assert "Breakpoint 1  " not in program


@pytest.mark.smoke
def test_on_error_shows_the_name(scenario: Scenario) -> None:
    text = scenario.run(
        "test_alloc", "cuda-break cuMemAlloc --on error", "RUN", "cuda-call", environment={"GDBCUDA_MEMORY_LIMIT": "2g"}
    )
    assert re.search(
        r"Breakpoint 1  hook \S+  cuMemAlloc_v2\(.*bytesize=3221225472 \[3\.00 GiB\]\) = "
        r"CUDA_ERROR_OUT_OF_MEMORY \(2\)\n +returned to app allocate_buffer\(\)",
        text,
    )
    assert text.count("Breakpoint 1  hook") == 1  # the two that were granted did not stop


def test_on_return_shows_out_values(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "cuda-break cuMemAlloc --on return", "RUN")
    assert re.search(r"cuMemAlloc_v2\(dptr=0x\w+ -> 0x\w+, bytesize=67108864 \[64\.00 MiB\]\) = CUDA_SUCCESS", text)


def test_on_error_respects_the_entry_condition(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "cuda-break cuMemAlloc --on return if bytesize > 2G", "RUN")
    assert "bytesize=3221225472" in text
    assert "bytesize=67108864" not in text


def test_deleting_takes_the_return_breakpoints_too(local: Scenario) -> None:
    text = local.run(
        "test_alloc", "cuda-break cuMemAlloc --on return", "run", "delete 1", "continue", "info breakpoints"
    )
    assert "No breakpoints" in text or "\n2 " not in text.rpartition("Num     Type")[2]


def test_ordinary_breakpoint_in_every_respect(local: Scenario) -> None:
    text = local.run(
        "test_alloc",
        "cuda-break cuMemAlloc",
        "ignore 1 1",
        "python gdb.execute('commands 1\\nsilent\\necho COMMANDS RAN\\\\n\\nend')",
        "run",
        "info breakpoints",
        "disable 1",
        "continue",
    )
    assert "COMMANDS RAN" in text
    assert "breakpoint already hit 2 times" in text
    assert "exited" in text


def test_commands_run_where_the_calls_return(local: Scenario) -> None:
    """That is another breakpoint, but the user has given them to the one that cuda-break has named."""
    before = ("cuda-break cuMemAlloc --on return", "python gdb.execute('commands 1\\necho ONE\\\\n\\nend')", "run")
    after = ("python gdb.execute('commands 1\\necho TWO\\\\n\\nend')", "continue")
    text = local.run("test_alloc", *before, *after, "python gdb.execute('commands 1\\nend')", "continue")
    assert text.count("= CUDA_SUCCESS") == 3 and (text.count("ONE\n"), text.count("TWO\n")) == (1, 1)


def test_ignore_counts_the_returns(scenario: Scenario) -> None:
    """Of three calls the third; then info breakpoints has nothing left to ignore."""
    words = ("cuda-break cuMemAlloc --on return", "ignore 1 2", "RUN", "info breakpoints", "continue")
    text = scenario.run("test_alloc", *words)
    assert text.count("= CUDA_SUCCESS") == 1 and "\tignore next" not in text.rpartition("Num     Type")[2], text
    assert "exited" in text


def test_once_is_temporary(local: Scenario) -> None:
    text = local.run("test_alloc", "cuda-break cuMemAlloc --once", "run", "info breakpoints", "continue")
    assert text.count("Breakpoint 1  hook") == 1
    assert "No breakpoints" in text


def test_save_breakpoints_brings_them_back(local: Scenario, tmp_path) -> None:
    saved = tmp_path / "saved"
    local.run("test_alloc", "cuda-break cuMemAlloc if bytesize > 1G", f"save breakpoints {saved}")
    text = local.run("test_alloc", f"source {saved}", "set breakpoint pending on", "run")
    assert "bytesize=1073741825" in text
    assert "bytesize=67108864" not in text


def test_save_at_a_stop_brings_them_back_before_the_next_run(scenario: Scenario, tmp_path) -> None:
    saved = tmp_path / "saved"
    first = scenario.run(
        "test_alloc",
        "cuda-break cuMemAlloc if bytesize > 1G",
        "cuda-break cuMemFree --in driver --on return",
        "cuda-break cuMemGetInfo --on return",
        "RUN",
        f"save breakpoints {saved}",
        "info breakpoints",
        "continue",
    )
    assert re.search(r"Breakpoint 1  hook .*bytesize=1073741825", first)
    assert first.count("$_cuda_in") == 0
    assert "disable" not in saved.read_text()
    assert "break *0x" not in saved.read_text()
    text = scenario.run(
        "test_alloc",
        "break exit",  # so that the numbers are others
        f"source {saved}",
        "RUN",
        "continue",
        "delete 2",
        "continue",
        "info breakpoints",
    )
    assert re.search(r"Breakpoint 4  hook .*cuMemGetInfo_v2\(.*= CUDA_SUCCESS", text)
    assert re.search(r"Breakpoint 2  hook .*bytesize=1073741825", text)
    assert "$_cuda_in" not in text


def test_globs(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "cuda-break 'cuMemFree*'", "RUN")
    assert "cuMemFree_v2(dptr=0x" in text


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


def test_on_error_catches_the_call_that_we_are_in(scenario: Scenario) -> None:
    text = scenario.run(
        "test_alloc",
        "cuda-break cuMemAlloc --once if bytesize > 2G",
        "RUN",
        "cuda-break cuMemAlloc --on error",
        "continue",
        environment={"GDBCUDA_MEMORY_LIMIT": "2g"},
    )
    assert re.search(r"Breakpoint 2  hook .*bytesize=3221225472.* = CUDA_ERROR_OUT_OF_MEMORY \(2\)", text)


def test_the_stop_names_the_breakpoint_whose_condition_was_true(scenario: Scenario) -> None:
    text = scenario.run(
        "test_alloc",
        "cuda-break cuMemAlloc if bytesize < 1G",
        "cuda-break cuMemAlloc if bytesize > 1G",
        "RUN",
        "continue",
        "continue",
    )
    found = re.findall(r"^Breakpoint (\d)  hook .*bytesize=(\d+)", text, re.MULTILINE)
    assert found == [("1", "67108864"), ("2", "1073741825"), ("2", "3221225472")]


@pytest.mark.parametrize("name", ["''", "cuMemAlloc_v2@plt"])
def test_what_no_function_is_called(local: Scenario, name: str) -> None:
    text = local.run("test_alloc", f"cuda-break {name}", "info breakpoints")
    assert "cuda-break: " in text
    assert "No breakpoints" in text


JUMPING_HOOK = """
extern void leave(unsigned long);
int cuMemAlloc_v2(unsigned long long *block, unsigned long size) { leave(size); return size == 2 ? 2 : 0; }
"""
JUMPING_PROGRAM = """
#include <setjmp.h>
extern int cuMemAlloc_v2(unsigned long long *, unsigned long);
static jmp_buf back;
static volatile int result;
void leave(unsigned long size) { if (size == 1) longjmp(back, 1); }
static unsigned long long block;
static void ask(unsigned long size) { if (!setjmp(back)) result = cuMemAlloc_v2(&block, size); }
int main(void) { ask(1); ask(2); ask(1); ask(3); return 0; }
"""


def test_a_call_left_by_longjmp_is_not_the_one_that_returns(scenario: Scenario, compile_c) -> None:
    hook = compile_c("libjumping.so", JUMPING_HOOK, "-shared")
    program = compile_c("jumping", JUMPING_PROGRAM, "-rdynamic", str(scenario.shim / "standin" / "libcuda.so.1"))
    text = scenario.run(program, "cuda-break cuMemAlloc --on return", "RUN", "continue", "continue", hook=hook)
    assert re.findall(r"^Breakpoint 1 .*bytesize=(\d+)\) = (\w+)", text, re.MULTILINE) == [
        ("2", "CUDA_ERROR_OUT_OF_MEMORY"),
        ("3", "CUDA_SUCCESS"),
    ]


@pytest.mark.parametrize("option", ["--in drivr", "--from Hook", "--in hook,runtimes"])
def test_a_layer_with_a_typo(local: Scenario, option: str) -> None:
    text = local.run("test_alloc", f"cuda-break cuMemAlloc {option}", "info breakpoints")
    assert re.search(r"cuda-break: no layer '\w+'; did you mean \w+\?", text)
    assert "No breakpoints" in text
    assert "in libx.so" in local.run("test_alloc", "cuda-break cuMemAlloc --in libx.so")
