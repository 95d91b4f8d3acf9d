"""Whether it loads."""

from __future__ import annotations

from pathlib import Path

from elf_build import compiled

from check_cases.building import ALLOC, FREE, case, library
from gdbcuda.check.file import check
from gdbcuda.check.finding import Report


@case("needs-vendor", "library-not-found")
def linked_to_the_driver(folder: Path) -> Report:
    compiled(folder, FREE, "-Wl,-soname,libcuda.so.1", name="libcuda.so", source_name="driver.c")
    return library(folder, ALLOC, "-Wl,--no-as-needed", "-L.", "-lcuda")


@case("glibc-needed")
def glibc_needed(folder: Path) -> Report:
    report = library(folder, '#include <stdio.h>\nint cuInit(unsigned f) { return printf("%d", f); }')
    assert "GLIBC_2." in str(report.findings)
    return report


@case("glibc-too-old")
def glibc_too_old(folder: Path) -> Report:
    path = compiled(folder, '#include <stdio.h>\nint cuInit(unsigned f) { return printf("%d", f); }')
    data = path.read_bytes()
    version = b"GLIBC_2.17" if b"GLIBC_2.17\0" in data else b"GLIBC_2.2.5"
    path.write_bytes(data.replace(version + b"\0", b"GLIBC_9.99".ljust(len(version), b"9") + b"\0"))
    return check(path)


@case("runpath")
def runpath(folder: Path) -> Report:
    return library(folder, ALLOC, "-Wl,-rpath,/opt/lib")


@case("constructors")
def constructors(folder: Path) -> Report:
    report = library(folder, ALLOC + "__attribute__((constructor)) static void wake(void) { }")
    assert "wake" in str(report.findings)
    return report


@case("static-tls")
def static_tls(folder: Path) -> Report:
    return library(folder, "__thread int n; int cuInit(unsigned f) { return n += f; }", "-ftls-model=initial-exec")


@case("thread-local")
def thread_local(folder: Path) -> Report:
    return library(folder, "__thread int n; int cuInit(unsigned f) { return n += f; }")


@case("undefined-symbols")
def undefined_symbols(folder: Path) -> Report:
    source = '#include <stdio.h>\nint nobody(void); int cuInit(unsigned f) { return puts("") + nobody() + f; }'
    report = library(folder, source)
    alone = library(folder, source, "-g", "-nodefaultlibs")
    seen = [finding.seen for finding in alone.findings if finding.id == "undefined-symbols"]
    assert seen == ["nobody"], "puts is in the libc that the program has"
    member = "int f(void) __asm__(\"_ZN3eng4Pool4growEm\"); int cuInit(unsigned flags) { return f() + flags; }"
    (strange,) = [one.seen for one in library(folder, member).findings if one.id == "undefined-symbols"]
    assert strange == "eng::Pool::grow(unsigned long)"
    return report


@case("api-undefined")
def api_undefined(folder: Path) -> Report:
    return library(folder, ALLOC + "int cuMemFree_v2(void *); int helper(void *p) { return cuMemFree_v2(p); }")
