"""cuda-route: which implementation answers, from memory alone, before any call is made."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from scenario import Scenario

CPLUSPLUS_HOOK = """\
struct Entry { static const char *kind; const char *name; void *real; };
const char *Entry::kind = "driver";
Entry table[] = {{"cuMemAlloc_v2", 0}};
extern "C" int cuMemAlloc_v2(unsigned long *pointer, unsigned long size) { return table[0].real != 0; }
"""
HOOKED = "hook libgdbcuda-hook.so cuMemAlloc_v2 +hooked"


def routes(text: str) -> list[dict]:
    """The routes of the last JSON object that was printed."""
    return json.loads(next(line for line in reversed(text.splitlines()) if line.startswith("{")))["routes"]


def verdicts(text: str) -> dict[str, str]:
    return {route["function"]: route["verdict"] for route in routes(text)}


@pytest.mark.smoke("local")
def test_before_any_call_everything_is_hooked(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "break main", "RUN", "cuda-route")
    assert re.search(rf"cuMemAlloc_v2 +app test_alloc +PLT, not called yet +{HOOKED}", text)
    assert re.search(r"^\d+ functions reachable: (\d+) hooked, 0 past the hook$", text, re.MULTILINE)


def test_after_the_calls_the_slots_are_bound(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "cuda-break cuMemFree", "RUN", "cuda-route cuMemAlloc")
    assert re.search(rf"cuMemAlloc_v2 +app test_alloc +PLT, bound +{HOOKED}", text)
    entry = r"pointer, in hook_entries\[\d+\].real"
    assert re.search(rf"hook libgdbcuda-hook.so +{entry} +driver libcuda.so.1 cu\w+ +real", text)


def test_what_the_hook_has_not_looked_up_yet(scenario: Scenario) -> None:
    """Its table holds NULL: known from the debug info."""
    text = scenario.run("test_alloc", "break main", "RUN", "cuda-route cuMemAlloc_v2")
    row = r"hook libgdbcuda-hook.so +pointer, in hook_entries\[\d+\].real +nothing +real +NULL: not looked up yet"
    assert re.search(row, text)


@pytest.mark.skipif(not shutil.which("g++"), reason="no C++ compiler on this machine (apt-get install g++)")
def test_a_table_of_real_functions_may_have_static_members(local: Scenario, tmp_path: Path) -> None:
    """They are fields of the type, for gdb, without a place in the entry."""
    source, hook = tmp_path / "hook.cc", tmp_path / "libhook.so"
    source.write_text(CPLUSPLUS_HOOK)
    subprocess.run(["g++", "-g", "-O0", "-shared", "-fPIC", "-o", hook, source], check=True, timeout=60)
    text = local.run("test_alloc", "break main", "RUN", "cuda-route cuMemAlloc_v2", hook=hook)
    assert re.search(r"hook libhook.so +pointer, in table\[0\].real +nothing +real +NULL: not looked up yet", text)


def test_unhooked_lists_allocations_first(scenario: Scenario) -> None:
    text = scenario.run("stream_alloc", "break main", "RUN", "cuda-route --unhooked",
                        hook=scenario.sample("wrong/partial_suffix.so"))  # fmt: skip
    rows = [line for line in text.splitlines() if re.match(r"cu\w+ +app", line)]
    assert rows[0].startswith("cuMemAllocAsync_ptsz")
    assert "not in partial_suffix.so, only cuMemAllocAsync" in rows[0]
    assert not any(row.startswith("cuMemAllocAsync ") for row in rows)


@pytest.mark.parametrize(("hook", "why"), [
    ("wrong/hidden.so", "hidden in hidden.so: the loader finds exported functions only"),
    ("wrong/only_dlsym.so", "only_dlsym.so exports no API function, only dlsym"),
])
def test_a_hook_that_is_never_reached_says_why(scenario: Scenario, hook: str, why: str) -> None:
    text = scenario.run("test_alloc", "break main", "RUN", "cuda-route", hook=scenario.sample(hook))
    assert re.search(rf"cuMemAlloc_v2 +app test_alloc +PLT, not called yet +driver .* driver +{why}", text)
    assert " 0 hooked, " in text


def test_a_hook_with_another_symbol_version_says_so(local: Scenario, compile_c, tmp_path: Path) -> None:
    (tmp_path / "versions.map").write_text("HOOK_1.0 { global: cudaMalloc; local: *; };")
    hook = compile_c("libversioned.so", "int cudaMalloc(void **p, unsigned long n) { return 0; }", "-shared",
                     f"-Wl,--version-script={tmp_path}/versions.map")  # fmt: skip
    text = replace(local, checks=True).run("runtime_alloc", "break main", "RUN", "cuda-route cudaMalloc", hook=hook)
    assert "check: will not be reached by this program (not-reached)" in text
    assert re.search(r"libcudart.so.13 cudaMalloc +runtime +libversioned.so has it as cudaMalloc@@HOOK_1.0", text)


def test_a_glob_shows_what_is_referred_to(local: Scenario) -> None:
    """The rest of the API's 200 functions of that name only on request."""
    text = local.run("test_alloc", "break main", "RUN", "cuda-route 'cuMem*'", "cuda-route 'cuTex*'",
                     "cuda-route 'cuTex*' --all")  # fmt: skip
    first, _, rest = text.partition("functions reachable")
    assert "cuMemAlloc_v2" in first and " by name " not in first
    assert "Nothing refers to it by name yet; what a new reference would find: --all" in rest
    assert re.search(r"cuTexObjectCreate +app test_alloc +by name +hook", rest)


def test_deepbind_is_named(scenario: Scenario) -> None:
    text = scenario.run("deepbind", "cuda-break cuMemFree --in driver --from any", "RUN", "cuda-route cuMemAlloc",
                        hook=scenario.sample("minimal_hook.so"),
                        environment={"LD_LIBRARY_PATH": f"{scenario.shim}/standin:{scenario.shim}/sample"})  # fmt: skip
    assert re.search(r"cuMemAlloc_v2 +app deepbind_plugin.so +PLT, bound +driver .*RTLD_DEEPBIND", text)
    assert re.search(r"cuMemAlloc_v2 +app plain_plugin.so +PLT, bound +hook minimal_hook.so cu\w+ +hooked", text)
    assert "1 function reachable: 1 hooked, 1 past the hook (1 depends on who asks)" in text


@pytest.mark.parametrize(("first", "second"), [("hook_first.so", "hook_second.so"),
                                               ("hook_second.so", "hook_first.so")])  # fmt: skip
def test_stacked_hooks_show_the_chain(local: Scenario, first: str, second: str) -> None:
    text = local.run("dlsym_alloc", f"cuda-load {local.sample(second)} --last",
                     "cuda-break cuMemFree --in driver --from any", "RUN", "cuda-route cuMemAlloc_v2",
                     hook=local.sample(first))  # fmt: skip
    assert re.search(rf"hook {first} +pointer, in real_alloc +hook {second} cuMemAlloc_v2 +real +the next hook", text)
    assert re.search(rf"hook {second} +pointer, in real_alloc +driver libcuda.so.1 cuMemAlloc_v2 +real", text)


def test_a_hook_behind_the_driver(local: Scenario) -> None:
    """LD_PRELOAD=libcuda.so.1:hook: everything is found in the first."""
    text = local.run("test_alloc", f"set environment LD_PRELOAD={local.shim}/standin/libcuda.so.1",
                     f"cuda-load {local.hook} --last", "break main", "RUN", "cuda-route cuInit", hook=None)  # fmt: skip
    assert "libgdbcuda-hook.so is behind libcuda.so.1 in the search order" in text


@pytest.mark.parametrize(("flags", "way"), [
    (("-fno-plt",), "GOT, bound"), (("-Wl,-z,now",), "PLT, bound"), (("-Wl,-z,lazy",), "PLT, not called yet"),
    (("-no-pie", "-fno-pic", "-Wl,-z,lazy"), "PLT, not called yet"),
])
def test_every_kind_of_reference(scenario: Scenario, compile_c, flags: tuple[str, ...], way: str) -> None:
    program = compile_c("program", "int cuInit(unsigned); int main(void) { return cuInit(0); }",
                        *flags, f"-L{scenario.shim}/standin", "-lcuda")  # fmt: skip
    text = scenario.run(program, "break main", "RUN", "cuda-route")
    assert re.search(rf"cuInit +app program +{way} +hook libgdbcuda-hook.so cuInit +hooked", text)


def test_a_function_pointer_in_a_table(scenario: Scenario, compile_c) -> None:
    source = "int cuInit(unsigned); int (*table[])(unsigned) = {cuInit}; int main(void) { return table[0](0); }"
    program = compile_c("program", source, f"-L{scenario.shim}/standin", "-lcuda")
    text = scenario.run(program, "break main", "RUN", "cuda-route --app")
    assert re.search(r"cuInit +app program +data, bound +hook libgdbcuda-hook.so cuInit +hooked", text)


def test_a_program_whose_plt_is_the_functions_address(local: Scenario, compile_c) -> None:
    """Not position-independent and taking the address: other objects' slots lead to the program's PLT, and on."""
    source = "int cuInit(unsigned); int plugin(void) { return cuInit(0); }"
    plugin = compile_c("libplugin.so", source, "-shared", "-fno-plt")
    source = "int cuInit(unsigned), plugin(void); int (*volatile p)(unsigned);"
    program = compile_c("program", source + "int main(void) { p = cuInit; return plugin(); }", "-no-pie", "-fno-pic",
                        "-Wl,-z,lazy", str(plugin), f"-L{local.shim}/standin", "-lcuda")  # fmt: skip
    text = local.run(program, "break plugin", "RUN", "cuda-route cuInit")
    assert re.search(r"cuInit +app libplugin.so +GOT, bound +hook libgdbcuda-hook.so cuInit +hooked", text)


def test_symbolic_is_named(local: Scenario, compile_c) -> None:
    source = "int cuInit(unsigned f) { return (int)f; } int (*volatile p)(unsigned) = cuInit;"
    library = compile_c("libown.so", source + "int own(void) { return p(0); }", "-shared", "-Wl,-Bsymbolic")
    program = compile_c("program", "int own(void); int main(void) { return own(); }", str(library))
    text = local.run(program, "break main", "RUN", "cuda-route cuInit --json")
    found = [r for r in routes(text) if r["asker"].endswith("libown.so")]
    assert all(r["verdict"] == "other" or "-Bsymbolic" in r["why"] for r in found)


def test_a_runtime_inside_the_program(scenario: Scenario, compile_c) -> None:
    source = "int __cudaRegisterFatBinary(void) { return 0; } int cudaMalloc(void **p, long n) { return !p + (int)n; }"
    source += "int cudaFree(void *p) { return !p; } int cudaMemset(void *p) { return !p; } void *set = cudaMemset;"
    source += "int cudaDeviceReset(void) { return 0; } int __cudaInitModule(void **m) { return cudaDeviceReset(); }"
    program = compile_c("program", source + "int main(void) { void *p; return cudaMalloc(&p, 0); }")
    text, every = scenario.run(program, "break main", "RUN", "cuda-route", "echo @\\n", "cuda-route --all").split("@\n")
    assert re.search(r"cudaMalloc +app program +static +runtime program cudaMalloc +runtime +linked into the", text)
    assert re.search(r"^cudaMemset +app program +static ", text, re.MULTILINE), "its address is stored"
    assert not re.search(r"^(cudaFree|cudaDeviceReset) ", text, re.MULTILINE) and "2 functions reachable" in text
    assert re.search(r"^cudaFree +app program +by name +runtime program cudaFree", every, re.MULTILINE)


def test_without_a_hook(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "break main", "RUN", "cuda-route", "cuda-route --unhooked", hook=None)
    assert re.search(r"functions reachable; no hook library is loaded", text)
    assert "cuda-route: no hook library is loaded: everything goes past it (cuda-load LIB)" in text


def test_json(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "break main", "RUN", "cuda-route cuMemAlloc_v2 --json")
    route = routes(text)[0]
    assert route["way"] == "PLT" and route["state"] == "not called yet" and route["verdict"] == "hooked"
    assert route["reached"]["name"] == "cuMemAlloc_v2" and route["reached"]["layer"] == "hook"


def test_the_runtimes_calls_are_above_a_driver_hook(local: Scenario) -> None:
    text = local.run("runtime_alloc", "break main", "RUN", "cuda-route", "cuda-route --unhooked",
                     hook=local.sample("minimal_hook.so"))  # fmt: skip
    assert re.search(r"cudaMalloc +app runtime_alloc .*runtime +minimal_hook.so hooks below the runtime", text)
    assert re.search(r"5 functions reachable: 0 hooked, 0 past the hook, 5 above the hook", text)
    assert "Nothing goes past the hook." in text


@pytest.mark.parametrize(("command", "says"), [
    ("cuda-route cuMemAloc", "cuda-route: no function 'cuMemAloc' in the API of CUDA 13.0 and NVML 13.5, the program "
                             "or the hook library; did you mean cuMemAlloc"),
    ("cuda-route 'zz*'", "cuda-route: no function 'zz*'"),
    ("cuda-route a b", "cuda-route: there is no place for 'b' (see: help cuda-route)"),
])
def test_bad_input(local: Scenario, command: str, says: str) -> None:
    assert says in local.run("test_alloc", "break main", "RUN", command)


def test_where_there_is_nothing_to_see(local: Scenario) -> None:
    text = local.run("test_alloc", "cuda-route", "run", "cuda-route")
    assert text.count("cuda-route: no process: run the program first, or open a core file") == 2
    text = local.run("static_program", "break main", "run", "cuda-route")
    assert "cuda-route: the program is static: there is no loader in it, and no library comes" in text
    text = local.run("test_alloc", "starti", "cuda-route")
    assert "cuda-route: the loader has not mapped any library yet" in text
    text = local.run("fork_exec", "break main", "run", "cuda-route cuStreamCreateWithPriority", hook=None)
    assert re.search(r"cuStreamCreateWithPriority +app fork_exec +by name", text)


def test_a_core_file(local: Scenario, tmp_path: Path) -> None:
    core = tmp_path / "core"  # at the second allocation: behind the last it has 4 GB
    local.run("test_alloc", "cuda-break cuMemAlloc", "run", "continue", f"generate-core-file {core}")
    text = local.run("test_alloc", f"core-file {core}", "cuda-route cuMemAlloc", "cuda-dlsym", "cuda-dlsym log on")
    assert re.search(rf"cuMemAlloc_v2 +app test_alloc +PLT, bound +{HOOKED}", text)
    assert re.search(r"dlsym +system +lib(c|dl).so.\d +GLIBC_2", text)
    assert "a core file makes no requests any more" in text


@pytest.mark.skipif(not shutil.which("gdbserver"), reason="gdbserver is not installed")
@pytest.mark.parametrize(("command", "most"), [("", 40), (" --all", 70), (" cuMemAlloc", 60)])
def test_a_few_dozen_packets(shim: Path, command: str, most: int) -> None:
    remote = Scenario(shim, "gdbserver")
    text = remote.run("test_alloc", "break main", "RUN", "set debug remote 1", f"cuda-route{command}")
    assert len(re.findall(r"Sending packet: \$", text)) <= most


def test_it_is_found_again_after_a_rerun(local: Scenario) -> None:
    text = local.run("test_alloc", "break main", "run", "cuda-route cuInit", "run", "cuda-route cuInit")
    assert len(re.findall(r"cuInit +app test_alloc +PLT, not called yet +hook", text)) == 2


@pytest.mark.skipif(not shutil.which("gdbserver"), reason="gdbserver is not installed")
def test_a_remote_program_that_runs(shim: Path, compile_c) -> None:
    """gdbserver answers nothing meanwhile: one line each, no traceback."""
    source = "#include <unistd.h>\nint cuInit(unsigned); int main(void) { cuInit(0); sleep(10); return 0; }"
    program = compile_c("program", source, f"-L{shim}/standin", "-lcuda")
    commands = ("cuda-route", "cuda-dlsym", "cuda-dlsym log on", "cuda-dlsym answer cuInit with NULL",
                "cuda-dlsym break cuInit", "cuda-check", "set cuda-recursion-limit 4")  # fmt: skip
    text = Scenario(shim, "gdbserver").run(program, "break main", "RUN", "continue &", *commands)
    assert text.count("the program is running: pause it first") == len(commands)


LOOKS_UP = """
#define _GNU_SOURCE
#include <dlfcn.h>
static int (*real_cuInit)(unsigned), (*real_cuDeviceGet)(int *, int), (*real_cuMemFree_v2)(void *);
int cuInit(unsigned f) { return real_cuInit(f); }
int cuDeviceGet(int *d, int n) { return real_cuDeviceGet(d, n); }
int cuMemFree_v2(void *p) { return real_cuMemFree_v2(p); }
static struct { int count; int (*cuCtxSynchronize)(void); int (*cuDriverGetVersion)(int *); } driver;
int (*cuCtxGetDevice_real)(int *);
int cuCtxSynchronize(void) { return driver.cuCtxSynchronize(); }
int cuMemoryBook(void) { return 0; }
int (*kept)(unsigned) = cuInit;
static struct { const char *name; void *real; } reals[] = {{"cuInit", 0}, {"cuDeviceGet", 0}};
__attribute__((constructor)) static void start(void) {
    real_cuInit = (int (*)(unsigned))dlsym(RTLD_NEXT, "cuInit");
    reals[1].real = dlsym(dlopen("libcuda.so.1", RTLD_NOW), reals[1].name);
    driver.cuDriverGetVersion = (int (*)(int *))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuDriverGetVersion");
}
"""


def test_null_among_the_hooks_own_pointers_and_why(scenario: Scenario, compile_c) -> None:
    """One was looked up in vain, one not at all; what is there is named by its entry as well."""
    hook = compile_c("liblooks.so", LOOKS_UP, "-shared")
    program = compile_c("program", "int main(void) { return 0; }")
    text = scenario.run(program, "cuda-dlsym log on", "break main", "RUN", "cuda-route --null",
                        "cuda-route 'cuD*'", "cuda-route 'cuMemory*' --all", "cuda-route cuInit",
                        hook=hook)  # fmt: skip
    null, _, rest = text.partition("pointers of the hook to real functions are NULL.")
    failed = r"request #\d+ for it failed: \S+ has it.*; dlerror: \S+liblooks.so: undefined symbol: cuInit"
    assert re.search(rf"cuInit +hook liblooks.so +pointer, in real_cuInit +nothing +real +NULL: {failed}", null)
    assert re.search(r"in reals\[0\].real +nothing +real +NULL: request #", null)
    assert re.search(r"in real_cuDeviceGet .* NULL: request #\d+ for it was answered, and that is not kept", null)
    assert re.search(r"in real_cuMemFree_v2 .* NULL: not looked up, as far as the log of requests goes", null)
    assert re.search(r"cuDeviceGet +hook liblooks.so +pointer, in reals\[1\].real +driver \S+ cuDeviceGet", rest)
    for name, place in (("cuCtxSynchronize", "driver.cuCtxSynchronize"), ("cuCtxGetDevice", "cuCtxGetDevice_real")):
        assert re.search(rf"{name} +hook liblooks.so +pointer, in {place} +nothing +real +NULL: not looked up", null)
    assert re.search(r"pointer, in driver.cuDriverGetVersion +driver \S+ cuDriverGetVersion", rest)
    assert re.search(r"cuMemoryBook +app program +by name +hook liblooks.so cuMemoryBook", rest)
    assert re.search(r"data, bound +hook liblooks.so cuInit +hooked +the hook's own function", rest)
    assert "the hook calls its own function" not in rest


STORES = """
#include <dlfcn.h>
int cuInit(unsigned), cuMemAlloc_v2(unsigned long long *, unsigned long);
void *first, *second;
static void stored(void) { __asm__(""); }
int main(void)
{
    unsigned long long block;
    cuInit(0);
    second = first = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemAlloc_v2");
    stored();
    return cuMemAlloc_v2(&block, 4096) == 0;
}
"""


def test_places_of_one_function_that_lead_to_the_same_are_one_row(scenario: Scenario, compile_c) -> None:
    program = compile_c("stores", STORES, f"-L{scenario.shim}/standin", "-l:libcuda.so.1", "-Wl,-z,now")
    commands = ("cuda-route", "cuda-route --all", "cuda-route cuMemAlloc_v2", "cuda-route 'cuMem*' --json")
    merged, each, named, json_text = [
        [line for line in text.splitlines() if "cuMemAlloc_v2 " in line or '"cuMemAlloc_v2"' in line]
        for text in scenario.run(program, "break stored", "RUN", *[part for one in commands for part in
                                 ("echo @\\n", one)], hook=None).split("@\n")[1:]
    ]  # fmt: skip
    assert len(merged) == 1 and re.search(r"app stores +PLT, 2 pointers +driver libcuda.so.1 cuMemAlloc_v2", merged[0])
    assert len([line for line in each if "app stores" in line]) == len(named) == 3
    assert json_text[0].count('"function": "cuMemAlloc_v2"') == 3


def test_what_nothing_refers_to_by_name(scenario: Scenario) -> None:
    """A library that came with dlopen has it all the same."""
    text = scenario.run("dlsym_alloc", "cuda-break cuMemAlloc --in driver", "RUN", "cuda-route cuMemFree", "cuda-route",
                        "cuda-route --app cuMemAlloc", "cuda-route cudaMalloc", hook=None)  # fmt: skip
    asked = "What is asked of dlsym shows with  cuda-dlsym log on, before the run.\n"
    assert f"Nothing in this process refers to cuMemFree by name; libcuda.so.1 has it.\n{asked}" in text
    assert f"Nothing in this process refers to the CUDA and NVML API by name.\n{asked}" in text
    assert f"Nothing in the program refers to cuMemAlloc by name; libcuda.so.1 has it.\n{asked}" in text
    assert "Nothing in this process refers to cudaMalloc, and no loaded object defines it.\n" in text
