"""A guarded breakpoint with several places, several functions, or a thread that comes later."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from guard_programs import GO_ON, HOOK, STOPS
from scenario import Scenario, version

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")

# program THREADS CALLS: threads call both libraries' functions in turn; every tenth call is one of 1T and its number.
BOTH = """
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
typedef int Allocate(unsigned long long *dptr, size_t bytesize);
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
static Allocate *functions[2];
static long calls;
static void *work(void *argument)
{
    unsigned long long sum = 0;
    for (long i = 0; i < calls; i++)
        functions[i / 10 % 2](&sum, i % 10 ? (size_t)i : ((size_t)1 << 40) + (size_t)argument * 1000000 + i / 10);
    return (void *)sum;
}
int main(int count, char **words)
{
    pthread_t thread[64];
    int threads = atoi(words[1]);
    calls = atol(words[2]);
    functions[0] = cuMemAlloc_v2;
    functions[1] = (Allocate *)dlsym(dlopen(SECOND, RTLD_NOW), "cuMemAlloc_v2");
    for (long i = 0; i < threads; i++)
        pthread_create(&thread[i], NULL, work, (void *)i);
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    fprintf(stderr, "over, %d\\n", functions[0] != functions[1]);
    return 0;
}
"""
GUARDED = "python import gdbcuda.live.guarding.guards as g; print('guards', len(g.PROCESSES().guards), g.state_of(2))"
COMMANDS_ALONE = "guards 0 not guarded: this gdb switches places of a breakpoint by commands alone"


def both(compile_c, tmp_path: Path, *flags: str) -> tuple[Path, Path]:
    """The hook, and a program that is linked with another library that defines the same function."""
    first = compile_c("libfirsthook.so", HOOK, "-shared", *flags)
    second = compile_c("libsecondhook.so", HOOK, "-shared", "-Wl,-soname,libsecondhook.so", *flags)
    program = compile_c("program", BOTH, "-O1", f'-DSECOND="{second}"', "-Wl,--no-as-needed", str(second),
                        f"-Wl,-rpath,{tmp_path}", "-pthread", "-ldl")  # fmt: skip
    return first, program


def are_guarded(text: str, scenario: Scenario, flags: str) -> bool:
    """Before gdb 13 one that covers gdb's breakpoint through gdbserver has its places to itself."""
    is_old = int(re.search(r"\b(\d+)\.\d", version())[1]) < 13
    is_refused = is_old and scenario.place == "gdbserver" and flags == "-O2"
    return (COMMANDS_ALONE if is_refused else "guards 2 guarded") in text


@pytest.mark.parametrize("flags", ["-O0", "-O2"])
def test_a_count_over_several_places_is_one(scenario: Scenario, compile_c, tmp_path: Path, flags: str) -> None:
    """Each trampoline counts in the same word: the fourth call is the second one of the second library."""
    hook, program = both(compile_c, tmp_path, flags)
    words = ("tbreak main", "RUN", "cuda-break cuMemAlloc if bytesize >= 1T && nth == 4", GUARDED, "continue")
    text = scenario.run(program, *words, "info breakpoints", hook=hook, arguments=("1", "1000"))
    assert "libsecondhook.so, hook libfirsthook.so" in text, "two places"
    assert are_guarded(text, scenario, flags), text
    assert re.findall(r"bytesize=(\d+) \[", text) == [str((1 << 40) + 3)]
    assert "already hit 1 time" in text


@pytest.mark.parametrize("flags", ["-O0", "-O2"])
def test_threads_count_together_at_several_places(scenario: Scenario, compile_c, tmp_path: Path, flags: str) -> None:
    """4 times 200 calls match: every tenth stops, though threads call on at the other place while one has stopped."""
    hook, program = both(compile_c, tmp_path, flags)
    (tmp_path / "note.gdb").write_text(STOPS)
    words = ("set cuda-stop-info off", "tbreak main", "RUN", f"source {tmp_path}/note.gdb")
    words += ("cuda-break cuMemAlloc if bytesize >= 1T && every 10", GUARDED, GO_ON)
    text = scenario.run(program, *words, "python print('stops', len(sizes), len(set(sizes)))", "info breakpoints",
                        hook=hook, arguments=("4", "2000"))  # fmt: skip
    assert are_guarded(text, scenario, flags) and "stops 80 80" in text, text


def test_a_place_that_cannot_be_guarded_keeps_the_others_from_it(local: Scenario, compile_c, tmp_path: Path) -> None:
    """gdb counts at all of them then. Without the other breakpoint the process does."""
    hook, program = both(compile_c, tmp_path)
    words = ("tbreak main", "run", "cuda-break cuMemAlloc if bytesize >= 1T && every 30", GUARDED)
    words += ("python gdb.execute('break *%#x' % min(g.PROCESSES().guards))", "cuda-guards", GUARDED)
    words += ("ignore 3 10000", "continue", "delete 3", "continue", "cuda-guards", GUARDED)
    text = local.run(program, *words, hook=hook, arguments=("1", "1000"))
    states = re.findall(r"^guards (.*)$", text, re.MULTILINE)
    why = "not guarded: it counts calls at several places, and one of them has no guard (breakpoint 3 is on "
    assert (states[0], states[1].startswith(f"0 {why}"), states[2]) == ("2 guarded", True, "2 guarded"), text
    assert re.findall(r"bytesize=(\d+) \[", text) == [str((1 << 40) + 29), str((1 << 40) + 59)], text


# One more place for the breakpoint, while the guard at its first is lowered.
ANOTHER = """
#include <dlfcn.h>
#include <stdio.h>
typedef int Allocate(unsigned long long *dptr, unsigned long bytesize);
Allocate cuMemAlloc_v2;
int main(void)
{
    unsigned long long sum = 0;
    cuMemAlloc_v2(&sum, 1);
    Allocate *second = (Allocate *)dlsym(dlopen(SECOND, RTLD_NOW), "cuMemAlloc_v2");
    for (unsigned long i = 2; i < 5; i++) {
        cuMemAlloc_v2(&sum, i == 3 ? 1ul << 40 : i);
        second(&sum, i == 3 ? 1ul << 40 : i);
    }
    printf("sum %#llx\\n", sum);
    return 0;
}
"""


@pytest.mark.parametrize(
    "name, stops",
    [("libfirsthook.so", ["libfirsthook.so", "libsecondhook.so"]), ("libcuda.so.1", ["libsecondhook.so"])],
)
def test_a_library_with_the_same_function_comes_later(
    shim: Path, compile_c, tmp_path: Path, name: str, stops: list[str]
) -> None:
    """gdb makes the places anew, and which are on is chosen anew: not the one among the bytes of a jump, and not the
    driver's any more where a hook library has come, whose guard gives way."""
    first = compile_c(name, HOOK, "-shared", "-g0", f"-Wl,-soname,{name}")
    second = compile_c("libsecondhook.so", HOOK, "-shared", "-g0")
    path = f"-Wl,--disable-new-dtags,-rpath,{tmp_path}"  # in front of LD_LIBRARY_PATH
    program = compile_c("program", ANOTHER, str(first), f'-DSECOND="{second}"', path, "-ldl")
    words = ("cuda-break cuMemAlloc if bytesize >= 1T", "RUN", *["continue"] * (1 + len(stops)))
    text = Scenario(shim, "gdbserver").run(program, *words, hook=None)
    assert re.findall(r"^Breakpoint 1  (?:hook|driver) (\S+)  ", text, re.MULTILINE) == stops, text
    assert "exited normally" in text, text
    alone = Scenario(shim).run(program, "run", hook=None)
    assert re.findall(r"sum \w+", text) == re.findall(r"sum \w+", alone), text


LATER = """
#include <pthread.h>
#include <stdlib.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
static long calls;
static void *work(void *argument)
{
    unsigned long long sum = 0;
    for (long i = 0; i < calls; i++)
        cuMemAlloc_v2(&sum, (size_t)argument * 1000000 + i);
    return NULL;
}
int main(int count, char **words)
{
    pthread_t thread;
    calls = atol(words[1]);
    work((void *)1);
    for (long number = 2; number < 6; number++) {
        pthread_create(&thread, NULL, work, (void *)number);
        pthread_join(thread, NULL);
    }
    return 0;
}
"""
STATE = "python import gdbcuda.live.guarding.guards as g; print('state', g.state_of(2))"


def test_a_thread_that_does_not_exist_yet(local: Scenario, compile_c, tmp_path: Path) -> None:
    """It is a guard before there is the thread, whose calls count from its first. The next thread has the same control
    block, and its calls are not counted."""
    hook = compile_c("libhook.so", HOOK, "-shared")
    program = compile_c("program", LATER, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}", "-pthread")
    words = ("tbreak main", "run", "cuda-break cuMemAlloc --count if thread == 3 && every 150000", STATE, "continue")
    text = local.run(program, *words, "info breakpoints", "continue", hook=hook, arguments=("200000",))
    assert "state guarded" in text, text
    assert re.findall(r"bytesize=(\d+) \[", text) == [str(3000000 + 149999)], text
    assert "in the process, 550,000 calls seen" in text, text
    assert "exited normally" in text


def test_through_gdbserver_it_is_one_once_there_is_the_thread(shim: Path, compile_c, tmp_path: Path) -> None:
    """gdb hears of threads there when it stops: at the thread's first call at the latest."""
    hook = compile_c("libhook.so", HOOK, "-shared")
    program = compile_c("program", LATER, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}", "-pthread")
    words = ("tbreak main", "RUN", "cuda-break cuMemAlloc if thread == 2", STATE, "continue", "cuda-guards", STATE)
    text = Scenario(shim, "gdbserver").run(program, *words, hook=hook, arguments=("50",))
    assert "state not guarded: there is no thread 2 yet" in text and "state guarded" in text, text
    assert "bytesize=2000000 [" in text


def test_far_from_any_spare_word(scenario: Scenario, compile_c, tmp_path: Path, calls_functions: None) -> None:
    """Where all zero bytes behind a .bss are used up, the program maps a page to count in, and it is unmapped."""
    hook = compile_c("libhook.so", HOOK, "-shared")
    program = compile_c("program", LATER, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}", "-pthread")
    (tmp_path / "use_up.gdb").write_text(USE_UP)
    words = ("tbreak main", "RUN", f"source {tmp_path}/use_up.gdb")
    words += ("cuda-break cuMemAlloc --count if bytesize == 1000009 && nth == 1", "cuda-guards", STATE, PAGES)
    words += ("continue", "info breakpoints", "detach")
    text = scenario.run(program, *words, hook=hook, arguments=("50",))
    assert "state guarded" in text and "in the process, 10 calls seen" in text, text
    assert "pages 1" in text and "stays in the process" not in text, text


USE_UP = """python
from gdbcuda.live.patching import counter_words
from gdbcuda.live.preloading import written_environment
try:
    while written_environment.store(bytes(8), keep=True, align=8): pass
except written_environment.NoSpareBytes: pass
end
"""
PAGES = "python print('pages', len(counter_words.WORDS().pages))"
