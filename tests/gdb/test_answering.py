"""The function that really answers is known from the slot, the first bytes, the answered request; there it stops."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scenario import Scenario, version

SLOTS = """
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
static int (*onward)(unsigned long long *, unsigned long);
static int own_alloc(unsigned long long *block, unsigned long bytes)
{
    int status = onward(block, bytes);
    return bytes > 2ul << 30 ? 2 : status;
}
static void change(const struct link_map *one, const ElfW(Dyn) *row)
{
    const ElfW(Rela) *slots = 0;
    const ElfW(Sym) *symbols = 0;
    const char *names = 0;
    size_t bytes = 0;
    for (; row->d_tag; row++) {
        if (row->d_tag == DT_JMPREL) slots = (void *)row->d_un.d_ptr;
        if (row->d_tag == DT_SYMTAB) symbols = (void *)row->d_un.d_ptr;
        if (row->d_tag == DT_STRTAB) names = (void *)row->d_un.d_ptr;
        if (row->d_tag == DT_PLTRELSZ) bytes = row->d_un.d_val;
    }
    for (size_t n = 0; n < bytes / sizeof *slots; n++) {
        void **slot = (void **)(one->l_addr + slots[n].r_offset);
        if (strcmp(names + symbols[ELF64_R_SYM(slots[n].r_info)].st_name, "cuMemAlloc_v2"))
            continue;
        mprotect((void *)((unsigned long)slot & -4096ul), 4096, PROT_READ | PROT_WRITE);
        onward = dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");
        *slot = own_alloc;
    }
}
__attribute__((constructor)) static void begin(void) { change(_r_debug.r_map, _r_debug.r_map->l_ld); }
"""
ENTRIES = """
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
static int own_alloc(unsigned long long *block, unsigned long bytes)
{
    *block = 0x5000;
    return bytes > 2ul << 30 ? 2 : 0;
}
__attribute__((constructor)) static void begin(void)
{
    unsigned char *entry = dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL), "cuMemAlloc_v2");
    void *to = own_alloc;
    mprotect((void *)((unsigned long)entry & -4096ul), 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
    JUMP
    mprotect((void *)((unsigned long)entry & -4096ul), 8192, PROT_READ | PROT_EXEC);
}
"""
JUMPS = {
    "through": r'memcpy(entry, "\xff\x25\0\0\0\0", 6); memcpy(entry + 6, &to, 8);',
    "rax": r'memcpy(entry, "\x48\xb8", 2); memcpy(entry + 2, &to, 8); memcpy(entry + 10, "\xff\xe0", 2);',
    "island": """
        unsigned char *near = mmap(entry - (64 << 20), 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        int distance = near - (entry + 5);
        entry[0] = 0xe9; memcpy(entry + 1, &distance, 4);
        memcpy(near, "\\x49\\xbb", 2); memcpy(near + 2, &to, 8); memcpy(near + 10, "\\x41\\xff\\xe3", 3);""",
}
BY_DLSYM = """
#include <dlfcn.h>
#include <string.h>
static void *(*found)(void *, const char *);
static void *driver;
int own_alloc(unsigned long long *block, unsigned long bytes)
{
    return ((int (*)(unsigned long long *, unsigned long))found(driver, "cuMemAlloc_v2"))(block, bytes);
}
__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name)
{
    found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    if (strcmp(name, "cuMemAlloc_v2"))
        return found(handle, name);
    driver = handle;
    return own_alloc;
}
"""
BY_PROC_ADDRESS = """
#include <dlfcn.h>
#include <string.h>
typedef int get(const char *, void **, int, unsigned long long, void *);
static void *(*found)(void *, const char *);
static get *further;
static int (*onward)(unsigned long long *, unsigned long);
static int own_alloc(unsigned long long *block, unsigned long bytes) { return onward(block, bytes); }
static int own_get(const char *name, void **function, int version, unsigned long long flags, void *status)
{
    int result = further(name, function, version, flags, status);
    if (!result && !strcmp(name, "cuMemAlloc")) {
        onward = *function;
        *function = own_alloc;
    }
    if (!result && !strcmp(name, "cuGetProcAddress"))
        *function = own_get;
    return result;
}
__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name)
{
    found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    void *function = found(handle, name);
    if (strcmp(name, "cuGetProcAddress_v2"))
        return function;
    further = function;
    return own_get;
}
"""
ASKS_TWICE = """
#include <dlfcn.h>
#include "gdbcuda_api.h"
typedef CUresult get(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
int main(void)
{
    get *first = (get *)dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuGetProcAddress_v2"), *second;
    CUresult (*alloc)(CUdeviceptr *, size_t);
    CUdriverProcAddressQueryResult status;
    CUdeviceptr block;
    first("cuGetProcAddress", (void **)&second, 12000, 0, &status);
    second("cuMemAlloc", (void **)&alloc, 12000, 0, &status);
    return alloc(&block, 4096) != CUDA_ERROR_NOT_INITIALIZED;
}
"""
MADE = re.compile(r"^Breakpoint (\d+), of 1: hook (\S+) ?(\S*), which answers for cuMemAlloc_v2: (.*)$", re.MULTILINE)


def stops(text: str) -> list[str]:
    """Of each stop: layer, library and function."""
    return re.findall(r"^Breakpoint \d+  (.*?)  ?cuMemAlloc_v2\(", text, re.MULTILINE)


def test_a_rewritten_slot(scenario: Scenario, compile_c) -> None:
    hook = compile_c("libslots.so", SLOTS, "-shared")
    text = scenario.run("test_alloc", "cuda-break cuMemAlloc if bytesize > 1G", "RUN", "bt 2", "cuda-call", "continue",
                        "cuda-route cuMemAlloc_v2", "delete 1", "continue", hook=hook)  # fmt: skip
    assert MADE.findall(text) == [("2", "libslots.so", "own_alloc", "the slot of test_alloc leads there")]
    assert stops(text) == ["hook libslots.so own_alloc for"] * 2
    assert "bytesize=1073741825 [1.00 GiB])\n              called by app allocate_buffer() at test_alloc.c:" in text
    assert "#0  [hook libslots.so] own_alloc (block=0x" in text
    assert "cuMemAlloc_v2 in hook libslots.so, called by app allocate_buffer()" in text
    assert re.search(r"cuMemAlloc_v2  app test_alloc +PLT, bound +hook libslots.so own_alloc +hooked", text)
    assert "exited with code 01" in text


def test_a_guard_is_there_too(scenario: Scenario, compile_c) -> None:
    """Calls that do not match cost no stop; a changed condition takes the guard away."""
    hook = compile_c("libslots.so", SLOTS, "-shared")
    text = scenario.run("test_alloc", "cuda-break cuMemAlloc if bytesize > 1G", "break main", "RUN", "cuda-guards",
                        "continue", "info breakpoints", "condition 1 $rsi > 0x50000000", "cuda-guards", "continue",
                        hook=hook)  # fmt: skip
    assert re.search(r"^3 +in the process +5 bytes of own_alloc ", text, re.MULTILINE)
    assert re.search(r"^3 +by gdb(?:server)? +its condition was changed", text, re.MULTILINE)
    assert [int(size) for size in re.findall(r"bytesize=(\d+) ", text)] == [(1 << 30) + 1, 3 << 30]
    assert re.search(r"own_alloc at \S+\n(\t.*\n)*\tbreakpoint already hit 1 time\n", text)


@pytest.mark.parametrize("jump", JUMPS)
def test_an_overwritten_entry(scenario: Scenario, compile_c, jump: str) -> None:
    """The jump stays as it was written, whatever gdb takes out there."""
    hook = compile_c("libentries.so", ENTRIES.replace("JUMP", JUMPS[jump]), "-shared")
    text = scenario.run("test_alloc", "cuda-break cuMemAlloc", "break cuMemFree_v2", "RUN", "continue", "continue",
                        "cuda-route cuMemAlloc_v2", "delete 1", "continue", "continue", hook=hook)  # fmt: skip
    assert MADE.findall(text) == [("3", "libentries.so", "own_alloc", "the entry in libcuda.so.1 jumps there")]
    assert stops(text) == ["hook libentries.so own_alloc for"] * 3
    assert re.search(r"cuMemAlloc_v2  app test_alloc +PLT, .*  hook libentries.so own_alloc  hooked", text)
    assert "64 MiB     allocated" in text and "SIGSEGV" not in text and "SIGTRAP" not in text


@pytest.mark.parametrize("flags", [(), ("-O2", "-s")], ids=["hidden", "stripped"])
def test_an_answer_of_dlsym(scenario: Scenario, compile_c, flags: tuple[str, ...]) -> None:
    """A release build too, in this run and in the next."""
    hook = compile_c("libasked.so", BY_DLSYM, "-shared", "-fvisibility=hidden", *flags)
    again = ["run"] if scenario.place == "local" else []
    text = scenario.run("dlsym_alloc", "cuda-break cuMemAlloc --in hook", "RUN", "cuda-route cuMemAlloc_v2", *again,
                        hook=hook)  # fmt: skip
    name = r"\+0x[0-9a-f]+" if flags else "own_alloc"
    made = [f"hook libasked.so {two}" for _, _, two, _ in MADE.findall(text)] if not flags else stops(text)
    assert made and len(stops(text)) == 1 + len(again)
    assert all(re.fullmatch(f"hook libasked.so {name} for", one) for one in stops(text))
    assert re.search(r"cuMemAlloc_v2  app dlsym_alloc  dlsym, request #1  hook libasked.so.*  hooked", text)


def test_the_log_names_the_function(scenario: Scenario, compile_c) -> None:
    hook = compile_c("libslots.so", SLOTS, "-shared")
    text = scenario.run("test_alloc", "cuda-log start cuMemAlloc", "RUN", "cuda-log show --tree", hook=hook)
    rows = re.findall(r"T1  (hook|driver)( +)cuMemAlloc_v2\(.*?\) = (\w+)", text)
    assert [(layer, len(layer + indent) > 9, status) for layer, indent, status in rows] == [
        ("hook", False, "CUDA_SUCCESS"), ("driver", True, "CUDA_SUCCESS"),
        ("hook", False, "CUDA_SUCCESS"), ("driver", True, "CUDA_SUCCESS"),
        ("hook", False, "CUDA_ERROR_OUT_OF_MEMORY"), ("driver", True, "CUDA_SUCCESS"),
    ]  # fmt: skip


def test_the_place_follows_the_breakpoint(local: Scenario, compile_c) -> None:
    """Switched off with it, given its condition and commands, deleted with it; a temporary one stops once."""
    hook = compile_c("libslots.so", SLOTS, "-shared")
    text = local.run("test_alloc", "cuda-break cuMemAlloc", "break main", "run", "disable 1", "info breakpoints",
                     "enable 1", "condition 1 $rsi > 0x50000000", "continue", "delete 1", "info breakpoints",
                     hook=hook)  # fmt: skip
    rows = re.findall(r"^(\d+) +breakpoint +keep (y|n) +\S+ +in (own_alloc|main)", text, re.MULTILINE)
    assert rows == [("2", "y", "main"), ("3", "n", "own_alloc")] * 2
    assert stops(text) == ["hook libslots.so own_alloc for"] and "bytesize=3221225472" in text
    text = local.run("test_alloc", "cuda-break cuMemAlloc --once", "run", "continue", "info breakpoints", hook=hook)
    assert stops(text) == ["hook libslots.so own_alloc for"]
    assert text.splitlines()[-1].startswith("No breakpoints")


def test_saved_without_the_place(local: Scenario, compile_c, tmp_path: Path) -> None:
    hook, file = compile_c("libslots.so", SLOTS, "-shared"), tmp_path / "breaks.gdb"
    local.run("test_alloc", "cuda-break cuMemAlloc", "run", f"cuda-save {file}", hook=hook)
    assert file.read_text() == "cuda-break cuMemAlloc_v2 --from app\n"


WRAPPED = """
#include <stdio.h>
int cuInit(unsigned), cuCtxCreate_v2(void **, unsigned, int), cuMemAlloc_v2(unsigned long long *, unsigned long);
int __real_cuMemAlloc_v2(unsigned long long *, unsigned long);
int __wrap_cuMemAlloc_v2(unsigned long long *block, unsigned long bytes) { return __real_cuMemAlloc_v2(block, bytes); }
int main(void)
{
    void *context;
    unsigned long long block;
    cuInit(0);
    cuCtxCreate_v2(&context, 0, 0);
    return cuMemAlloc_v2(&block, 4096);
}
"""


def test_a_program_that_was_linked_with_wrap(scenario: Scenario, compile_c) -> None:
    """The site is the caller's, not the wrapper's."""
    flags = ("-Wl,--wrap=cuMemAlloc_v2", f"-L{scenario.shim}/standin", "-lcuda")
    program = compile_c("wrapped", WRAPPED, *flags)
    text = scenario.run(program, "cuda-break cuMemAlloc", "cuda-log start cuMemAlloc", "RUN", "continue",
                        "cuda-log show", hook=None)  # fmt: skip
    assert "Breakpoint 2, of 1: app wrapped __wrap_cuMemAlloc_v2, which answers for cuMemAlloc_v2: " in text
    assert stops(text) == ["app wrapped __wrap_cuMemAlloc_v2 for"]
    assert "called by app main() at wrapped.c:" in text
    assert re.search(r"T1  app +cuMemAlloc_v2\(.* by main at wrapped.c:", text)
    text = scenario.run(program, "break main", "RUN", "cuda-route cuMemAlloc_v2", "cuda-route --unhooked")
    assert re.search(r"cuMemAlloc_v2  app wrapped +--wrap .* app wrapped __wrap_cuMemAlloc_v2 +other ", text)
    assert "Nothing goes past the hook." in text


def test_an_answer_that_was_seen_before(scenario: Scenario, compile_c) -> None:
    """The breakpoint comes after the request, and in the next run before it, with no log."""
    hook = compile_c("libasked.so", BY_DLSYM, "-shared", "-fvisibility=hidden", "-O2", "-s")
    is_local = scenario.place == "local"
    again = ["cuda-dlsym log off", "kill", "cuda-break cuMemAlloc --in hook", "run"] if is_local else []
    text = scenario.run("dlsym_alloc", "cuda-dlsym log on", "break dlsym_alloc.c:47", "RUN", "delete",
                        "cuda-break cuMemAlloc_v2 --in hook", "continue", "delete", *again, hook=hook)  # fmt: skip
    assert re.search(r"^Breakpoint 2: cuMemAlloc_v2 in hook \(by breakpoint 3\)", text, re.MULTILINE)
    found = re.findall(r"^Breakpoint \d+, of \d+: hook libasked.so\+0x\w+, which answers for cuMemAlloc_v2: ", text,
                       re.MULTILINE)  # fmt: skip
    assert len(found) == len(stops(text)) == 1 + bool(again)


@pytest.mark.parametrize("log", ["on", "off"])
def test_an_answer_of_cuGetProcAddress(scenario: Scenario, compile_c, log: str) -> None:
    """The hook's own one, found by asking for it: who asks that is the program, not the hook."""
    hook = compile_c("libgets.so", BY_PROC_ADDRESS, "-shared", "-fvisibility=hidden")
    for program, asker in ("runtime_alloc", "runtime"), (compile_c("asks", ASKS_TWICE, f"-I{scenario.shim}"), "app"):
        text = scenario.run(program, f"cuda-dlsym log {log}", "cuda-break cuMemAlloc", "RUN",
                            "cuda-dlsym log show cuMemAlloc", hook=hook)  # fmt: skip
        name = "libgets.so's cuGetProcAddress_v2 answers cuMemAlloc_v2 as cuMemAlloc with it"
        assert [how for *_, how in MADE.findall(text)] == [name]
        assert stops(text) == ["hook libgets.so own_alloc for"]
        assert re.search(rf"cuGetProcAddress_v2 of libgets.so +cuMemAlloc at \d+ +{asker} .* own_alloc +hooked", text)


INJECTED = """
#include <dlfcn.h>
#include <stdlib.h>
int cuInit(unsigned), cuCtxCreate_v2(void **, unsigned, int), cuMemAlloc_v2(unsigned long long *, unsigned long);
int main(int argc, char **argv)
{
    void *context;
    unsigned long long block;
    cuInit(0);
    if (argc > 2) setenv("CUDA_INJECTION64_PATH", argv[1], 1);
    ((int (*)(void))dlsym(dlopen(argv[argc - 1], RTLD_NOW), "InitializeInjection"))();
    cuCtxCreate_v2(&context, 0, 0);
    return cuMemAlloc_v2(&block, 4096);
}
"""
AUDIT = """
#include <link.h>
#include <string.h>
static int (*onward)(unsigned long long *, unsigned long);
static int own_alloc(unsigned long long *block, unsigned long bytes) { return onward(block, bytes); }
unsigned la_version(unsigned version) { return version; }
unsigned la_objopen(struct link_map *map, Lmid_t id, uintptr_t *cookie) { return LA_FLG_BINDTO | LA_FLG_BINDFROM; }
uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to, unsigned *flags,
                       const char *name)
{
    if (strcmp(name, "cuMemAlloc_v2"))
        return symbol->st_value;
    onward = (void *)symbol->st_value;
    return (uintptr_t)own_alloc;
}
"""


def test_an_injection_library(scenario: Scenario, compile_c) -> None:
    """The driver loads it at cuInit; what it has done is known when its beginning is over."""
    begin = "__attribute__((constructor)) static void begin(void)"
    library = compile_c("libinject.so", SLOTS.replace(begin, "void InitializeInjection(void)"), "-shared")
    program = compile_c("program", INJECTED, f"-L{scenario.shim}/standin", "-l:libcuda.so.1")
    text = scenario.run(program, "cuda-break cuMemAlloc", "cuda-log start cuMemAlloc", "RUN", "cuda-layers", "continue",
                        "cuda-log show", hook=None, arguments=(str(library), str(library)))  # fmt: skip
    assert MADE.findall(text) == [("2", "libinject.so", "own_alloc", "the slot of program leads there")]
    assert stops(text) == ["hook libinject.so own_alloc for"]
    assert "gdbcuda: libinject.so is a hook library: no API function by name, an injection library;" in text
    assert re.search(r"^hook +libinject.so +answers for cuMemAlloc_v2 +what it exports +dlopen$", text, re.MULTILINE)
    assert re.findall(r"T1  (\w+) +cuMemAlloc_v2", text) == ["hook", "driver"]


def test_a_library_that_could_be_injected_and_is_not(scenario: Scenario, compile_c) -> None:
    """As libtorch_cpu.so could: the variable that would tell the driver of it is not set, or names another one."""
    library = compile_c("libtorch_cpu.so", "int ready; int InitializeInjection(void) { return ready = 1; }", "-shared")
    program = compile_c("program", INJECTED, f"-L{scenario.shim}/standin", "-l:libcuda.so.1")
    for arguments in ((str(library),), ("libother.so", str(library))):
        text = scenario.run(program, "cuda-break cuMemAlloc", "RUN", "cuda-layers", hook=None, arguments=arguments)
        assert "Breakpoint 1  driver libcuda.so.1  cuMemAlloc_v2(" in text
        assert "is a hook library" not in text and not re.search(r"^hook ", text, re.MULTILINE)


@pytest.mark.parametrize("flags", [("-Wl,-z,lazy",), ("-Wl,-z,now",)], ids=["lazy", "now"])
def test_an_audit_library(local: Scenario, compile_c, flags: tuple[str, ...]) -> None:
    """It has a namespace of its own; where a name is bound at its first call, it is known at that one."""
    library = compile_c("libaudit.so", AUDIT, "-shared")
    source = re.sub(r".*InitializeInjection.*", "", INJECTED)
    program = compile_c("program", source, f"-L{local.shim}/standin", "-l:libcuda.so.1", *flags)
    text = local.run(program, f"set exec-wrapper env LD_AUDIT={library}", "cuda-break cuMemAlloc", "run", "cuda-layers",
                     "cuda-route cuMemAlloc_v2", hook=None)  # fmt: skip
    is_old = int(re.search(r"\b(\d+)\.\d", version())[1]) < 13
    if is_old and "libaudit.so is a hook library" not in text:
        pytest.skip("this gdb does not know what is in another namespace (gdb 13 does)")
    assert stops(text) == ["hook libaudit.so own_alloc for"]
    assert re.search(r"^hook +libaudit.so +answers for cuMemAlloc_v2 +what it exports +namespace$", text, re.MULTILINE)
    assert re.search(r"cuMemAlloc_v2 +app program +PLT, bound +hook libaudit.so own_alloc +hooked", text)
    assert "1 function reachable: 1 hooked, 0 past the hook" in text


def test_a_program_that_runs_already_has_nothing_at_its_first_instruction(scenario: Scenario, compile_c) -> None:
    loads = '#include <dlfcn.h>\nint main(void) { return !dlopen("libm.so.6", RTLD_NOW); }'
    program = compile_c("program", loads, "-O0")
    first = "python at = __import__('gdbcuda.live.process', fromlist=['x']).auxiliary()['AT_ENTRY']"
    look = "python print('there', f'{at:016x}' in gdb.execute('maint info breakpoints', to_string=True))"
    words = ("break main", "RUN", "cuda-break cuMemAlloc", "tbreak _exit", first, "continue", look)
    text = scenario.run(program, *words, hook=None)
    assert "there False" in text, text


LATER = """
#include <dlfcn.h>
int cuInit(unsigned), cuCtxCreate_v2(void **, unsigned, int), cuMemAlloc_v2(unsigned long long *, unsigned long);
void patched(void) {}
int main(int count, char **words)
{
    void *context;
    unsigned long long block;
    cuInit(0);
    cuCtxCreate_v2(&context, 0, 0);
    cuMemAlloc_v2(&block, 4096);
    dlopen(words[1], RTLD_NOW);
    patched();
    for (int k = 1; k < 4; k++)
        cuMemAlloc_v2(&block, k * 4096);
    return count != 2;
}
"""
# As libucm of UCX has it: a function from a macro is one line, at whose end the next function begins.
ONE_LINE = (
    "static int own_alloc(unsigned long long *block, unsigned long bytes) { int s = onward(block, bytes); "
    "return bytes > 2ul << 30 ? 2 : s; } int behind_it(int n) { return onward ? n : 2; }\nstatic void change("
)


def test_a_library_that_is_loaded_later_and_exports_nothing(scenario: Scenario, compile_c) -> None:
    """It becomes the hook layer when somebody asks."""
    source = re.sub(r"static int own_alloc.*?\n}\nstatic void change\(", lambda _: ONE_LINE, SLOTS, flags=re.DOTALL)
    library = compile_c("libpatches.so", source, "-shared", "-O2")
    program = compile_c("later", LATER, f"-L{scenario.shim}/standin", "-lcuda")
    text = scenario.run(program, "break patched", "RUN", "delete", "cuda-layers", "cuda-route cuMemAlloc_v2",
                        "cuda-break cuMemAlloc if bytesize == 8192", "cuda-log start cuMemAlloc", "continue",
                        "continue", "cuda-log show", hook=None, arguments=(str(library),))  # fmt: skip
    assert text.count("libpatches.so is a hook library: the slot of later leads there for cuMemAlloc_v2; see") == 1
    assert re.search(r"^hook +libpatches.so +what leads there +dlopen", text, re.MULTILINE)
    assert re.search(r"cuMemAlloc_v2  app later +PLT, bound +hook libpatches.so own_alloc +hooked", text)
    assert stops(text) == ["hook libpatches.so own_alloc for"] and "bytesize=8192 [8.00 KiB])" in text
    assert "called by app main() at later.c:" in text
    assert re.findall(r"T1  (hook|driver) +cuMemAlloc_v2\(", text) == ["hook", "driver"] * 3
    assert "exited normally" in text
