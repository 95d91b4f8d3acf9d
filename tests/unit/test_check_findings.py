"""Every check has a file here that it finds something in; the tests fail for a check without one."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Callable

import pytest
from elf_build import compiled

from gdbcuda import elf
from gdbcuda.check import Report, check
from gdbcuda.check.registry import load_checks

Build = Callable[[Path], Report]
CASES: dict[str, Build] = {}

ALLOC = "int cuMemAlloc_v2(void **p, unsigned long n) { *p = (void *)n; return 0; }\n"
FREE = "int cuMemFree_v2(void *p) { return p == 0; }\n"
NEXT = "#define _GNU_SOURCE\n#include <dlfcn.h>\n"
DLSYM = (
    'void *dlsym(void *h, const char *n) { return ((void *(*)(void *, const char *))dlvsym(h, "dlsym", "X"))(h, n); }\n'
)
CALLER = "int cuMemAlloc_v2(void **, unsigned long);\nint main(void) { void *p; return cuMemAlloc_v2(&p, 1); }\n"
LOADER = '#include <dlfcn.h>\nint main(void) { return !dlsym(dlopen("libcuda.so.1", 1), "cuMemAlloc_v2"); }\n'
DEBUG = ("-g", "-O0")


def case(*ids: str) -> Callable[[Build], Build]:
    def register(build: Build) -> Build:
        CASES.update(dict.fromkeys(ids, build))
        return build

    return register


def library(folder: Path, source: str, *flags: str) -> Report:
    return check(compiled(folder, source, *(flags or DEBUG)))


def linked_program(folder: Path, source: str, *flags: str) -> Path:
    """A program linked to a libcuda.so.1 that has what it calls."""
    driver = compiled(folder, ALLOC + FREE, "-Wl,-soname,libcuda.so.1", name="libcuda.so.1", source_name="driver.c")
    return compiled(folder, source, "-pie", "-fPIE", str(driver), *flags, name="program", source_name="program.c")


def pair(folder: Path, program: Path, hook: str, *flags: str) -> Report:
    return check(program, hook=compiled(folder, hook, *(flags or DEBUG)))


# kind


@case("not-loadable")
def object_file(folder: Path) -> Report:
    return check(compiled(folder, ALLOC, "-c", name="a.o"))


@case("32-bit")
def object_of_32_bits(folder: Path) -> Report:
    return check(compiled(folder, ALLOC, "-c", "-m32", "-ffreestanding", name="a.o"))


def header(folder: Path, machine: int, order: int) -> Path:
    """A shared object of another machine that is nothing but its header."""
    endian = "<" if order == 1 else ">"
    path = folder / "other.so"
    fields = struct.pack(endian + "HHIQQQIHHHHHH", 3, machine, 1, 0, 0, 0, 0, 64, 56, 0, 64, 0, 0)
    path.write_bytes(b"\x7fELF\x02" + bytes([order, 1]) + bytes(9) + fields)
    return path


@case("big-endian")
def of_a_mainframe(folder: Path) -> Report:
    return check(header(folder, 22, 2))


@case("other-machine")
def of_another_machine(folder: Path) -> Report:
    return check(header(folder, 243, 1))  # RISC-V


@case("vendor-library")
def a_driver(folder: Path) -> Report:
    return library(folder, ALLOC, "-Wl,-soname,libcuda.so.1")


# debug info


@case("no-debug-info")
def without_debug_info(folder: Path) -> Report:
    report = library(folder, ALLOC, "-g0", "-s")
    assert "stripped" in report.findings[0].seen or "stripped" in str(report.findings)
    return report


@case("program-no-debug-info")
def program_without_debug_info(folder: Path) -> Report:
    return check(compiled(folder, LOADER, "-pie", "-fPIE", "-g0", name="program"))


@case("debug-info", "hooks", "not-hooked", "dlsym-not-overridden")
def small_hook(folder: Path) -> Report:
    return library(folder, ALLOC + FREE)


@case("optimised", "no-frame-pointer")
def optimised(folder: Path) -> Report:
    return library(folder, ALLOC, "-g", "-O2")


@case("line-tables-only")
def line_tables(folder: Path) -> Report:
    return library(folder, ALLOC, "-g1", "-O0")


@case("debug-compression")
def compressed(folder: Path) -> Report:
    report = library(folder, ALLOC, "-g", "-gz=zlib", "-O0")
    assert "debug-info" in report.ids()
    return report


@case("split-debug")
def split(folder: Path) -> Report:
    return library(folder, ALLOC, "-g", "-gsplit-dwarf", "-O0")


@case("split-debug-missing")
def split_and_lost(folder: Path) -> Report:
    path = compiled(folder, ALLOC, "-g", "-gsplit-dwarf", "-O0")
    for dwo in folder.glob("*.dwo"):
        dwo.unlink()
    return check(path)


def separated(folder: Path) -> Path:
    path = compiled(folder, ALLOC, *DEBUG)
    debug = folder / "libhook.so.debug"
    subprocess.run(["objcopy", "--only-keep-debug", path, debug], check=True)
    subprocess.run(["objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", path], check=True)
    return path


@case("debug-link-missing")
def debug_link_missing(folder: Path) -> Report:
    path = separated(folder)
    assert "debug-info" in check(path).ids()
    (folder / "libhook.so.debug").write_bytes(b"something else")
    return check(path)


@case("no-build-id")
def without_build_id(folder: Path) -> Report:
    return library(folder, ALLOC, "-Wl,--build-id=none")


@case("sources-missing")
def sources_gone(folder: Path) -> Report:
    path = compiled(folder, ALLOC, *DEBUG)
    (folder / "hook.c").unlink()
    return check(path)


# exports and coverage


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
    return report


@case("looks-like-api", "other-exports")
def lookalikes(folder: Path) -> Report:
    report = library(folder, ALLOC + "int cuMemAloc(void) { return 1; } int cuda_to_nvml_map[4];")
    finding = next(finding for finding in report.findings if finding.id == "looks-like-api")
    assert "cuMemAloc -> cuMemAlloc" in finding.do
    return report


@case("collides-with-libc")
def collision(folder: Path) -> Report:
    return library(folder, ALLOC + "int usleep(unsigned n) { return (int)n; }")


@case("old-symbol-only")
def old_symbol(folder: Path) -> Report:
    report = library(folder, ALLOC.replace("_v2", ""))
    assert "cuMemAlloc but not cuMemAlloc_v2" in str(report.findings)
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


# interception


@case("proc-address-not-hooked")
def proc_address_missing(folder: Path) -> Report:
    return library(folder, NEXT + ALLOC + DLSYM)


RESOLVER = "int cuGetProcAddress_v2(const char *n, void **p, int v, unsigned long f, void *s) { *p = (void *)n; %s; }"


@case("proc-address-hooked")
def proc_address(folder: Path) -> Report:
    report = library(folder, RESOLVER % "return v + (int)f + (s != 0)")
    assert "version-ignored" not in report.ids()
    return report


@case("dlsym-recursion")
def recursion(folder: Path) -> Report:
    source = 'void *dlsym(void *h, const char *n) { return ((void *(*)(void *))dlsym(h, "dlsym"))((void *)n); }'
    report = library(folder, source)
    assert report.verdict == "crashes at the first dlsym (dlsym-recursion)"
    for flags in (("-O2", "-fno-optimize-sibling-calls"), ("-fno-plt", "-O1"), ("-Wl,-Bsymbolic", "-O0")):
        assert "dlsym-recursion" in library(folder, source, *flags).ids("error"), flags
    harmless = "void *dlsym(void *h, const char *n) { return n ? h : 0; }"
    assert library(folder, harmless).ids("warning").count("dlsym-recursion") == 1
    return report


@case("glibc-private")
def private(folder: Path) -> Report:
    source = ALLOC + "void *_dl_sym(void *, const char *, void *); void *dlsym(void *h, const char *n)"
    return library(folder, source + "{ return _dl_sym(h, n, 0); }")


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


# loading


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
    return library(folder, source)


@case("api-undefined")
def api_undefined(folder: Path) -> Report:
    return library(folder, ALLOC + "int cuMemFree_v2(void *); int helper(void *p) { return cuMemFree_v2(p); }")


# hardening


@case("exec-stack")
def executable_stack(folder: Path) -> Report:
    return library(folder, ALLOC, "-Wl,-z,execstack")


@case("text-relocations")
def text_relocations(folder: Path) -> Report:
    path = compiled(folder, ALLOC, "-Wl,-z,now")
    data = bytearray(path.read_bytes())
    flags = data.find(struct.pack("<QQ", 30, 8))  # DT_FLAGS, DF_BIND_NOW
    data[flags : flags + 16] = struct.pack("<QQ", 30, 4)
    path.write_bytes(data)
    return check(path)


@case("no-relro")
def no_relro(folder: Path) -> Report:
    return library(folder, ALLOC, "-Wl,-z,norelro")


@case("bind-now")
def bind_now(folder: Path) -> Report:
    return library(folder, ALLOC, "-Wl,-z,now")


# behaviour


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


# programs


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


@case("no-cuda")
def no_cuda(folder: Path) -> Report:
    return check(shutil.which("ls") or "/bin/ls")


# both


@case("different-machines")
def different_machines(folder: Path) -> Report:
    return check(linked_program(folder, CALLER), hook=header(folder, 183, 1))


@case("hook-fails")
def hook_fails(folder: Path) -> Report:
    source = (
        ALLOC + "void *_dl_sym(void *, const char *); void *dlsym(void *h, const char *n) { return _dl_sym(h, n); }"
    )
    return pair(folder, linked_program(folder, CALLER), source)


@case("reached")
def reached(folder: Path) -> Report:
    report = pair(folder, linked_program(folder, CALLER), ALLOC)
    assert report.verdict == "will be reached"
    return report


@case("not-reached")
def not_reached(folder: Path) -> Report:
    report = pair(folder, linked_program(folder, CALLER), FREE)
    assert report.verdict.startswith("will not be reached by this program")
    return report


@case("called-but-hidden")
def called_but_hidden(folder: Path) -> Report:
    return pair(folder, linked_program(folder, CALLER), ALLOC, "-fvisibility=hidden")


@case("linked-past-dlsym")
def linked_past_dlsym(folder: Path) -> Report:
    source = CALLER + '#include <dlfcn.h>\nvoid *other(void) { return dlopen("libnvidia-ml.so.1", 1); }'
    shown = DLSYM.replace("void *dlsym", '__attribute__((visibility("default"))) void *dlsym', 1)
    return pair(folder, linked_program(folder, source), NEXT + ALLOC + shown, "-fvisibility=hidden", "-s")


@case("called-not-hooked")
def called_not_hooked(folder: Path) -> Report:
    return pair(folder, linked_program(folder, CALLER), FREE)


@case("loaded-past-hook")
def loaded_past_hook(folder: Path) -> Report:
    return pair(folder, compiled(folder, LOADER, "-pie", "-fPIE", name="program"), ALLOC)


@case("runtime-inside-program")
def runtime_inside(folder: Path) -> Report:
    program = compiled(folder, STATIC_RUNTIME, "-pie", "-fPIE", name="program")
    source = NEXT + DLSYM + "int cudaMalloc(void **p, unsigned long n) { return !p + !n; }"
    assert "runtime-inside-program" in pair(folder, program, source).ids("warning")
    return pair(folder, program, source + ALLOC + RESOLVER % "return v + (int)f + (s != 0)")


@case("runtime-past-hook")
def runtime_past_hook(folder: Path) -> Report:
    program = compiled(folder, STATIC_RUNTIME, "-pie", "-fPIE", name="program")
    report = pair(folder, program, NEXT + DLSYM + ALLOC)
    assert report.verdict.startswith("will not be reached by this program")
    return report


@pytest.mark.parametrize("id", sorted(load_checks()))
def test_finding(id: str, tmp_path: Path) -> None:
    assert id in CASES, f"the check {id} has no file here that it finds something in"
    found = [finding for finding in CASES[id](tmp_path).findings if finding.id == id]
    assert len(found) == 1
    assert found[0].seen and found[0].means
    assert found[0].do or found[0].severity == "note"
    assert not found[0].seen.startswith("0 ")
