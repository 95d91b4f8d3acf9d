"""Guards through gdbserver, which shows gdb the program's own bytes under each breakpoint that it has put in."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from guard_programs import HOOK
from scenario import Scenario
from test_guard import ON

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")
CALLS = 2000

# A thread has ended before the program becomes itself again, and gdb has not stopped since.
AGAIN = """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize);
static void *nothing(void *given)
{
    return given;
}
int main(int count, char **words)
{
    pthread_t thread;
    pthread_create(&thread, NULL, nothing, NULL);
    pthread_join(thread, NULL);
    if (count == 1)
        execl(words[0], words[0], "again", (char *)NULL);
    unsigned long long sum = 0;
    for (unsigned long i = 0; i < CALLS; i++)
        cuMemAlloc_v2(&sum, i);
    cuMemAlloc_v2(&sum, 1ul << 40);
    printf("sum %llx\\n", sum);
    return count;
}
"""


@pytest.mark.parametrize("flags", ["-O0", "-O2"])
def test_a_program_that_executes_itself_after_a_thread_has_ended(
    shim: Path, compile_c, tmp_path: Path, flags: str
) -> None:
    """gdb cannot print its table of breakpoints then."""
    hook = compile_c("libhook.so", HOOK, "-shared", flags)
    program = compile_c("program", AGAIN, str(hook), f"-Wl,-rpath,{tmp_path}", "-pthread", f"-DCALLS={CALLS}")
    words = [ON, "cuda-break cuMemAlloc --from any if bytesize >= 1T", "tbreak main", "RUN"]
    words += ["break nothing if $_thread == 99", "continue", "cuda-guards", "continue"]  # gdb sees the thread
    text = Scenario(shim, "gdbserver").run(program, *words, hook=hook)
    assert re.search(r"^1 +in the process +[25] bytes of cuMemAlloc_v2 ", text, re.MULTILINE), text
    assert "SIG" not in text, text
    plain = Scenario(shim).run(program, "run", hook=None)
    assert re.findall(r"sum \w+", text) == re.findall(r"sum \w+", plain)
