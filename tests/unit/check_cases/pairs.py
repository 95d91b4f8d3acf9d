"""A program and a hook library together."""

from __future__ import annotations

from pathlib import Path

from elf_build import compiled

from check_cases.building import ALLOC, CALLER, DLSYM, FREE, LOADER, NEXT, PATCHER, case, library, linked_program, pair
from check_cases.interception import RESOLVER
from check_cases.kind import header
from check_cases.programs import STATIC_RUNTIME
from gdbcuda.check.file import check
from gdbcuda.check.finding import Report


@case("different-machines")
def different_machines(folder: Path) -> Report:
    return check(linked_program(folder, CALLER), hook=header(folder, 183, 1))


@case("hook-fails")
def hook_fails(folder: Path) -> Report:
    source = (
        ALLOC + "void *_dl_sym(void *, const char *); void *dlsym(void *h, const char *n) { return _dl_sym(h, n); }"
    )
    program = linked_program(folder, CALLER)
    unsure = pair(folder / "unsure", program, ALLOC + "void *dlsym(void *h, const char *n) { return n ? h : 0; }")
    assert unsure.verdict == "will be reached", "a dlsym that may find the real one in another way is only warned of"
    return pair(folder, program, source)


@case("program-ignores-preload")
def program_ignores_preload(folder: Path) -> Report:
    program = compiled(folder, "int main(void) { return 0; }", "-static", name="program", source_name="main.c")
    report = check(compiled(folder, ALLOC, "-g"), program=program)
    assert report.verdict == "cannot be hooked: a static program (program-ignores-preload)"
    return report


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


@case("reached-otherwise")
def reached_otherwise(folder: Path) -> Report:
    report = pair(folder, linked_program(folder, CALLER), PATCHER)
    assert report.verdict == "unknown whether it is reached by this program (reached-otherwise)"
    assert "other-way" not in report.ids(), "which would say the same of the library alone"
    loading = pair(folder, compiled(folder, LOADER, "-pie", "-fPIE", name="loads"), PATCHER)
    assert "reached-otherwise" in loading.ids() and "loaded-past-hook" not in loading.ids(), "no dlsym is needed"
    return report


@case("called-but-hidden")
def called_but_hidden(folder: Path) -> Report:
    return pair(folder, linked_program(folder, CALLER), ALLOC, "-fvisibility=hidden")


@case("linked-past-dlsym")
def linked_past_dlsym(folder: Path) -> Report:
    source = CALLER + '#include <dlfcn.h>\nvoid *other(void) { return dlopen("libnvidia-ml.so.1", 1); }'
    shown = DLSYM.replace("void *dlsym", '__attribute__((visibility("default"))) void *dlsym', 1)
    program = linked_program(folder, source)
    report = pair(folder, program, NEXT + ALLOC + shown, "-fvisibility=hidden", "-s")
    assert report.verdict == "libnvidia-ml will be reached by this program, libcuda will not (linked-past-dlsym)"
    nvml = "int nvmlShutdown(void) { return 0; }"
    known = pair(folder, program, NEXT + ALLOC + nvml + shown, "-fvisibility=hidden")
    assert known.verdict == "libnvidia-ml will be reached by this program, libcuda will not (called-but-hidden)"
    return report


@case("called-not-hooked")
def called_not_hooked(folder: Path) -> Report:
    program = linked_program(folder, CALLER)
    of_another_api = pair(folder, program, NEXT + DLSYM + "int nvmlShutdown(void) { return 0; }")
    assert "called-not-hooked" in of_another_api.ids("note")
    return pair(folder, program, FREE)


@case("loaded-past-hook")
def loaded_past_hook(folder: Path) -> Report:
    program = compiled(folder, LOADER, "-pie", "-fPIE", name="program")
    answers = ALLOC + "void *dlopen(const char *file, int flags) { return 0; }"
    opens = pair(folder / "opens", program, answers)
    assert opens.verdict == "unknown whether it is reached by this program (loaded-past-hook)"
    assert "dlsym-not-overridden" not in library(folder / "alone", answers).ids("warning")
    return pair(folder, program, ALLOC)


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
