"""Libraries that go and come again: what was at their addresses goes with them, and nothing of ours is left there."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from scenario import Scenario

from gdbcuda import elf

HOOK = """
#include <stddef.h>
int cuMemAlloc_v2(unsigned long long *p, size_t n) { *p = *p * 31 + n; return n >> 40 == 3 ? 2 : 0; }
unsigned long long work(size_t n) { unsigned long long p = 1; cuMemAlloc_v2(&p, n); return p; }
"""
OTHER = """
__attribute__((section(".text#"), used, aligned(16))) const unsigned char filler[3000] = { [0 ... 2999] = 0xc3 };
long sum(void) { long s = 0; for (int i = 0; i < 3000; i++) s = s * 31 + filler[i]; return s; }
"""
# Each round: the hook is loaded and called, and goes; something else lies at its address while it is loaded elsewhere.
PROGRAM = """
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static unsigned long long total; static int made; static long wrong; static int elsewhere;
void seen(void) { }
static char *use(const char *file, int calls)
{
    void *library = dlopen(file, RTLD_NOW);
    unsigned long long (*work)(size_t) = dlsym(library, "work");
    for (int i = 1; i <= calls; i++) { made++; total += work(i) == 31 + i; }
    struct link_map *map;
    dlinfo(library, RTLD_DI_LINKMAP, &map);
    char *base = (char *)map->l_addr;
    dlclose(library);
    seen();
    return base;
}
static long summed(const char *file, char *at)
{
    void *other = dlopen(file, RTLD_NOW);
    struct link_map *map;
    dlinfo(other, RTLD_DI_LINKMAP, &map);
    long (*sum)(void) = dlsym(other, "sum"), found = sum();
    elsewhere += (char *)map->l_addr == at;
    dlclose(other);
    return found;
}
int main(int count, char **words)
{
    long want = 0;
    for (int i = 0; i < 3000; i++) want = want * 31 + 0xc3;
    for (int round = 0; round < atoi(words[3]); round++) {
        char *base = use(words[1], 3);
        wrong += summed(words[2], base) != want;
        char *page = mmap(base, 0x5000, 7, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (page != base) return 3;
        memset(page, round % 2 ? 0 : 0x55, 0x5000);
        elsewhere += use(words[1], 2) != base;
        for (int i = 0; i < 0x5000; i++) wrong += page[i] != (round % 2 ? 0 : 0x55);
        munmap(page, 0x5000);
    }
    printf("%d calls, %d right, %d elsewhere, %ld bytes wrong\\n", made, (int)total, elsewhere, wrong);
    return 0;
}
"""
ROUNDS = 4
AS_ALONE = f"{ROUNDS * 5} calls, {ROUNDS * 5} right, {ROUNDS * 2} elsewhere, 0 bytes wrong"
LEFT = "python print('left', sum(one.enabled for one in __import__('gdb').breakpoints()))"


@pytest.fixture
def reloading(compile_c, tmp_path: Path) -> tuple[Path, tuple[str, ...]]:
    """The program and its arguments."""
    hook, other = compile_c("libcomes.so", HOOK, "-shared"), compile_c("libother.so", OTHER, "-shared", "-w")
    return compile_c("program", PROGRAM, "-ldl"), (str(hook), str(other), str(ROUNDS))


def run(scenario: Scenario, reloading: tuple[Path, tuple[str, ...]], *commands: str) -> str:
    program, arguments = reloading
    said = scenario.run(program, *commands, hook=None, arguments=arguments)
    for trouble in ("Cannot insert", "Cannot access", "Error ", "SIG", "Command aborted"):
        assert trouble not in said, said
    return said


def test_the_log_has_every_call(scenario: Scenario, reloading) -> None:
    said = run(scenario, reloading, "cuda-log start cuMemAlloc", "RUN", "cuda-log summary")
    assert AS_ALONE in said, said
    assert re.search(rf"cuMemAlloc_v2 +hook +{ROUNDS * 5} ", said), said


def test_the_program_goes_on_when_the_log_is_off(scenario: Scenario, reloading) -> None:
    words = ("cuda-log start cuMemAlloc", "break seen", "RUN", "continue", "continue", "cuda-log stop", "delete")
    said = run(scenario, reloading, *words, "continue")
    assert AS_ALONE in said, said


def test_calls_that_return_into_it(scenario: Scenario, reloading) -> None:
    """The caller is in the library that goes."""
    words = ["cuda-break cuMemAlloc --from any --on return", "RUN", *["continue"] * (ROUNDS * 5)]
    said = run(scenario, reloading, *words)
    assert said.count("returned to hook libcomes.so work()") == ROUNDS * 5, said
    assert AS_ALONE in said, said


@pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")
@pytest.mark.parametrize("flags", [(), ("-O2", "-fno-inline")], ids=["-O0", "-O2"])
def test_with_guards(scenario: Scenario, reloading, compile_c, flags: tuple[str, ...]) -> None:
    """(In optimised code gdb's location is among the replaced bytes.)"""
    compile_c("libcomes.so", HOOK, "-shared", *flags)
    words = ["cuda-break cuMemAlloc --from any if bytesize == 3", "RUN", *["continue"] * ROUNDS]
    said = run(scenario, reloading, *words)
    assert said.count("called by hook libcomes.so work()") == ROUNDS, said
    assert AS_ALONE in said, said


def test_the_depth_of_calls(scenario: Scenario, reloading) -> None:
    said = run(scenario, reloading, "set cuda-recursion-limit 5", "RUN")
    assert AS_ALONE in said, said


def test_requests_for_functions(scenario: Scenario, reloading) -> None:
    said = run(scenario, reloading, "cuda-dlsym log on", "RUN", "cuda-dlsym log show work")
    assert AS_ALONE in said, said


FULL = '__asm__(".text\\n.fill %d, 1, 0xcc\\n");\n'
NEIGHBOUR = """
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **words)
{
    unsigned long long p = 1;
    dlopen(words[3], RTLD_NOW); /* takes the gap in front of ld.so */
    void *neighbour = dlopen(words[2], RTLD_NOW), *hook = dlopen(words[1], RTLD_NOW);
    int (*allocate)(unsigned long long *, size_t) = dlsym(hook, "cuMemAlloc_v2");
    allocate(&p, 1);
    dlclose(neighbour);
    for (int i = 2; i <= 4; i++)
        allocate(&p, i);
    printf("ended with %llu\\n", p);
    return 0;
}
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")
def test_a_library_nearby_goes(scenario: Scenario, compile_c) -> None:
    """The guarded function's library has no room for the test, its neighbour has."""
    hook = compile_c("libfull.so", HOOK, "-shared")
    code = next(one for one in elf.open(str(hook)).segments if one.type == "PT_LOAD" and one.flags & 1)
    compile_c("libfull.so", FULL % (-(code.address + code.memory_size) % 4096) + HOOK, "-shared")
    program = compile_c("nearby", NEIGHBOUR, "-ldl")
    others = (str(hook), *(str(compile_c(name, OTHER, "-shared", "-w")) for name in ("libneighbour.so", "libgap.so")))
    words = ("cuda-break cuMemAlloc if bytesize == 3", "RUN", "cuda-guards", "continue")
    said = scenario.run(program, *words, hook=None, arguments=others)
    assert "in the process" in said and "bytesize=3" in said, said
    assert "ended with 955331" in said, said
    assert "SIG" not in said, said


TWICE = """
#include <dlfcn.h>
#include <stddef.h>
typedef int call(unsigned long long *, size_t);
static void calls(void *library, size_t first)
{
    unsigned long long sum = 0;
    for (size_t i = 0; i < 5; i++)
        ((call *)dlsym(library, "cuMemAlloc_v2"))(&sum, first + i);
}
int main(int count, char **words)
{
    void *one = dlopen(words[1], RTLD_NOW), *two = dlmopen(LM_ID_NEWLM, words[1], RTLD_NOW);
    calls(one, 100);
    calls(two, 200);
    dlclose(two);
    calls(one, 300);
    two = dlmopen(LM_ID_NEWLM, words[1], RTLD_NOW);
    calls(two, 400);
    dlclose(one);
    calls(two, 500);
    return count == 0;
}
"""


def test_a_library_that_is_there_twice_and_one_of_the_two_goes(scenario: Scenario, compile_c) -> None:
    """In two namespaces, under one name: the log sees the calls of both, and leaves nothing in what has gone."""
    library = compile_c("libtwice.so", HOOK, "-shared")
    program = compile_c("program", TWICE, "-D_GNU_SOURCE")
    knows = "python print('gdb knows', hasattr(gdb, 'BreakpointLocation'))"  # namespaces: since gdb 13, as these
    if scenario.place == "gdbserver" and "gdb knows False" in scenario.run(None, knows, hook=None):
        pytest.skip("gdb 10 knows one namespace; with gdbserver the log of such a program does not end there")
    words = (knows, "cuda-log start cuMemAlloc", "RUN", "cuda-log")
    text = scenario.run(program, *words, hook=None, arguments=(str(library),))
    calls = 25 if "gdb knows True" in text else 10
    assert f"{calls} calls kept" in text and "exited normally" in text and "Cannot insert" not in text, text
