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
    helper = """int other(int); static int check(unsigned n) { if (n > 3) return -1; return other(n) + 1; }
static int limit(unsigned n) { int %s = check(n); return s; }
int cuInit(unsigned f) { int r = limit(f); if (r) return r; return other(3); }"""
    for flags in (("-O0",), ("-O2", "-fno-inline"), ("-O1", "-fno-inline")):
        report = library(folder / "".join(flags), helper % "s", *flags)
        assert "cuInit by its helper check+0x" in str(report.findings), flags
    not_returned = helper.replace("if (r) return r; return other(3)", "return other(r)") % "s"
    assert "returns-minus-one" not in library(folder / "kept", not_returned, "-O0").ids()
    assert "returns-minus-one" not in library(folder / "zero", helper.replace("-1", "2") % "s", "-O0").ids()
    unoptimised_minus_one(folder)
    return library(folder, source)


def unoptimised_minus_one(folder: Path) -> None:
    """A variable that is -1 when it is returned, not one that has been."""
    start = "int other(int); static int check(unsigned n) { if (n > 3) return -1; return 0; }\n"

    def found(name: str, body: str) -> bool:
        return "returns-minus-one" in library(folder / name, f"{start}int cuInit(unsigned f) {{ {body} }}").ids()

    assert found("jumps", "int r = 0; if (f) { r = -1; goto out; } r = other(1); out: return r;")
    assert found("last", "int r = 0; if (f) r = -1; return r;")
    assert found("to_the_end", "int r = check(f); if (r != 0) goto out; r = other(2); out: return r;")
    assert not found("at_first", "int r = -1; if (f) r = other(1); else r = other(2); return r;")
    assert not found("translated", "int r = check(f); if (r == -1) r = 999; return r;")
    assert not found("replaced", "int r = check(f); if (r) r = other(1); return r;")
    # The byte e8, as that of a call, is an offset here: mov -0x18(%rbp),%rax
    body = "static void *q; if (!q) q = &start; int r = check(p); if (r) return r; return other(p);"
    source = f"{start}int start; int cuMemFree_v2(unsigned long long p) {{ {body} }}"
    assert "cuMemFree_v2 by its helper check+0x" in str(library(folder / "operand", source).findings)


@case("out-parameter-unchecked")
def out_parameter_unchecked(folder: Path) -> Report:
    source = "int real(void *, void *); typedef unsigned long z; int cuMemGetInfo_v2(z *f, z *t) { %s return 0; }"

    def found(name: str, body: str, *flags: str) -> bool:
        return "out-parameter-unchecked" in library(folder / name, source % body, *flags).ids()

    assert not found("tested", "real(f, t); if (f) *f = 1; if (t != 0) *t = 2;")
    assert not found("refused", "if (!f || !t) return 1; *f = 1; *t = 2;")
    assert not found("forwarded", "int e = real(f, t); if (e) return e; *f = 1; *t = 2;")
    assert not found("forwarded_at_once", "if (real(f, t)) return 2; *f = 1;") and not found("passed_on", "real(f, t);")
    assert not found("read", "real((void *)*f, (void *)t[0]);")
    assert found("copied", "z n = 5; real(&n, t); *f = n;") and found("small", "*(char *)f = 1;")
    assert found("one", "if (f) *f = 1; *t = 2;")
    written_for_it(folder)
    report = library(folder, source % "real(f, t); *f = 1 << 20; *t = 2 << 20;")
    assert "cuMemGetInfo_v2 writes through free and total without a test for NULL" in str(report.findings)
    return report


def written_for_it(folder: Path) -> None:
    """By a helper, or by memset: what tests there, and what may know a status, is right."""
    source = """#include <string.h>
typedef struct { unsigned long long total, free, used, more[9]; } memory; int real(void *), taken(memory *);
static void fill(memory *m) { m->total = 1 << 20; } static void fill_if(memory *m) { if (m) m->total = 1 << 20; }
static void finish(int result, memory *m) { if (result == 0) m->free = 5; } static void twice(memory *m) { fill(m); }
int nvmlDeviceGetMemoryInfo(void *d, memory *m) { %s }"""

    def found(name: str, body: str, *flags: str) -> bool:
        report = library(folder / name, source % body, "-fno-inline", *flags)
        return "nvmlDeviceGetMemoryInfo writes through memory without" in str(report.findings)

    assert found("helper", "twice(m); return 0;", "-O0")
    for flags in (("-O0",), ("-O2",)):
        assert found(f"fill{flags[0]}", "fill(m); return real(m);", *flags)
        assert not found(f"fill_if{flags[0]}", "fill_if(m); return real(m);", *flags)
        assert not found(f"finish{flags[0]}", "int r = real(m); finish(r, m); return r;", *flags)
        assert not found(f"taken{flags[0]}", "if (!taken(m)) return 2; fill(m); return 0;", *flags)
    assert found("memset", "memset(m, 0, sizeof *m); return real(m);", "-O0")
    assert not found("some", "memset(m, 0, (unsigned long)d); return real(m);", "-O0")
    assert not found("memset_if", "int r = real(m); if (r) return r; memset(m, 0, sizeof *m); return 0;", "-O0")


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
    tests_it = library(folder / "tests_it", source % "if (!real) return 3;").findings
    assert "the library tests for that" in str(tests_it) and "NULL is called" not in str(tests_it)
    kept = "int cuInit(unsigned f) { static int (*real)(unsigned); if (!real) real = dlsym(RTLD_NEXT, \"cuInit\"); "
    for name, then in ("first", ""), ("always", "if (!real) return 3; "):
        found = str(library(folder / name, f"{NEXT}{kept}{then}return real(f); }}\n").findings)
        assert ("the library tests for that" in found, "no test for that is seen" in found) == (bool(then), not then)
    assert "asks-next-only" in library(folder / "careless", source % "" + DLSYM).ids("warning")
    hears = 'void *dlopen(const char *f, int how) { void *(*p)() = dlsym(RTLD_NEXT, "dlopen"); return p(f, how); }'
    assert "asks-next-only" not in str(library(folder / "hears", source % "" + hears).findings)
    return library(folder, source % "")
