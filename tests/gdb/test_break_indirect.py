"""cuda-break on what is more than one place of a name: indirect functions, versions, code that comes and goes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scenario import Scenario

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
int cuMemAllocManaged(unsigned long long *dptr, unsigned long bytesize, unsigned flags)
{
    return one(dptr, bytesize) + (int)flags;
}
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
    words = ("tbreak main", "RUN", "cuda-break cuMemAlloc", "info breakpoints", "cuda-break 'cuMemAlloc[_M]*'")
    text = scenario.run(program, *words, hook=hook)
    why = "an indirect function (IFUNC): which code it stands for only gdb's own break can tell"
    assert f"cuda-break: that is {why}\n" in text
    assert "No breakpoints" in text and "fault of gdbcuda" not in text, text
    assert re.search(r"^Breakpoint \d+: cuMemAllocManaged in hook libindirect.so, called from the program", text, re.M)
    assert f"\n  (not at cuMemAlloc_v2: {why})\n" in text, text


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


def test_who_says_what_an_indirect_function_stands_for_is_not_recorded(local: Scenario, compile_c) -> None:
    """In a stripped hook library gdb knows it by the function's name."""
    hook = compile_c("libindirect.so", DRIVER_TOO, "-shared", "-s")
    text = local.run("test_alloc", "cuda-log start cuMemAlloc", "RUN", "cuda-log show", hook=hook)
    sizes = re.findall(r"T1  hook +cuMemAlloc_v2\(.*?bytesize=(\d+)", text)
    assert sizes == [str(1 << 26), str((1 << 30) + 1), str(3 << 30)], text


CALLED_BEFORE = """
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
void half(void) { __asm__ volatile(""); }
int main(void)
{
    unsigned long long sum = 0;
    for (int i = 1; i < 5; i++) {
        if (i == 3)
            half();
        cuMemAlloc_v2(&sum, (unsigned long)i);
    }
    return (int)sum;
}
"""


def test_an_indirect_function_that_was_called_before(local: Scenario, compile_c, tmp_path: Path) -> None:
    """gdb knows its code then, beside the driver's function too: a call stops once."""
    hook = compile_c("libindirect.so", INDIRECT, "-shared", "-g0")
    flags = (f"-L{local.shim}/standin", "-l:libcuda.so.1", "-Wl,-z,lazy")
    program = compile_c("program", CALLED_BEFORE, *flags)
    text = local.run(program, "tbreak half", "RUN", "cuda-break cuMemAlloc", *["continue"] * 3, hook=hook)
    stops = re.findall(r"^Breakpoint \d+  hook libindirect.so one for  cuMemAlloc_v2\(.*=(\d)\)", text, re.MULTILINE)
    assert stops == ["3", "4"] and "exited with code 012" in text, text


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
    program = compile_c("program", LOADS_MORE, binding, str(hook), "-Wl,-z,lazy",
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
    assert re.search(r"^Breakpoint 1  hook libversions.so  cuMemAlloc_v2\(", text, re.MULTILINE), text


ALIASES = """
int {inside}(unsigned long long *dptr, unsigned long bytesize) {{ return bytesize > 2ul << 30 ? 2 : 0; }}
int cuMemAlloc(unsigned long long *, unsigned long) __attribute__((alias("{inside}")));
int cuMemAlloc_v2(unsigned long long *, unsigned long) __attribute__((alias("{inside}")));
"""


@pytest.mark.parametrize("inside", ["book_and_allocate", "eng_alloc"])
def test_a_function_that_is_an_alias_is_known_at_its_stops(scenario: Scenario, compile_c, inside: str) -> None:
    """Debug info names what was written; the loader finds the API's name there, and what headers lead to is meant."""
    hook = compile_c("libalias.so", ALIASES.format(inside=inside), "-shared")
    text = scenario.run("test_alloc", "cuda-break cuMemAlloc if bytesize > 1G", "RUN", "cuda-call", "delete",
                        "cuda-break cuMemAlloc --on error", "continue",
                        hook=hook)  # fmt: skip
    assert f"1.2, {inside} " in text and "Breakpoint 1  hook libalias.so  cuMemAlloc_v2(dptr=0x" in text, text
    assert "cuMemAlloc_v2 in hook libalias.so, called by app allocate_buffer() at test_alloc.c:" in text, text
    assert re.search(r"bytesize=3221225472 \[3.00 GiB\]\) = CUDA_ERROR_OUT_OF_MEMORY \(2\)\n +returned to app", text)
    assert "is not an API function" not in text


def test_an_indirect_function_on_return(scenario: Scenario, compile_c, tmp_path: Path) -> None:
    hook = compile_c("libindirect.so", INDIRECT, "-shared")
    program = compile_c("program", CALLS_IT, str(hook), f"-Wl,-rpath,{tmp_path}")
    text = scenario.run(program, "cuda-break cuMemAlloc --on return if bytesize == 2", "RUN", "continue", hook=hook)
    assert re.search(r"hook libindirect.so  cuMemAlloc_v2\(.*bytesize=2\) = CUDA_SUCCESS", text), text
    assert "exited with code 06" in text, text
