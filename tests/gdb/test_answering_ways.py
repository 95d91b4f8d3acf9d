"""Where code comes by other ways than LD_PRELOAD (--wrap, injection, audit, dlopen), what answers is known too."""

from __future__ import annotations

import re

import pytest
from answering_hooks import MADE, SLOTS, stops
from scenario import Scenario, version

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
    text = " ".join(scenario.run(program, "cuda-check", "break main", "RUN", "cuda-check", hook=None).split())
    assert text.count("linked with --wrap for cuMemAlloc_v2") == 2 == text.count("wrapped: can be hooked")
    assert "the hook is in place" not in text


ENGINE = """
int __real_cuMemAlloc_v2(unsigned long long *, unsigned long), cuMemAlloc_v2(unsigned long long *, unsigned long);
int __real_cuMemFree_v2(unsigned long long), cuMemFree_v2(unsigned long long);
__attribute__((visibility("hidden"))) int __wrap_cuMemAlloc_v2(unsigned long long *block, unsigned long bytes)
{
    return __real_cuMemAlloc_v2(block, bytes);
}
int __wrap_cuMemFree_v2(unsigned long long block) { return __real_cuMemFree_v2(block); }
int take(unsigned long long *block) { return cuMemAlloc_v2(block, 64); }
int give(unsigned long long block) { return cuMemFree_v2(block); }
"""


def test_a_library_that_was_linked_with_wrap(scenario: Scenario, compile_c) -> None:
    """Its own calls go to its wrapper, exported or not; those of the program still stop where they arrive."""
    linked, flags = (f"-L{scenario.shim}/standin", "-lcuda"), ("-Wl,--wrap=cuMemAlloc_v2", "-Wl,--wrap=cuMemFree_v2")
    engine = compile_c("libengine.so", ENGINE, "-shared", *flags, *linked)
    calls = re.sub(r"int __(real|wrap).*", "int take(unsigned long long *);", WRAPPED)
    program = compile_c("program", calls.replace("return", "take(&block); return"), str(engine), *linked)
    text = scenario.run(program, "cuda-break cuMemAlloc", "cuda-log start cuMemAlloc", "RUN", "cuda-route 'cuMem*_v2'",
                        "continue", "continue", "continue", "cuda-log show", hook=None)  # fmt: skip
    wrapper = "app libengine.so __wrap_cuMemAlloc_v2"
    assert f"Breakpoint 2, of 1: {wrapper}, which answers for cuMemAlloc_v2: libengine.so is linked with" in text
    assert stops(text) == [f"{wrapper} for", "driver libcuda.so.1", "driver libcuda.so.1"]
    wrapped = re.findall(r"(\w+) +app libengine.so +--wrap +app libengine.so (\w+) +other +libengine.so's own", text)
    assert wrapped == [(name, f"__wrap_{name}") for name in ("cuMemAlloc_v2", "cuMemFree_v2")]
    calls = re.findall(r"T1  (\w+) +cuMemAlloc_v2.* by (\w+) at", text)
    assert calls == [("app", "take"), ("driver", "__wrap_cuMemAlloc_v2"), ("driver", "main")]


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
DOWN = ("hook", "driver")
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
    text = scenario.run(program, "cuda-break cuMemAlloc", "cuda-log start cuMemAlloc", "RUN", "cuda-layers",
                        "cuda-check", "continue", "cuda-log show", hook=None,
                        arguments=(str(library), str(library)))  # fmt: skip
    assert MADE.findall(text) == [("2", "libinject.so", "own_alloc", "the slot of program leads there")]
    assert stops(text) == ["hook libinject.so own_alloc for"]
    assert "gdbcuda: libinject.so is a hook library: no API function by name, an injection library;" in text
    assert re.search(r"^hook +libinject.so +answers for cuMemAlloc_v2 +what it exports +dlopen$", text, re.MULTILINE)
    assert re.findall(r"T1  (\w+) +cuMemAlloc_v2", text) == ["hook", "driver"]
    assert "these calls of the program lead there: cuMemAlloc_v2" in " ".join(text.split())
    assert "hook-dlopened" not in text and "which is stripped" not in text


def test_a_library_that_could_be_injected_and_is_not(scenario: Scenario, compile_c) -> None:
    """As libtorch_cpu.so could: the variable that would tell the driver of it is not set, or names another one."""
    library = compile_c("libtorch_cpu.so", "int ready; int InitializeInjection(void) { return ready = 1; }", "-shared")
    program = compile_c("program", INJECTED, f"-L{scenario.shim}/standin", "-l:libcuda.so.1")
    for arguments in ((str(library),), ("libother.so", str(library))):
        text = scenario.run(program, "cuda-break cuMemAlloc", "RUN", "cuda-layers", hook=None, arguments=arguments)
        assert "Breakpoint 1  driver libcuda.so.1  cuMemAlloc_v2(" in text
        assert "is a hook library" not in text and not re.search(r"^hook ", text, re.MULTILINE)


def test_who_calls_an_injection_library_is_told_by_cuda_load(scenario: Scenario, compile_c) -> None:
    """Preloading alone makes nobody call it; and that it came with dlopen says nothing against it."""
    library = compile_c("libinj.so", "int InitializeInjection(void) { return 1; }", "-shared")
    says = f"the driver calls it at cuInit where CUDA_INJECTION64_PATH names it, preloaded or not: cuda-env " \
           f"CUDA_INJECTION64_PATH={library}\n"  # fmt: skip
    setting = f"cuda-env CUDA_INJECTION64_PATH={library}"
    text = scenario.run("test_alloc", f"cuda-load {library}", setting, f"cuda-load {library}", hook=None)
    assert text.count(says) == 1, text
    program = compile_c("program", INJECTED, f"-L{scenario.shim}/standin", "-l:libcuda.so.1")
    text = scenario.run(program, "cuda-break cuMemAlloc", "RUN", "cuda-check --quiet", hook=None,
                        arguments=(str(library), str(library)))  # fmt: skip
    assert "libinj.so: unknown whether it is reached by this program (reached-otherwise)" in text, text


def skip_where_it_is_unseen(text: str) -> None:
    is_old = int(re.search(r"\b(\d+)\.\d", version())[1]) < 13
    if is_old and "libaudit.so is a hook library" not in text:
        pytest.skip("this gdb does not know what is in another namespace (gdb 13 does)")


@pytest.mark.parametrize("flags", [("-Wl,-z,lazy",), ("-Wl,-z,now",)], ids=["lazy", "now"])
def test_an_audit_library(scenario: Scenario, compile_c, flags: tuple[str, ...]) -> None:
    """It has a namespace of its own; where a name is bound at its first call, it is known at that one."""
    library = compile_c("libaudit.so", AUDIT, "-shared")
    scenario.variables = (f"LD_AUDIT={library}",)
    source = re.sub(r".*InitializeInjection.*", "", INJECTED)
    program = compile_c("program", source, f"-L{scenario.shim}/standin", "-l:libcuda.so.1", *flags)
    text = scenario.run(program, "cuda-break cuMemAlloc", "cuda-log start cuMemAlloc", "RUN", "cuda-layers",
                        "cuda-route cuMemAlloc_v2", "continue", "cuda-log show", "cuda-coverage",
                        hook=None)  # fmt: skip
    skip_where_it_is_unseen(text)
    assert "libaudit.so: 1 of 1 function reached, in 1 call" in text, text
    assert stops(text) == ["hook libaudit.so own_alloc for"]
    assert re.search(r"^hook +libaudit.so +answers for cuMemAlloc_v2 +what it exports +namespace$", text, re.MULTILINE)
    assert re.search(r"cuMemAlloc_v2 +app program +PLT, bound +hook libaudit.so own_alloc +hooked", text)
    assert "1 function reachable: 1 hooked, 0 past the hook" in text
    assert re.findall(r"T1  (\w+) +cuMemAlloc_v2\(.*?\) = (\w+)", text) == [(one, "CUDA_SUCCESS") for one in DOWN]


def test_an_audit_library_without_names_is_told_by_its_offset(scenario: Scenario, compile_c) -> None:
    library = compile_c("libaudit.so", AUDIT, "-shared", "-s", "-Wl,-z,now")
    scenario.variables = (f"LD_AUDIT={library}",)
    source = re.sub(r".*InitializeInjection.*", "", INJECTED)
    program = compile_c("program", source, f"-L{scenario.shim}/standin", "-l:libcuda.so.1", "-Wl,-z,lazy")
    text = scenario.run(program, "cuda-break cuMemAlloc", "RUN", "cuda-route --unhooked", hook=None)
    skip_where_it_is_unseen(text)
    offset = re.findall(r"hook libaudit\.so ?\+(0x\w+)", text)
    assert len(offset) == 2 and len(set(offset)) == 1 and int(offset[0], 16) > 0x100, text
    assert re.search(r"cuInit .*libaudit\.so has not bound it elsewhere", text)
    assert "hands out memory" not in text.replace("none hands out memory", "")


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
    assert re.search(r"^hook +libpatches.so +answers for cuMemAlloc_v2 +what leads there +dlopen", text, re.MULTILINE)
    assert re.search(r"cuMemAlloc_v2  app later +PLT, bound +hook libpatches.so own_alloc +hooked", text)
    assert stops(text) == ["hook libpatches.so own_alloc for"] and "bytesize=8192 [8.00 KiB])" in text
    assert "called by app main() at later.c:" in text
    assert re.findall(r"T1  (hook|driver) +cuMemAlloc_v2\(", text) == ["hook", "driver"] * 3
    assert "exited normally" in text
