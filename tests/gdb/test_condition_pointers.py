"""Conditions that follow a pointer: the program is never killed for one that leads nowhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scenario import Scenario

HOOK = """
#include <stddef.h>
int cuMemcpy2D_v2(const void *pCopy) { return (size_t)pCopy == 0xdead0000; }
int cuModuleGetFunction(void **function, void *module, const char *name) { return module == NULL; }
"""
# Neither function looks at what the wild pointer leads to.
PROGRAM = """
#include <stddef.h>
#include <stdio.h>
int cuMemcpy2D_v2(const void *pCopy);
int cuModuleGetFunction(void **function, void *module, const char *name);
int main(void)
{
    static size_t copy[16] = {[14] = 4096, 7};
    int refused = 0;
    for (int i = 0; i < 100; i++)
        refused += cuMemcpy2D_v2(copy) + cuModuleGetFunction(NULL, NULL, "add");
    refused += cuMemcpy2D_v2((void *)0xdead0000) + cuModuleGetFunction(NULL, NULL, (char *)0xdead0000);
    copy[14] = 1 << 20;
    refused += cuMemcpy2D_v2(copy) + cuModuleGetFunction(NULL, NULL, "scale");
    printf("%d refused\\n", refused);
    return 0;
}
"""


@pytest.fixture
def built(compile_c, tmp_path: Path) -> tuple[Path, Path]:
    hook = compile_c("libhook.so", HOOK, "-shared", "-O2")
    return compile_c("copies", PROGRAM, f"-L{tmp_path}", f"-Wl,-rpath,{tmp_path}", "-lhook"), hook


def test_a_pointer_to_nothing_stops_in_gdb(scenario: Scenario, built) -> None:
    program, hook = built
    wanted = "cuda-break cuMemcpy2D --count if pCopy->WidthInBytes >= 1M"
    words = ("RUN", "cuda-guards", "continue", "continue")
    text = scenario.run(program, wanted, *words, hook=hook)
    assert "Cannot access memory at address 0xdead0070" in text
    assert re.search(r"^1 +in the process +101 ", text, re.MULTILINE), text  # it was the guard that let it through
    stops = re.findall(r"^Breakpoint 1  .*pCopy=\w+ -> (.unreadable|.*WidthInBytes=\w+)", text, re.MULTILINE)
    assert [one.rpartition(",")[2].strip() for one in stops] == ["(unreadable", "WidthInBytes=1048576"], text
    assert "103 refused" in text


def test_no_string_equals_what_cannot_be_read(scenario: Scenario, built) -> None:
    program, hook = built
    text = scenario.run(program, 'cuda-break cuModuleGetFunction if name != "add"', "RUN", "continue", hook=hook)
    names = re.findall(r"^Breakpoint 1  .* name=(.*)\)$", text, re.MULTILINE)
    assert names == ["0xdead0000 -> (unreadable)", '"scale"'], text
