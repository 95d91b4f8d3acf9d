"""Objects that are asked for by name: dlopen in the log of requests, and breakpoints on it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from scenario import Scenario

HOOK = """
#define _GNU_SOURCE
#include <dlfcn.h>
int cuInit(unsigned f) { return (int)f; }
void *dlopen(const char *name, int flags)
{
    return ((void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen"))(name, flags);
}
"""
PROGRAM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    void *plugin = dlopen("libplugin.so", RTLD_NOW), *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_GLOBAL);
    void *none = dlopen("libm.so.6", RTLD_LAZY | RTLD_NOLOAD), *me = dlopen(NULL, RTLD_LAZY);
    void *bad = dlopen("/etc/passwd", RTLD_NOW);
    const char *said = dlsym(driver, "cuNobody") ? "?" : dlerror();
    printf("plugin %d, dlerror says %s\\n", plugin != 0, said);
    return none || bad || !me;
}
"""
ELSEWHERE = """
#define _GNU_SOURCE
#include <dlfcn.h>
int main(void) { return !dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW); }
"""


def make(compile_c: Callable[..., Path], folder: Path) -> None:
    (folder / "private").mkdir()
    compile_c("libplugin.so", "int plugin(void) { return 3; }", "-shared", directory=folder / "private")
    compile_c("libcalls.so", HOOK, "-shared", directory=folder)
    compile_c("libjumps.so", HOOK, "-shared", "-O2", directory=folder)
    compile_c("program", PROGRAM, "-Wl,-rpath,$ORIGIN/private", directory=folder)


@pytest.fixture
def built(build_once) -> Path:
    return build_once(make)


def opened(text: str) -> dict[str, dict]:
    rows = [json.loads(line) for line in text.splitlines() if line.startswith('{"number"')]
    return {row["name"] or "NULL": row for row in rows if row["resolver"] in ("dlopen", "dlmopen")}


@pytest.mark.smoke("local")
def test_a_path_as_it_was_asked_for_and_where_it_was_found(scenario: Scenario, built: Path) -> None:
    text = scenario.run(built / "program", "cuda-dlsym log on", "RUN", "cuda-dlsym log show", hook=None)
    rows = [line for line in text.splitlines() if " dlopen of libc" in line]
    assert re.search(r"libplugin.so, RTLD_NOW +app program main\(\) at \S+:7 +app \S+/private/libplugin.so", rows[0])
    assert re.search(r"libcuda.so.1, RTLD_LAZY\|RTLD_GLOBAL +app .* driver \S+/standin/libcuda.so.1", rows[1])
    assert re.search(r"libm.so.6, RTLD_LAZY\|RTLD_NOLOAD .* nothing +missing +it was not loaded yet", rows[2])
    assert re.search(r"NULL, the program itself, RTLD_LAZY .* app \S+/program", rows[3])
    assert re.search(r"/etc/passwd, RTLD_NOW .* missing +/etc/passwd: (invalid ELF header|file too short)", rows[4])
    assert re.search(r"1 request by the program: 1 missing; 5 dlopen, 1 of them failed", text)


def test_a_namespace_of_its_own(scenario: Scenario, compile_c) -> None:
    knows = "python print('gdb knows', hasattr(gdb, 'BreakpointLocation'))"  # namespaces: since gdb 13, as these
    if scenario.place == "gdbserver" and "gdb knows False" in scenario.run(None, knows, hook=None):
        pytest.skip("gdb 10 knows one namespace; through gdbserver such a program has not ended there, once")
    program = compile_c("elsewhere", ELSEWHERE)
    text = scenario.run(program, "cuda-dlsym log on", "RUN", "cuda-dlsym log show", hook=None)
    assert re.search(r"dlmopen of libc\S+ +libm.so.6, RTLD_NOW .* system \S+/libm.so.6", text)


def test_what_dlerror_says_is_what_the_program_hears(scenario: Scenario, built: Path) -> None:
    text = scenario.run(built / "program", "cuda-dlsym log on", "RUN", "cuda-dlsym log show cuNobody --wrong")
    heard = re.search(r"dlerror says (.*libcuda.so.1: undefined symbol: cuNobody)", text)
    assert heard and f"missing     no loaded object has it; dlerror: {heard.group(1)}" in re.sub(" {2,}", "     ", text)


def test_an_override_that_loses_the_callers_run_path(scenario: Scenario, built: Path) -> None:
    """One that jumps to the loader's dlopen does not: the return address is still the caller's."""
    text = scenario.run(built / "program", "cuda-dlsym log on", "RUN", "cuda-dlsym log show --json",
                        hook=built / "libcalls.so")  # fmt: skip
    found = opened(text)
    lost = "not searched: the RUNPATH of program, $ORIGIN/private (libcalls.so has asked the loader)"
    cannot = "libplugin.so: cannot open shared object file: No such file or directory"
    assert found["libplugin.so"]["error"] == cannot and found["libplugin.so"]["why"] == f"{cannot}; {lost}"
    assert found["libcuda.so.1"]["answer"]["object"].endswith("/standin/libcuda.so.1")
    assert found["libcuda.so.1"]["why"] == lost and found["libcuda.so.1"]["verdict"] == ""
    assert found["NULL"]["why"] == "" and "not searched" not in found["/etc/passwd"]["why"]
    assert "plugin 0" in text
    text = scenario.run(built / "program", "cuda-dlsym log on", "RUN", "cuda-dlsym log show --json",
                        hook=built / "libjumps.so")  # fmt: skip
    assert "plugin 1" in text and opened(text)["libplugin.so"]["why"] == ""


def test_a_breakpoint_on_one_path(scenario: Scenario, built: Path) -> None:
    text = scenario.run(built / "program", "cuda-dlsym break libcuda.so.1 --by dlopen", "RUN", "info breakpoints",
                        hook=built / "libcalls.so")  # fmt: skip
    assert "Breakpoint 1: dlopen in hook libcalls.so (pending until it is loaded), asked for libcuda.so.1" in text
    assert re.search(r"Breakpoint 1  hook libcalls.so  dlopen asked for libcuda.so.1, RTLD_LAZY\|RTLD_GLOBAL\n"
                     r" +by app program main\(\) at", text)  # fmt: skip
    assert "breakpoint already hit 1 time" in text
