"""Programs."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from elf_build import compiled

from check_cases.building import CALLER, LOADER, case, linked_program
from gdbcuda.check.file import check
from gdbcuda.check.finding import Report


@case("static-program", "fixed-address")
def static_program(folder: Path) -> Report:
    return check(compiled(folder, "int main(void) { return 0; }", "-static", name="program"))


@case("setuid")
def setuid(folder: Path) -> Report:
    path = compiled(folder, LOADER, "-pie", "-fPIE", name="program")
    path.chmod(0o4755)
    return check(path)


@case("file-capabilities")
def file_capabilities(folder: Path) -> Report:
    path = compiled(folder, LOADER, "-pie", "-fPIE", name="program")
    value = struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0)  # revision 2, effective, CAP_NET_BIND_SERVICE
    try:
        os.setxattr(path, "security.capability", value)
    except OSError as error:
        pytest.skip(f"file capabilities cannot be set here: {error.strerror}")
    return check(path)


@case("cuda-runtime")
def shared_runtime(folder: Path) -> Report:
    flags = ("-Wl,-soname,libcudart.so.12",)
    runtime = compiled(folder, "int cudaMalloc(void) { return 0; }", *flags, name="libcudart.so", source_name="rt.c")
    source = "int cudaMalloc(void); int main(void) { return cudaMalloc(); }"
    report = check(compiled(folder, source, "-pie", "-fPIE", str(runtime), name="program"))
    assert report.cuda == "12.9"
    return report


STATIC_RUNTIME = """
const char *cudaErrorName(int n) { return n ? "cudaErrorCudartUnloading" : "libcuda.so.1"; }
int cudaMalloc(void **p, unsigned long n) { return !p + !n; }
int cudaRuntimeGetVersion(int *version) { *version = 12090; return 0; }
int main(int argc, char **argv) { return cudaMalloc((void **)argv, argc) + cudaRuntimeGetVersion(&argc); }
"""


@case("static-runtime", "cuda-loaded")
def static_runtime(folder: Path) -> Report:
    flags = ("-pie", "-fPIE", "-O2", "-fno-ipa-cp", "-fno-inline")
    report = check(compiled(folder, STATIC_RUNTIME, *flags, name="program"))
    assert report.cuda == "12.9"
    stripped = check(compiled(folder / "stripped", STATIC_RUNTIME, *flags, "-s", name="program"))
    assert stripped.cuda == "12.9"
    assert "static-runtime" in stripped.ids()
    return report


@case("cuda-linked")
def linked(folder: Path) -> Report:
    return check(linked_program(folder, CALLER))


@case("wrapped")
def wrapped(folder: Path) -> Report:
    source = CALLER + "int __wrap_cuMemAlloc_v2(void) { return 0; }\nint __wrap_malloc(void) { return 0; }\n"
    report = check(linked_program(folder, source))
    (finding,) = (one for one in report.findings if one.id == "wrapped")
    assert finding.seen == "linked with --wrap for cuMemAlloc_v2"
    return report


@case("wrap-unknown")
def stripped_wrapped(folder: Path) -> Report:
    path = linked_program(folder, CALLER + "int __wrap_cuMemAlloc_v2(void) { return 0; }")
    debug = folder / "program.debug"
    subprocess.run(["objcopy", "--only-keep-debug", path, debug], check=True)
    subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", path], check=True)
    with_debug_file = check(path)
    assert "wrapped" in with_debug_file.ids() and "wrap-unknown" not in with_debug_file.ids()
    debug.unlink()
    return check(path)


@case("no-cuda")
def no_cuda(folder: Path) -> Report:
    return check(shutil.which("ls") or "/bin/ls")
