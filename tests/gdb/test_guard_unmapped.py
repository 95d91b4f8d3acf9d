"""Guards in code that goes without the loader's doing: nothing of ours is written to what comes in its place."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest
from guard_programs import HOOK, PLAIN_ENTRY
from scenario import Scenario
from test_guard import LARGE, ON

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")

# Another thread puts bytes of its own where the hook's code was, and counts what is something else a little later.
UNMAPS = """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
static char *code;
static void __attribute__((noinline)) changed(void)
{
    __asm__ volatile("");
}
static void say(void)
{
    int others = 0;
    for (int i = 0; i < 4096; i++)
        others += code[i] != 'x';
    printf("others %d\\n", others);
}
static void *replace(void *unused)
{
    munmap(code, 4096);
    mmap(code, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    memset(code, 'x', 4096);
    return unused;
}
int main(void)
{
    unsigned long long sum = 0, start, end;
    char line[500];
    pthread_t thread;
    for (int i = 0; i < 100; i++)
        cuMemAlloc_v2(&sum, i == 50 ? (size_t)1 << 40 : i);
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        if (strstr(line, "libguardhook.so") && strstr(line, "r-xp") && sscanf(line, "%llx-%llx", &start, &end) == 2)
            code = (char *)start;
    pthread_create(&thread, NULL, replace, NULL);
    pthread_join(thread, NULL);
    changed();
    say();
    changed();
    say();
    fflush(stdout);
    _exit(3);
}
"""


@pytest.mark.parametrize("then", ["continue", "delete 1", "set cuda-guard off"])
@pytest.mark.parametrize("flags", ["-O0", "-O2"])
def test_another_thread_unmaps_it(local: Scenario, compile_c, tmp_path: Path, flags: str, then: str) -> None:
    """(Through gdbserver, and behind an endbr64, gdb's own breakpoint leaves a byte there, with us and without.)"""
    hook = compile_c("libguardhook.so", HOOK, "-shared", PLAIN_ENTRY, flags)
    program = compile_c("program", UNMAPS, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}", "-pthread")
    alone = subprocess.run([program], capture_output=True, text=True, check=False).stdout
    assert alone == "others 0\nothers 0\n"
    words = (ON, "set cuda-guard-stacks off", LARGE, "RUN", "break changed", "continue", then, "delete", "continue")
    text = local.run(program, *words, hook=hook)
    assert alone in text.replace("\r", "") and "exited with code 03" in text, text
