"""Who calls, in conditions and behind --from: by the names that people use, C++ ones too."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from scenario import Scenario

HOOK = """
#include <stddef.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize)
{
    *dptr = bytesize;
    return 0;
}
"""
PROGRAM = """
#include <cstddef>
extern "C" int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
static unsigned long long block;
namespace loader { struct Loader { void load(size_t size) { cuMemAlloc_v2(&block, size); } }; }
namespace { void apply(size_t size) { cuMemAlloc_v2(&block, size); } }
struct Ask { void operator()(size_t size) { cuMemAlloc_v2(&block, size); } };
template <class T> T *make(size_t count) { cuMemAlloc_v2(&block, count * sizeof(T)); return nullptr; }
int main()
{
    loader::Loader one;
    one.load(1);
    apply(2);
    make<float>(1);
    make<double>(1);
    Ask()(16);
    return 0;
}
"""


@pytest.fixture
def built(compile_c, tmp_path: Path) -> tuple[Path, Path]:
    hook = compile_c("libhook.so", HOOK, "-shared")
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed")
    (tmp_path / "app.cc").write_text(PROGRAM)
    line = ["g++", "-g", "-O0", "-o", "app", "app.cc", f"-L{tmp_path}", f"-Wl,-rpath,{tmp_path}", "-lhook"]
    subprocess.run(line, cwd=tmp_path, check=True, timeout=60)
    return tmp_path / "app", hook


@pytest.mark.parametrize(
    ("caller", "sizes"),
    [
        ("loader::Loader::load", [1]),
        ("Loader::load", [1]),
        ('"load(unsigned long)"', [1]),
        ("load(unsigned long)", [1]),
        ("'Loader::load(unsigned long)'", [1]),
        ("load(int)", []),
        ("Ask::operator()", [16]),
        ("operator()(unsigned long)", [16]),
        ("apply", [2]),  # not app with a typo
        ("make", [4, 8]),
        ("make<float>", [4]),
        ("app", [1, 2, 4, 8, 16]),  # the layer, though the program is called so too
        ("libhook.so", []),
        ("main", []),
    ],
)
def test_names_of_callers(local: Scenario, built, caller: str, sizes: list[int]) -> None:
    program, hook = built
    words = (f"cuda-break cuMemAlloc if caller in {caller}", "info line make", "run", *["continue"] * 5)
    text = local.run(program, *words, hook=hook)
    if caller == "make" and 'Function "make" not defined' in text:
        pytest.skip("this gdb finds no template function without its arguments (gdb 11 does)")
    assert [int(size) for size in re.findall(r"^Breakpoint 1  .*bytesize=(\d+)", text, re.MULTILINE)] == sizes, text


def test_from_takes_the_same_names(scenario: Scenario, built) -> None:
    program, hook = built
    text = scenario.run(program, "cuda-break cuMemAlloc --from make<double>,apply", "RUN", "continue", hook=hook)
    assert re.findall(r"^Breakpoint 1  .*bytesize=(\d+)", text, re.MULTILINE) == ["2", "8"], text
    text = scenario.run(program, "cuda-break cuMemAlloc --from 'load(unsigned long)',operator()", "RUN", "continue",
                        hook=hook)  # fmt: skip
    assert re.findall(r"^Breakpoint 1  .*bytesize=(\d+)", text, re.MULTILINE) == ["1", "16"], text


def test_nobodys_name(local: Scenario, built) -> None:
    program, hook = built
    early = ("cuda-break cuMemAlloc --from hookk", "cuda-break cuMemAlloc if caller in 0x1234")
    late = ("cuda-break cuMemAlloc --from laod", "cuda-break cuMemAlloc --from aply,make<float>")
    text = local.run(program, *early, "break main", "run", *late, hook=hook)
    assert "cuda-break: no layer 'hookk'; did you mean hook? (a library: hookk.so)\n" in text
    assert "cuda-break: column 11: 0x1234 is no name; info symbol 0x1234 says which function and library" in text
    assert "called from laod; guarded\n  (no loaded object or function is called laod; " in text
    assert text.count("no loaded object or function is called") == 2


def test_completion_of_callers_and_threads(local: Scenario) -> None:
    """The program's functions too, once a few letters are there."""
    words = ("--from hook,allocate_buffer", "if bytesize > 1 && caller in allocate_buffers", "if thread == 1")
    asked = [f"complete cuda-break cuMemAlloc {word[:-1]}" for word in words]
    text = local.run("test_alloc", "break main", "run", *asked)
    for word in words:
        assert f"\ncuda-break cuMemAlloc {word}\n" in text, text


CALLS_ITSELF = """
#include <dlfcn.h>
int cuMemRelease(unsigned long long handle);
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize)
{
    int (*create)(unsigned long long *, unsigned long, const void *, unsigned long long);
    *(void **)&create = dlsym(RTLD_NEXT, "cuMemCreate");
    return create && create(dptr, bytesize, 0, 0) ? 2 : cuMemRelease(*dptr);
}
"""


def test_what_the_hook_library_calls_itself_is_told(scenario: Scenario, compile_c) -> None:
    """A breakpoint behind it stops at the program's calls, and there are none: both names are the hook library's."""
    hook = compile_c("libvmm.so", CALLS_ITSELF, "-shared")
    asked = ("cuda-break cuMemCreate", "cuda-break cuMemRelease", "cuda-break cuMemAlloc", "cuda-break cuMemMap",
             "cuda-break cuMemCreate --from any")  # fmt: skip
    text = scenario.run("test_alloc", *asked, "cuda-break cuMemCreate --from hook", "delete 3 5", "RUN", hook=hook)
    assert re.findall(r"^  \((\w+) may be called by libvmm.so itself: --from hook stops there\)$", text, re.M) == [
        "cuMemCreate", "cuMemRelease",
    ], text  # fmt: skip
    assert re.search(r"^Breakpoint 6  driver libcuda.so.1  cuMemCreate\(", text, re.MULTILINE), text
