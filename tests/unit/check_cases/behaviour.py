"""What its code does."""

from __future__ import annotations

from pathlib import Path

from check_cases.building import DLSYM, NEXT, case, library
from check_cases.interception import RESOLVER
from gdbcuda.check.finding import Report


@case("returns-minus-one")
def returns_minus_one(folder: Path) -> Report:
    source = "int other(int); int cuInit(unsigned f) { if (f) return -1; return other(3); }"
    assert "returns-minus-one" in library(folder / "fast", source, "-O2").ids()
    argument = "int other(int, int); int cuInit(unsigned f) { return other(2, f ? -1 : 0) != 0; }"
    assert "returns-minus-one" not in library(folder / "argument", argument).ids()
    return library(folder, source)


@case("out-parameter-unused")
def out_parameter_unused(folder: Path) -> Report:
    source = "int real(void **, unsigned long); int cuMemAlloc_v2(void **p, unsigned long n) "
    assert "out-parameter-unused" not in library(folder / "right", source + "{ return real(p, n); }").ids()
    stub = "int cuMemAlloc_v2(void **p, unsigned long n) { return 801; }"
    assert "out-parameter-unused" not in library(folder / "stub", stub).ids()
    return library(folder, source + "{ void *q; return real(&q, n); }")


@case("version-ignored")
def version_ignored(folder: Path) -> Report:
    report = library(folder, RESOLVER % "return s != 0")
    assert "cudaVersion and flags" in str(report.findings)
    return report


@case("asks-next-only")
def asks_next(folder: Path) -> Report:
    call = 'void *real = dlsym(RTLD_NEXT, "cuInit"); %s return ((int (*)(unsigned))real)(f);'
    source = NEXT + "int cuInit(unsigned f) { " + call + " }\n"
    assert "asks-next-only" in library(folder / "careful", source % "if (!real) return 3;" + DLSYM).ids("note")
    assert "asks-next-only" in library(folder / "careless", source % "" + DLSYM).ids("warning")
    return library(folder, source % "")
