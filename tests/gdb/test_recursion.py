"""Hook functions that end up in themselves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scenario import Scenario

CYCLE = """
int cuDeviceGet(int *d, int n);
int cuInit(unsigned f) { int d = 0; return cuDeviceGet(&d, f); }
int cuDeviceGet(int *d, int n) { return cuInit(n + 1) + *d; }
"""


@pytest.fixture
def cycle(compile_c) -> Path:
    return compile_c("libcycle.so", CYCLE, "-shared")


@pytest.mark.smoke("local")
def test_the_limit_stops_with_the_cycle(scenario: Scenario, cycle: Path) -> None:
    text = scenario.run("test_alloc", "set cuda-recursion-limit 20", "RUN", "info breakpoints", hook=cycle)
    assert "Recursion: hook libcycle.so cuInit is nested 21 deep on thread 1: cuInit -> cuDeviceGet -> cuInit" in text
    assert re.search(r"^1 +breakpoint +keep y .* in cuInit at", text, re.MULTILINE)
    assert "SIGSEGV" not in text


def test_it_goes_on_to_the_next_time(local: Scenario, cycle: Path) -> None:
    text = local.run("test_alloc", "set cuda-recursion-limit 20", "run", "continue", "continue", hook=cycle)
    assert "cuDeviceGet is nested 21 deep on thread 1: cuDeviceGet -> cuInit -> cuDeviceGet" in text
    assert "cuInit is nested 41 deep" in text


def test_switched_off_it_leaves_nothing(local: Scenario, cycle: Path) -> None:
    text = local.run("test_alloc", "set cuda-recursion-limit 20", "run", "set cuda-recursion-limit 0",
                     "info breakpoints", hook=cycle)  # fmt: skip
    assert "No breakpoints" in text


@pytest.mark.parametrize(("program", "hook"), [("dlsym_alloc", "wrong/recursing_dlsym.so")])
def test_a_full_stack_is_explained_without_any_setting(scenario: Scenario, program: str, hook: str) -> None:
    text = scenario.run(program, "RUN", hook=scenario.sample(hook))
    assert "SIGSEGV" in text
    assert "Recursion: the stack is used up by one cycle, innermost last: hook recursing_dlsym.so dlsym() -> " in text


CHATTY = """
#define _GNU_SOURCE
#include <dlfcn.h>
int cuInit(unsigned f) { return ((int (*)(unsigned))dlsym(RTLD_DEFAULT, "cuInit"))(f) + 1; }
"""


def test_a_full_stack_that_ends_in_something_that_the_cycle_calls(local: Scenario, compile_c) -> None:
    """What the cycle calls needs the most stack, here the loader's search for a name."""
    text = local.run("test_alloc", "run", "bt 1", hook=compile_c("libchatty.so", CHATTY, "-shared"))
    assert "SIGSEGV" in text
    assert "innermost last: hook libchatty.so cuInit() -> hook libchatty.so cuInit()" in text


KEPT = """
#include <dlfcn.h>
static int (*real)(unsigned);
int cuInit(unsigned f) { if (!real) real = dlsym(RTLD_DEFAULT, "cuInit"); return real(f) + 1; }
"""


def test_whose_answer_led_to_it_is_said(local: Scenario, compile_c) -> None:
    hook = compile_c("libkept.so", KEPT, "-shared", "-Wno-pedantic")
    text = local.run("test_alloc", "set cuda-recursion-limit 20", "run", "kill", "cuda-dlsym log on", "run", hook=hook)
    unlogged, logged = text.split("cuInit is nested 21 deep on thread 1: cuInit -> cuInit\n")[1:]
    assert unlogged.startswith("Was one of them handed out? cuda-dlsym log on, before run, tells by whom.\n"), text
    assert re.match(r"Request #\d+ led there: dlsym of libc.so.6, asked for cuInit in RTLD_DEFAULT by hook libkept.so "
                    r"cuInit\(\) at \S+:4, answered hook libkept.so cuInit \(.*\)\n", logged), text  # fmt: skip


def test_a_full_stack_in_a_library_that_was_not_named(local: Scenario, compile_c) -> None:
    """The user preloads it beside the one under debug."""
    other = f"set exec-wrapper env LD_PRELOAD={compile_c('libchatty.so', CHATTY, '-shared')}"
    text = local.run("test_alloc", other, f"cuda-load {local.sample('minimal_hook.so')}", "run", hook=None)
    assert "innermost last: hook libchatty.so cuInit() -> hook libchatty.so cuInit()" in text


def test_another_crash_is_not_called_recursion(local: Scenario, compile_c) -> None:
    hook = compile_c("libcrash.so", "int cuInit(unsigned f) { return *(volatile int *)8 + (int)f; }", "-shared")
    text = local.run("test_alloc", "run", hook=hook)
    assert "SIGSEGV" in text and "Recursion" not in text


def test_a_hook_without_recursion_runs_on(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "set cuda-recursion-limit 3", "RUN")
    assert "exited normally" in text and "Recursion" not in text


def test_a_rerun(local: Scenario, cycle: Path) -> None:
    text = local.run("test_alloc", "set cuda-recursion-limit 20", "run", "run", hook=cycle)
    assert text.count("cuInit is nested 21 deep") == 2
    assert "Cannot insert" not in text


# Each looks for the next dlsym its own way: facade and engine are noticed hook libraries.
LAYER = """
#define _GNU_SOURCE
#include <dlfcn.h>
void start_NAME(void) {}
CUINIT
void *dlsym(void *handle, const char *name)
{
    void *(*libcs)(void *, const char *) = dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.2.5");
    return ((void *(*)(void *, const char *))libcs(WHERE, "dlsym"))(handle, name);
}
"""
SMALL_STACK = """
#include <sys/resource.h>
static void small_stack(void) { struct rlimit r = {128 << 10, 128 << 10}; setrlimit(RLIMIT_STACK, &r); }
"""
ASKS = SMALL_STACK + """
#include <dlfcn.h>
void start_facade(void), start_engine(void);
int main(void) { small_stack(); start_facade(); start_engine(); return !dlsym(RTLD_DEFAULT, "puts"); }
"""


@pytest.fixture
def overrides(compile_c) -> tuple[Path, Path]:
    """A program whose two libraries override dlsym as the hook does, and the hook."""
    def layer(name: str, where: str, more: str = "") -> Path:
        source = LAYER.replace("NAME", name).replace("WHERE", where).replace("CUINIT", more)
        return compile_c(f"lib{name}.so", source, "-shared", "-Wno-pedantic")

    engine, facade = layer("engine", "RTLD_DEFAULT"), layer("facade", "RTLD_NEXT")
    hook = layer("ring", "RTLD_NEXT", "int cuInit(unsigned f) { return (int)f; }")
    return compile_c("program", ASKS, "-Wl,--no-as-needed", str(facade), str(engine)), hook


RING = "hook libring.so dlsym() -> hook libfacade.so dlsym() -> hook libengine.so dlsym() -> hook libring.so dlsym()"


def test_overrides_of_dlsym_that_call_each_other(scenario: Scenario, overrides: tuple[Path, Path]) -> None:
    program, hook = overrides
    text = scenario.run(program, "set cuda-recursion-limit 5", "RUN", hook=hook)
    assert f"Recursion: hook libring.so dlsym is nested 6 deep on thread 1: {RING}\n" in text
    assert "hook libring.so  dlsym asked for puts in RTLD_DEFAULT\n" in text
    assert "by hook libengine.so dlsym()" in text


def test_the_log_tells_of_it_long_before_the_stack_is_full(local: Scenario, overrides: tuple[Path, Path]) -> None:
    program, hook = overrides
    text = local.run(program, "cuda-dlsym log on", "run", hook=hook)
    told = text.index("dlvsym of libc.so.6 was asked 100 times on thread 1, each time deeper in the stack, by the cyc")
    assert RING in text[told:] and told < text.index("SIGSEGV")
    assert text.count("each time deeper") == 1 and "set cuda-recursion-limit 100 stops the next run there" in text


FACADE = """
#include <dlfcn.h>
int engine_create(void **out)
{
    int (*engines)(void **) = (int (*)(void **))dlsym(dlopen("libengine.so", RTLD_NOW), "engine_create");
    return engines(out) + 1;
}
"""
WRONG = """
#define _GNU_SOURCE
#include <dlfcn.h>
int cuInit(unsigned f) { return (int)f; }
void *dlsym(void *handle, const char *name)
{
    void *(*real)(void *, const char *) = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    return real(name[0] == 'e' ? RTLD_DEFAULT : handle, name);
}
"""
CREATES = f"{SMALL_STACK}\nint engine_create(void **); int main(void) {{ small_stack(); return engine_create(0); }}"


@pytest.fixture
def facade(compile_c) -> tuple[Path, Path]:
    """The facade asks its engine for its own function, the hook's dlsym looks for it everywhere."""
    compile_c("libengine.so", "int engine_create(void **out) { return !out; }", "-shared")
    library = compile_c("libfacade.so", FACADE, "-shared", "-Wl,-rpath,$ORIGIN")
    return compile_c("program", CREATES, str(library)), compile_c("libwrong.so", WRONG, "-shared", "-Wno-pedantic")


def test_a_function_that_dlsym_hands_out_to_itself(local: Scenario, facade: tuple[Path, Path]) -> None:
    """dlsym has returned each time, and is not nested in itself."""
    program, hook = facade
    text = local.run(program, "cuda-dlsym log on", "set cuda-recursion-limit 5", "run", "cuda-dlsym log show --wrong",
                     "set cuda-recursion-limit 0", "cuda-dlsym log off", "continue", hook=hook)  # fmt: skip
    cycle = "app libfacade.so engine_create() -> app libfacade.so engine_create()\n"
    asked = "hook libwrong.so dlsym was asked 6 times on thread 1, each time deeper in the stack"
    assert f"Recursion: {asked}, by the cycle {cycle}" in text
    assert "dlsym asked for engine_create in libengine.so\n" in text
    assert re.search(r"app libfacade.so engine_create +wrong object +libengine.so has its own", text)
    assert f"Recursion: the stack is used up by one cycle, innermost last: {cycle}" in text


def test_the_log_names_the_answer_that_leads_back(local: Scenario, facade: tuple[Path, Path], compile_c) -> None:
    """The resolver is not on the stack any more; and of all its rows the first and last are shown."""
    program, hook = facade
    compile_c("libfacade.so", FACADE.replace("{\n", "{\n    static int turns; if (turns++ == 110) return 0;\n", 1),
              "-shared", "-Wl,-rpath,$ORIGIN")  # fmt: skip
    text = local.run(program, "cuda-dlsym log on", "run", "cuda-dlsym log show", hook=hook)
    asked = "hook libwrong.so dlsym asked for engine_create in libengine.so"
    answered = f"  {asked} answers with app libfacade.so engine_create\n"
    assert answered in text[text.index("each time deeper in the stack") : text.index("exited ")]
    assert "more of these, each deeper in the stack" in text and text.count("libengine.so has its own") < 10


WALKS = """
int cuInit(unsigned); int cuDeviceGet(int *, int);
__attribute__((noinline)) static int walk(int n) { return n ? cuInit(0) + walk(n - 1) : 0; }
int main(void) { return walk(20); }
"""


def test_a_function_that_is_called_from_deeper_and_deeper_is_not_nested(scenario: Scenario, compile_c) -> None:
    program = compile_c("walks", WALKS, f"-L{scenario.shim}/standin", "-lcuda")
    text = scenario.run(program, "set cuda-recursion-limit 3", "RUN")
    assert "Recursion" not in text and "exited" in text
