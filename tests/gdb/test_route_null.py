"""cuda-route --null: pointers to real functions that functions, classes and namespaces of the hook keep."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from scenario import Scenario

IN_FUNCTIONS = """
#include <dlfcn.h>
typedef int (*way_on)(void *);
#define WAY_ON(name) do { static way_on real; if (!real) real = (way_on)dlsym(RTLD_NEXT, name); \\
                          if (real) return real(a); } while (0)
#ifdef __cplusplus
extern "C" {
#endif
int cuInit(void *a) { WAY_ON("cuInitialise"); return 999; }
int cuCtxSynchronize(void *a) { if (a) { static void *next_one; next_one = next_one ? a : 0; } return 0; }
int cuDriverGetVersion(void *a) { WAY_ON("cuDriverGetVersion"); return 999; }
int cuMemoryBook(void *a) { static way_on real; return real ? real(a) : 0; }
#ifdef __cplusplus
}
namespace reals { int (*cuDeviceGet)(int *, int); static int (*cuCtxGetDevice)(int *); }
struct Driver { static int (*cuDeviceGetCount)(int *); };
int (*Driver::cuDeviceGetCount)(int *);
enum CUresult : int {};
template <class T> struct Real { static T to; };
template <class T> T Real<T>::to;
typedef CUresult (*of_name)(char *, int);
extern "C" CUresult cuDeviceGetName(char *a, int b) { return Real<of_name>::to(a, b); }
extern "C" int cuDeviceGet(int *a, int b) { return reals::cuDeviceGet(a, b); }
extern "C" int cuCtxGetDevice(int *a) { return reals::cuCtxGetDevice(a); }
#endif
"""
OF_A_TEMPLATE = "Real<CUresult (*)(char*, int)>::to"
IN_SCOPES = ("reals::cuDeviceGet", "reals::cuCtxGetDevice", "Driver::cuDeviceGetCount")
PROGRAM = """
int cuInit(void *), cuDriverGetVersion(int *), version;
int main(void)
{
    cuInit(0);
    cuDriverGetVersion(&version);
    return 0;
}
"""


def hook_of(tmp_path: Path, compiler: str, *flags: str) -> Path:
    source, hook = tmp_path / ("keeps.c" if compiler == "gcc" else "keeps.cc"), tmp_path / "libkeeps.so"
    source.write_text(IN_FUNCTIONS)
    line = [compiler, "-D_GNU_SOURCE", "-fPIC", "-shared", *flags, "-o", str(hook), str(source)]
    subprocess.run(line, check=True, timeout=60)
    return hook


@pytest.mark.parametrize(("compiler", "level"), [("gcc", "-O0"), ("gcc", "-O2"), ("g++", "-O0")])
def test_static_pointers_of_functions_and_scopes(
    scenario: Scenario, compile_c, tmp_path: Path, compiler: str, level: str
) -> None:
    """What the function asked for instead, in vain, is told."""
    hook = hook_of(tmp_path, compiler, "-g", level)
    program = compile_c("program", PROGRAM, str(scenario.shim / "standin" / "libcuda.so.1"))
    text = scenario.run(program, "break 7", "cuda-dlsym log on", "RUN", "cuda-route --null",
                        "cuda-route cuDriverGetVersion", hook=hook)  # fmt: skip
    null, _, rest = text.partition("pointers of the hook to real functions are NULL.")
    assert re.search(r"in cuInit::real +nothing +real +NULL: request #\d+ from its function, for cuInitialise, f", null)
    assert re.search(r"cuCtxSynchronize +hook libkeeps.so +pointer, in cuCtxSynchronize::next_one +nothing", null)
    assert "cuMemoryBook" not in null
    assert re.search(r"pointer, in cuDriverGetVersion::real +driver \S+ cuDriverGetVersion", rest)
    assert (f"in {OF_A_TEMPLATE} " in null) == (compiler == "g++")
    for name in IN_SCOPES if compiler == "g++" else ():
        assert re.search(rf"{name.partition('::')[2]} +hook libkeeps.so +pointer, in {name} +nothing", null)


OF_OTHER_NAMES = """
typedef int CUresult;
struct entry { void *to; const char *name; } reals[] = {{0, "cuCtxGetDevice"}, {reals, "cuInit"}, {0, "cuOfNoHeader"}};
struct command { void (*run)(void); const char *name; } commands[] = {{0, "help"}};
static CUresult (*onto)(void *, long), (*of_nobody)(void);
static void *(*real_dlsym)(void *, const char *), (*logger)(const char *);
static struct { CUresult (*release)(long); } driver;
void set(void *to) { onto = to; real_dlsym = to; of_nobody = to; driver.release = to; logger = to; }
void *get(void) { logger(""); of_nobody(); return real_dlsym(0, ""); }
CUresult cuMemAlloc_v2(void *p, long n) { return onto(p, n) + 1; }
CUresult hooked_cuMemFree_v2(long p) { return driver.release(p); }
"""


def test_pointers_are_found_whatever_they_are_called(scenario: Scenario, compile_c) -> None:
    """An entry of a table for a name that no header has, too. Of which one it is, the code that reads it tells."""
    hook = compile_c("libkeeps.so", OF_OTHER_NAMES, "-shared", "-Og")
    text = scenario.run("test_alloc", "break main", "RUN", "cuda-route --null", "cuda-route --null cuMemAlloc",
                        hook=hook)  # fmt: skip
    whole, one = text.split(" pointers of the hook to real functions are NULL.")
    found = dict(re.findall(r"^(\S+) +hook libkeeps.so +pointer, in (\S+) +nothing", whole, re.MULTILINE))
    unknown = set(re.findall(r"^\? +hook libkeeps.so +pointer, in (\S+) .*neither its name", whole, re.MULTILINE))
    assert found.pop("?") in unknown and unknown == {"of_nobody", "real_dlsym"}, text
    assert found == {"cuCtxGetDevice": "reals[0].to", "cuOfNoHeader": "reals[2].to", "cuMemAlloc_v2": "onto",
                     "cuMemFree_v2": "driver.release"}, text  # fmt: skip
    assert "pointer, in onto " in one and "1 pointer of the hook to real functions is NULL." in one


def test_no_debug_info_is_not_no_null(scenario: Scenario, compile_c, tmp_path: Path) -> None:
    program = compile_c("program", "int main(void) { return 0; }")
    hook = hook_of(tmp_path, "gcc")
    text = scenario.run(program, "break main", "RUN", "cuda-route --null", hook=hook)
    assert "unknown: gdb has no debug info of libkeeps.so that tells of its pointers (build it with -g)" in text
    assert "No NULL" not in text


def test_pointers_of_other_names_are_not_taken_for_no_debug_info(scenario: Scenario, compile_c) -> None:
    program = compile_c("program", "int main(void) { return 0; }")
    hook = compile_c("libother.so", "static void *real; void *dlsym(void *h, const char *n) { return n ? real : h; }",
                     "-shared")  # fmt: skip
    text = scenario.run(program, "break main", "RUN", "cuda-route --null", hook=hook)
    assert "unknown: no pointer of libother.so, and no function around one, is named after one of the API\n" in text


def test_a_jump_to_null_out_of_the_hook_is_explained(scenario: Scenario, compile_c) -> None:
    hook = compile_c("libnull.so", """int (*real_cuMemAlloc_v2)(void *, long);
int cuMemAlloc_v2(void *p, long n) { return real_cuMemAlloc_v2(p, n) + 1; }
""", "-shared")  # fmt: skip
    text = scenario.run("test_alloc", "RUN", "cuda-route --null", hook=hook)
    said = re.search(r"NULL was called by hook libnull.so cuMemAlloc_v2\(\) at \S+:2: .*cuda-route --null", text)
    assert said, text
    assert re.search(r"cuMemAlloc_v2 +hook libnull.so +pointer, in real_cuMemAlloc_v2 +nothing", text[said.end() :])


def test_another_jump_to_null_is_the_programs(local: Scenario, compile_c) -> None:
    source = "int cuInit(unsigned); int (*volatile none)(void); int main(void) { return cuInit(0) + none(); }"
    program = compile_c("jumps", source, str(local.shim / "standin/libcuda.so.1"))
    text = local.run(program, "run", hook=local.sample("minimal_hook.so"))
    assert "SIGSEGV" in text and "NULL was called" not in text
