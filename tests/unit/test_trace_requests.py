"""gdbcuda trace: functions that are asked for by name, and handed out."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from shim_support import HOOK, OLDER_LIBC, Run
from traced_programs import Trace, needs_recorder, trace, traced

__all__ = ["trace", "traced"]  # the fixtures
REQUESTS = "cuMemAlloc 3020 0\ncuMemAlloc 2000 0\ncuNoSuch 13000 0\ncuMemcpyAsync 7000 2\ncuGetProcAddress 12000 0\n"
pytestmark = needs_recorder
SHARED = ("-shared", "-fPIC")


def built(made: Path, source: str, *flags: object) -> Path:
    line = ["gcc", "-x", "c", "-o", made, "-", "-x", "none", *map(str, flags), *OLDER_LIBC]
    subprocess.run(line, input=source, text=True, check=True)
    return made


@pytest.mark.parametrize("hook", [HOOK, "sample/minimal_hook.so", "sample/forgetful_hook.so"])
@pytest.mark.parametrize("program", ["proc_address", "dlsym_alloc", "deepbind", "nvml_dlopen", "next_order"])
def test_who_asks_by_name_is_answered_as_without_us(
    trace: Trace, run: Run, shim: Path, program: str, hook: str
) -> None:
    alone, found = (
        run(program, preload=[hook], stdin=REQUESTS),
        trace(program, stdin=REQUESTS, options=("--hook", str(shim / hook))).done,
    )
    assert (found.returncode, found.stdout) == (alone.returncode, alone.stdout)


def test_what_cu_get_proc_address_hands_out_is_recorded(trace: Trace) -> None:
    found = trace("proc_address", stdin=REQUESTS)
    (first, *_) = found.calls("--function", "cuGetProcAddress")
    asked = first["name"], first["arguments"]["symbol"], first["result"]
    assert asked == ("cuGetProcAddress_v2", "cuMemAlloc", "CUDA_SUCCESS")


PASSES_ON = """
#define _GNU_SOURCE
#include <dlfcn.h>
typedef int (*ask)(const char *, void **, int, unsigned long, int *);
int cuGetProcAddress_v2(const char *symbol, void **found, int version, unsigned long flags, int *status)
{
    return ((ask)dlsym(RTLD_NEXT, "cuGetProcAddress_v2"))(symbol, found, version, flags, status);
}
"""


def test_a_request_that_is_passed_on_is_no_change(trace: Trace, tmp_path: Path) -> None:
    """The hook library is handed out what records, and is noted to hand out the driver's."""
    hook = built(tmp_path / "libpasses.so", PASSES_ON, *SHARED)
    found = trace("proc_address", stdin=REQUESTS, options=("--hook", str(hook)))
    asked = found.calls("--function", "cuGetProcAddress")
    assert {call["layer"] for call in asked} == {"hook", "driver"}
    assert "0 of 5 requests for function addresses got another answer" in found.log("changes").stdout


ANSWERS_OTHERS = """
#define _GNU_SOURCE
#include <string.h>
int cuMemAlloc_v2(unsigned long *given, unsigned long size) { *given = 0x500000001000; return size != 5ul << 32; }
void *answer(const char *name) { return strcmp(name, "cuMemAlloc") ? 0 : (void *)cuMemAlloc_v2; }
int cuGetProcAddress_v2(const char *symbol, void **found, int version, unsigned long flags, int *status)
{
    (void)version, (void)flags, (void)status;
    *found = answer(symbol);
    return 0;
}
void *dlsym(void *handle, const char *name) { (void)handle; return answer(name); }
"""
ASKS_OTHERS = """
void *dlsym(void *, const char *);
int cuGetProcAddress_v2(const char *, void **, int, unsigned long, int *);
int main(void)
{
    int (*alloc)(unsigned long *, unsigned long) = 0;
    unsigned long given;
    cuGetProcAddress_v2("cuMemAlloc", (void **)&alloc, 2000, 0, 0);
    int found = alloc(&given, 5ul << 32);
    alloc = dlsym(0, "cuMemAlloc");
    return found | alloc(&given, 5ul << 32);
}
"""


def test_an_answer_is_named_by_what_it_is(trace: Trace, tmp_path: Path) -> None:
    """A hook library may not look at the version that was asked for: the other function has other arguments."""
    hook = built(tmp_path / "libothers.so", ANSWERS_OTHERS, *SHARED)
    found = trace(built(tmp_path / "asks", ASKS_OTHERS, hook), options=("--hook", str(hook)))
    called = [(call["name"], call["arguments"].get("bytesize")) for call in found.calls()]
    assert found.done.returncode == 0 and called[1:] == [("cuMemAlloc_v2", 5 << 32)] * 2


ANSWERS_NUMBERS = """
static int mark;
void *given = GIVEN;
int cuGetProcAddress_v2(const char *symbol, void **found, int version, unsigned long flags, int *status)
{
    (void)symbol, (void)version, (void)flags, (void)status;
    *found = given;
    return 0;
}
"""
PRINTS_ANSWER = """
#include <stdio.h>
extern void *given;
int cuGetProcAddress_v2(const char *, void **, int, unsigned long, int *);
int main(void)
{
    void *found = 0;
    cuGetProcAddress_v2("cuMemAlloc", &found, 12000, 0, 0);
    return puts(found == given ? "as given" : "another") < 0;
}
"""


@pytest.mark.parametrize("given", ["(void *)0x1234567890abcdef", "&mark"])
def test_what_is_handed_out_and_is_no_function_stays_as_it_is(trace: Trace, tmp_path: Path, given: str) -> None:
    library = built(tmp_path / "libnumbers.so", ANSWERS_NUMBERS, *SHARED, f"-DGIVEN={given}")
    found = trace(built(tmp_path / "prints", PRINTS_ANSWER, library))
    assert found.done.stdout == "as given\n"
    assert [call["name"] for call in found.calls()] == ["cuGetProcAddress_v2"]


ASKS_WITHOUT_FILES = """
#include <stdio.h>
#include <sys/resource.h>
extern void *given;
int cuGetProcAddress_v2(const char *, void **, int, unsigned long, int *);
int main(void)
{
    struct rlimit none = {0, 0};
    void *found = 0;
    cuGetProcAddress_v2("cuInit", &found, 12000, 0, 0);
    setrlimit(RLIMIT_NOFILE, &none);
    cuGetProcAddress_v2("cuMemAlloc", &found, 12000, 0, 0);
    return puts(found == given ? "as given" : "another") < 0;
}
"""


def test_a_number_stays_as_it_is_where_no_file_can_be_opened(trace: Trace, tmp_path: Path) -> None:
    library = built(tmp_path / "libnumbers.so", ANSWERS_NUMBERS, *SHARED, "-DGIVEN=(void *)0x1234567890abcdef")
    assert trace(built(tmp_path / "asks", ASKS_WITHOUT_FILES, library)).done.stdout == "as given\n"


ANSWERS_MADE = """
#include <sys/mman.h>
void *given;
int cuGetProcAddress_v2(const char *symbol, void **found, int version, unsigned long flags, int *status)
{
    (void)symbol, (void)version, (void)flags, (void)status;
    if (!given)
        given = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *found = given;
    return 0;
}
"""
UNLOADS = """
#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>
extern void *given;
int cuGetProcAddress_v2(const char *, void **, int, unsigned long, int *);
int main(void)
{
    void *found = 0;
    for (int i = 0; i < 20; i++) {
        void *other = dlopen(OTHER, RTLD_NOW);
        cuGetProcAddress_v2("cuMemAlloc", &found, 12000, 0, 0);
        if (!other || dlclose(other))
            return 2;
    }
    cuGetProcAddress_v2("cuMemAlloc", &found, 12000, 0, 0);
    mprotect(given, 4096, PROT_READ); /* so that whoever looks finds no code */
    cuGetProcAddress_v2("cuMemAlloc", &found, 12000, 0, 0);
    return puts(found == given ? "looked again" : "remembered") < 0;
}
"""


def test_where_code_is_stays_known_however_much_was_unloaded(trace: Trace, tmp_path: Path) -> None:
    """To look in /proc/self/maps takes a millisecond in a process that has mapped much."""
    library, other = (built(tmp_path / name, source, *SHARED)
                      for name, source in (("libmade.so", ANSWERS_MADE), ("libother.so", "")))  # fmt: skip
    program = built(tmp_path / "unloads", UNLOADS, f'-DOTHER="{other}"', library)
    assert trace(program).done.stdout == "remembered\n"
