"""Guards that are made while a signal handler's call, and the one that it has interrupted, are in the function."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from guard_programs import HOOK, PLAIN_ENTRY, STRIPPED_HOOK
from scenario import Scenario, skip_if_stacks_are_unreadable
from test_guard import ON

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")

# It calls ten times, in a thread whose signal handler calls too: with the word "above" on a stack above the thread's.
INTERRUPTED = """
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
static _Alignas(64) char stacks[2][1 << 17];
static unsigned long long sum = 1, of_handler = 1;
static void on_signal(int number)
{
    cuMemAlloc_v2(&of_handler, 5);
}
static void *work(void *is_above)
{
    stack_t stack = {.ss_sp = stacks[1], .ss_size = sizeof stacks[1]};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    if (is_above)
        sigaltstack(&stack, NULL);
    sigaction(SIGALRM, &action, NULL);
    for (size_t i = 0; i < 10; i++)
        cuMemAlloc_v2(&sum, i);
    return NULL;
}
int main(int count, char **words)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stacks[0], sizeof stacks[0]);
    pthread_create(&thread, &attributes, work, words[1][0] == 'a' ? words : NULL);
    pthread_join(thread, NULL);
    printf("sums %llx %llx\\n", sum, of_handler);
    return 3;
}
"""
AT = "((long)&cuMemAlloc_v2{})"
MAKE = "cuda-break cuMemAlloc --in libguardhook.so if bytesize >= 1T"
FIRST_BOUNDARY = {"-O0": 1, "-O2": 3, "stripped": 1}


def interrupted(compile_c, folder: Path, source: str, flags: tuple[str, ...]) -> None:
    compile_c("libguardhook.so", source, "-shared", PLAIN_ENTRY, *flags)
    stand_in = compile_c("libcuda.so.2", STRIPPED_HOOK, "-shared", "-Wl,-soname,libcuda.so.2")
    compile_c("program", INTERRUPTED, str(stand_in), f"-Wl,-rpath,{folder}", "-pthread")


@pytest.mark.parametrize("steps", range(5))
@pytest.mark.parametrize("stack", ["the same", "above"])
@pytest.mark.parametrize("flags", FIRST_BOUNDARY)
def test_made_while_a_handler_is_in_the_function(
    scenario: Scenario, build_once, flags: str, stack: str, steps: int
) -> None:
    """The handler's call leaves the replaced bytes first, and the other is there still."""
    folder = build_once(interrupted, *((STRIPPED_HOOK, ()) if flags == "stripped" else (HOOK, (flags,))))
    hook, program = folder / "libguardhook.so", folder / "program"
    inner = ("tbreak on_signal", "signal SIGALRM", f"tbreak *{AT.format('')}", "continue", f"stepi {steps}")
    begin = (ON, "set cuda-stop-info off", "tbreak work", "RUN", f"tbreak *{AT.format(f'+{FIRST_BOUNDARY[flags]}')}")
    lines = (*begin, "continue", *inner[: 5 if steps else 4], MAKE, "cuda-guards", "continue")
    text = scenario.run(program, *lines, hook=hook, arguments=(stack,))
    assert "exited with code 03" in text, text
    assert "sums 2ea469ebadac6 24" in text or scenario.place == "gdbserver", text
    skip_if_stacks_are_unreadable(text)
    assert "in the process" in text, text
