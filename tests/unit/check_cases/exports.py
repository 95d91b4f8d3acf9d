"""What is exported, what is covered."""

from __future__ import annotations

from pathlib import Path

from check_cases.building import ALLOC, DLSYM, NEXT, case, library
from gdbcuda import elf
from gdbcuda.check.file import check
from gdbcuda.check.finding import Report

RUNTIME = "int cudaMalloc(void **p, unsigned long n) { *p = (void *)n; return 0; }\n"


@case("hooks-nothing")
def hooks_nothing(folder: Path) -> Report:
    return library(folder, "int something(void) { return 1; }")


@case("hidden-functions")
def hidden(folder: Path) -> Report:
    report = library(folder, ALLOC, "-g", "-fvisibility=hidden")
    assert report.verdict.startswith("will not be reached by linked programs")
    assert report.exit_status == 1
    assert without_symtab(folder).ids("error") == ["hidden-functions"], "known from the debug info"
    return report


def without_symtab(folder: Path) -> Report:
    """The library in the folder with its .symtab made unknown, as if only that had been stripped."""
    path = folder / "libhook.so"
    file, data = elf.open(path), bytearray(path.read_bytes())
    section = file.section(".symtab")
    assert section
    data[file.header.sections_at + 64 * section.number + 4] = 1  # SHT_PROGBITS
    path.write_bytes(data)
    return check(path)


@case("cpp-names")
def cpp_names(folder: Path) -> Report:
    named = '__asm__("_Z13cuMemAlloc_v2PPvm");'
    report = library(
        folder, f"int f(void **p, unsigned long n) {named} int f(void **p, unsigned long n) {{ return !p; }}"
    )
    assert "_Z13cuMemAlloc_v2PPvm for cuMemAlloc_v2" in str(report.findings)
    return report


@case("only-dlsym", "dlsym-overridden")
def only_dlsym(folder: Path) -> Report:
    shown = DLSYM.replace("void *dlsym", '__attribute__((visibility("default"))) void *dlsym', 1)
    report = library(folder, NEXT + ALLOC + shown, "-fvisibility=hidden", "-O2", "-s")
    assert report.verdict.startswith("will not be reached by linked programs")
    versions = 'asm(".symver old, dlsym@V_1"); asm(".symver new, dlsym@@V_2"); void old(void) {} void new(void) {}'
    (folder / "map").write_text("V_1 { global: dlsym; }; V_2 { global: dlsym; } V_1;")
    both = library(folder / "both", versions, f"-Wl,--version-script={folder}/map")
    overridden = next(finding for finding in both.findings if finding.id == "dlsym-overridden")
    assert "dlsym@V_1 at 0x" in overridden.seen and "dlsym@@V_2 at 0x" in overridden.seen
    return report


@case("versioned-runtime")
def versioned_runtime(folder: Path) -> Report:
    """The program asks for cudaMalloc@libcudart.so.13, and there is no such version in the hook library."""
    script = folder / "versions.map"
    script.write_text("HOOK_1.0 { global: cudaMalloc; cuMemAlloc_v2; local: *; };\n")
    report = library(folder, RUNTIME, "-g", "-O0", f"-Wl,--version-script={script}")
    assert "exports cudaMalloc@@HOOK_1.0" in str(report.findings)
    assert "will not be reached by programs that call the runtime by name" in report.verdict
    assert "other-exports" not in report.ids(), "the version's own symbol is none of the library's"
    with_driver = library(folder, RUNTIME + ALLOC, "-g", "-O0", f"-Wl,--version-script={script}")
    assert "versioned-runtime" in with_driver.ids("warning"), "the driver's functions have no versions"
    return report


@case("looks-like-api", "other-exports")
def lookalikes(folder: Path) -> Report:
    report = library(folder, ALLOC + "int cuMemAloc(void) { return 1; } int cuda_to_nvml_map[4];")
    finding = next(finding for finding in report.findings if finding.id == "looks-like-api")
    assert "cuMemAloc -> cuMemAlloc" in finding.do
    internal = library(folder / "own", ALLOC + "int cuMemoryAllocate(void) { return 1; }")
    own = next(finding for finding in internal.findings if finding.id == "looks-like-api")
    assert own.seen == "cuMemoryAllocate" and not own.do
    grow = 'int grow(int) __asm__("_ZN4Pool4growEi"); int grow(int n) { return n; }'
    cplusplus = library(folder / "cplusplus", ALLOC + grow)
    others = next(finding for finding in cplusplus.findings if finding.id == "other-exports")
    assert others.seen == "besides API functions 1 exported symbol: Pool::grow(int)"
    return report


@case("other-headers")
def other_headers(folder: Path) -> Report:
    older = "int nvmlGetBlacklistDeviceCount(unsigned *n) { return !n; } int cuMemAdvise_v3(void) { return 0; }"
    report = library(folder, ALLOC + older)
    found = {finding.id: finding.seen for finding in report.findings}
    assert found["other-headers"] == "nvmlGetBlacklistDeviceCount (now nvmlGetExcludedDeviceCount)"
    assert found["looks-like-api"] == "cuMemAdvise_v3"
    removed = "int cudaBindTexture(void) { return 0; }"
    found = {finding.id: finding.seen for finding in library(folder / "removed", ALLOC + removed).findings}
    assert found["other-headers"] == "cudaBindTexture (CUDA 11.8)" and "looks-like-api" not in found
    return report


@case("collides-with-libc")
def collision(folder: Path) -> Report:
    return library(folder, ALLOC + "int usleep(unsigned n) { return (int)n; }")


@case("old-symbol-only")
def old_symbol(folder: Path) -> Report:
    report = library(folder, ALLOC.replace("_v2", ""))
    assert "cuMemAlloc but not cuMemAlloc_v2" in str(report.findings)
    finding = next(finding for finding in report.findings if finding.id == "old-symbol-only")
    assert finding.do.startswith("define cuMemAlloc_v2, with a body of its own (cuMemAlloc: dptr is ")
    same = library(folder / "same", "int nvmlInit(void) { return 0; }")
    assert "define nvmlInit_v2, with the same body" in str(same.findings)
    return report


@case("per-thread-missing")
def per_thread(folder: Path) -> Report:
    return library(folder, "int cuMemAllocAsync(void **p, unsigned long n, void *s) { *p = s; return (int)n; }")


@case("other-versions-missing")
def other_versions(folder: Path) -> Report:
    return library(folder, "int cuCtxCreate_v4(void **c, void *p, int f, int d) { *c = p; return f + d; }")


@case("free-missing")
def free_missing(folder: Path) -> Report:
    return library(folder, ALLOC)
