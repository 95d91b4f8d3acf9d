"""How it intercepts."""

from __future__ import annotations

from pathlib import Path

from elf_build import compiled

from check_cases.building import ALLOC, DEBUG, DLSYM, NEXT, case, library
from gdbcuda.check.file import check
from gdbcuda.check.finding import Report


@case("proc-address-not-hooked")
def proc_address_missing(folder: Path) -> Report:
    one = library(folder / "one", NEXT + ALLOC + DLSYM + RESOLVER % "return v", "-w")
    assert "but not cuGetProcAddress, which a runtime of CUDA 11.3 to 11.8 asks" in str(one.findings)
    return library(folder, NEXT + ALLOC + DLSYM)


RESOLVER = "int cuGetProcAddress_v2(const char *n, void **p, int v, unsigned long f, void *s) { *p = (void *)n; %s; }"


@case("proc-address-hooked")
def proc_address(folder: Path) -> Report:
    report = library(folder, RESOLVER % "return v + (int)f + (s != 0)")
    assert "version-ignored" not in report.ids()
    return report


LINKED = "will not be reached by linked programs (only-dlsym)"


@case("dlsym-recursion")
def recursion(folder: Path) -> Report:
    source = 'void *dlsym(void *h, const char *n) { return ((void *(*)(void *))dlsym(h, "dlsym"))((void *)n); }'
    report = library(folder, source)
    assert report.verdict == "crashes at the first dlsym (dlsym-recursion)"
    for flags in (("-O2", "-fno-optimize-sibling-calls"), ("-fno-plt", "-O1"), ("-Wl,-Bsymbolic", "-O0")):
        assert "dlsym-recursion" in library(folder, source, *flags).ids("error"), flags
    harmless = "void *dlsym(void *h, const char *n) { return n ? h : 0; }"
    mild = library(folder, harmless)
    assert mild.ids("warning").count("dlsym-recursion") == 1 and mild.verdict == LINKED
    return report


@case("dlsym-cycle")
def cycle_through_another(folder: Path) -> Report:
    """Straight and by a helper of either; a second library that does not ask dlsym is no cycle."""
    asks = 'void *dlsym(void *, const char *); static void *name(void) { return dlsym(0, "x"); } int say(void) '
    tell = "int say(void); static int tell(void) { return say(); }"
    source = NEXT + ALLOC + tell + DLSYM.replace("*n) {", "*n) { tell();")
    reports = []
    for body in ("{ return name() != 0; }", "{ return !name; }"):
        where = folder / str(len(reports))
        second = compiled(where, asks + body, "-Wl,-soname,libsay.so", *DEBUG, name="libsay.so", source_name="say.c")
        hook = compiled(where, source, *DEBUG, str(second), f"-Wl,-rpath,{where}")
        reports.append(check(hook))
    assert "dlsym-cycle" not in reports[1].ids()
    return reports[0]


@case("dlopen-overridden")
def own_dlopen(folder: Path) -> Report:
    real = 'typedef void *Open(const char *, int); Open *real = (Open *)dlsym(RTLD_NEXT, "dlopen");'
    handed_on = f"{NEXT}{ALLOC}void *dlopen(const char *n, int f) {{ {real} return real(n, f); }}"
    jumps = library(folder / "jumps", handed_on, "-O2")
    assert "dlopen-overridden" in jumps.ids("note") and "ends with a jump to the real one" in str(jumps.findings)
    for flags in (("-O0",), ("-O2", "-fno-optimize-sibling-calls")):
        assert "dlopen-overridden" in library(folder / flags[-1], handed_on, *flags).ids("warning")
    return library(folder, ALLOC + "void *dlopen(const char *n, int f) { return n && f ? (void *)n : 0; }")


@case("glibc-private")
def private(folder: Path) -> Report:
    source = ALLOC + "void *_dl_sym(void *, const char *, void *); void *dlsym(void *h, const char *n)"
    return library(folder, source + "{ return _dl_sym(h, n, 0); }")


@case("other-way")
def other_way(folder: Path) -> Report:
    assert "other-way" not in library(folder, ALLOC + "int mprotect(); int f(void) { return mprotect(); }").ids()
    for source in ("int InitializeInjection(void) { return 1; }", "unsigned la_version(unsigned v) { return v; }"):
        report = library(folder, source)
        assert report.verdict == "unknown whether calls arrive (other-way)" and "hooks-nothing" not in report.ids()
    installed_by_another = library(folder, "int my_cuMemAlloc_v2(void *p, long n) { return p && n; }")
    assert installed_by_another.findings[0].seen == "no API function by name, but my_cuMemAlloc_v2"
    assert installed_by_another.verdict == "unknown whether calls arrive (other-way)"
    return library(folder, "int mprotect(); int f(void) { return mprotect(); }")


@case("wrap-build")
def wrapped(folder: Path) -> Report:
    return library(folder, ALLOC + "int __wrap_cuMemFree_v2(void *p) { return !p; }")


@case("real-undefined")
def real_undefined(folder: Path) -> Report:
    source = "int __real_cuMemFree_v2(void *); int __wrap_cuMemFree_v2(void *p) { return __real_cuMemFree_v2(p); }"
    return library(folder, ALLOC + source)


@case("symbolic")
def symbolic(folder: Path) -> Report:
    return library(folder, ALLOC, "-Wl,-Bsymbolic")
