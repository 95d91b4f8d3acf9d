"""What it reads of the environment, and what its author says of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from check_cases.building import case, library
from gdbcuda.check.finding import Report

READS = """#include <stdlib.h>
static unsigned long number(const char *name) {
    const char *text = getenv(name);
    return text ? strtoul(text, 0, 0) : 0;
}
int cuInit(unsigned flags) {
    if (getenv("HOOK_OFF") || flags) return 0;
    if (secure_getenv("HOOK_SAFE")) return 1;
    return number("HOOK_LIMIT") > 4 && number("HOOK_RATE") > 3;
}
"""
ADAPTER = """[environment]
HOOK_LIMIT = bytes of a device
HOOK_LIMIT_* = the same of one
[functions]
internal = number
"""


def adapted(folder: Path, source: str, text: str, *flags: str) -> Report:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "libhook.so-gdbcuda.ini").write_text(text)
    return library(folder, source, *flags)


def seen(report: Report, id: str) -> str:
    return "".join(one.seen for one in report.findings if one.id == id)


@case("variables-read")
def variables_read(folder: Path) -> Report:
    names = "reads HOOK_LIMIT; HOOK_OFF; HOOK_RATE; HOOK_SAFE"
    for flags in (("-O0",), ("-O2", "-fno-inline"), ("-O2", "-fno-plt"), ("-O0", "-fno-plt")):
        assert seen(library(folder / "".join(flags), READS, "-D_GNU_SOURCE", *flags), "variables-read") == names, flags
    stripped = seen(library(folder / "stripped", READS, "-D_GNU_SOURCE", "-O2", "-s"), "variables-read")
    assert "HOOK_OFF; " in stripped and "HOOK_SAFE" in stripped
    none = library(folder / "none", 'int other(const char *); int cuInit(unsigned f) { return other("NO_NAME") + f; }')
    assert not seen(none, "variables-read")
    return adapted(folder, READS, ADAPTER, "-D_GNU_SOURCE")


@case("adapter-wrong")
def adapter_wrong(folder: Path) -> Report:
    assert not seen(adapted(folder / "right", READS, ADAPTER, "-D_GNU_SOURCE"), "adapter-wrong")
    no_such = adapted(folder / "none", READS, "[functions]\ninternal = number numbers", "-D_GNU_SOURCE")
    said = "names numbers, which the library has not, or only inside of other functions"
    assert seen(no_such, "adapter-wrong") == said
    return adapted(folder, READS, "[books]\nused = total()\n", "-D_GNU_SOURCE")


@case("adapter-unread")
def adapter_unread(folder: Path) -> Report:
    """Nobody is told to mend a file that nothing is wrong with."""
    assert not seen(adapted(folder / "read", READS, ADAPTER, "-D_GNU_SOURCE"), "adapter-unread")
    with pytest.MonkeyPatch.context() as here:
        here.setitem(sys.modules, "configparser", None)
        assert not seen(library(folder / "none", READS, "-D_GNU_SOURCE"), "adapter-unread")
        report = adapted(folder, READS, "[books]\nused = total()\n", "-D_GNU_SOURCE")
    assert not seen(report, "adapter-wrong")
    return report
