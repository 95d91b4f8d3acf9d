"""Functions of the program and the hook library by the names that gdb's own break takes, and inlined callers."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from scenario import Scenario

DRIVER = '#include <cstddef>\nextern "C" int cuMemAlloc_v2(unsigned long long *block, size_t bytes);\n'
PROGRAM = DRIVER + """
static unsigned long long block;
namespace eng { struct Loader { void load(size_t size); void load(int size); }; }
void eng::Loader::load(size_t size) { cuMemAlloc_v2(&block, size); }
void eng::Loader::load(int size) { cuMemAlloc_v2(&block, size); }
struct Pool
{
    void grow(size_t size) { cuMemAlloc_v2(&block, size); }
    template <class T> void make(size_t count) { cuMemAlloc_v2(&block, count * sizeof(T)); }
};
int main()
{
    eng::Loader loader;
    Pool pool;
    loader.load((size_t)1);
    loader.load(2);
    pool.grow(3);
    pool.make<float>(1);
    pool.make<double>(1);
    return 0;
}
"""
HOOK = DRIVER + """
namespace quota { struct Book { bool charge(size_t bytes); }; }
bool quota::Book::charge(size_t bytes) { return bytes < 1ul << 40; }
static int hooked_cuMemAlloc(unsigned long long *block, size_t bytes)
{
    *block = bytes;
    return quota::Book().charge(bytes) ? 0 : 2;
}
int cuMemAlloc_v2(unsigned long long *block, size_t bytes) { return hooked_cuMemAlloc(block, bytes); }
"""
INLINED = """
#include <stddef.h>
extern int cuMemAlloc_v2(unsigned long long *block, size_t bytes);
#define INLINE static inline __attribute__((always_inline))
INLINE int low(unsigned long long *block, size_t bytes)
{
    return 1 + cuMemAlloc_v2(block, bytes);
}
INLINE int middle(unsigned long long *block, size_t bytes) { return 3 * low(block, bytes); }
__attribute__((noinline)) int high(size_t bytes) { unsigned long long block; return 5 + middle(&block, bytes); }
__attribute__((noinline)) int other(size_t bytes) { unsigned long long block; return 7 * cuMemAlloc_v2(&block, bytes); }
int main(void) { return high(1) + other(2) == 0; }
"""


TEMPLATE = DRIVER + """
static unsigned long long block;
template <class T, int N> struct Pool
{
    __attribute__((noinline)) int grow(size_t count) { return 1 + cuMemAlloc_v2(&block, count * sizeof(T) * N); }
    __attribute__((noinline)) int grow(int count) { return 2 + cuMemAlloc_v2(&block, count); }
};
int main()
{
    Pool<unsigned long long, 3> pool;
    return pool.grow((size_t)10) + pool.grow(20) - 3;
}
"""

OPERATORS = DRIVER + """
static unsigned long long block;
namespace { __attribute__((noinline)) int hidden(int count) { return 1 + cuMemAlloc_v2(&block, count); } }
struct Op
{
    void *operator new(size_t size) { cuMemAlloc_v2(&block, 20); return __builtin_malloc(size); }
    operator bool() const { return cuMemAlloc_v2(&block, 30) == 0; }
};
int main() { Op *op = new Op; return [](int n) { return hidden(n); }(10) + (*op ? 0 : 1) < 0; }
"""


IN_TWO_PARTS = DRIVER + """
#include <map>
static std::map<unsigned long long, size_t> blocks;
__attribute__((optimize("O2"))) int cuMemAlloc_v2(unsigned long long *block, size_t bytes)
{
    try { blocks[bytes] = bytes; } catch (...) { blocks.clear(); return 2; }
    *block = bytes;
    return 0;
}
"""


@pytest.fixture
def built(build_once) -> tuple[Path, Path]:
    folder = build_once(build, PROGRAM, HOOK)
    return folder / "app", folder / "libhook.so"


def build(compile_c, folder: Path, program: str, hook: str) -> None:
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed")
    (folder / "app.cc").write_text(program)
    (folder / "hook.cc").write_text(hook)
    for line in ("-shared -fPIC -o libhook.so hook.cc", f"-o app app.cc -L. -Wl,-rpath,{folder} -lhook"):
        subprocess.run(["g++", "-g", "-O0", *line.split()], cwd=folder, check=True, timeout=60)


def sizes(text: str) -> list[str]:
    return re.findall(r"^Breakpoint 1(?:\.\d)?, .*(?:size|count|bytes)=(\d+)\) at", text, re.MULTILINE)


@pytest.mark.parametrize("name, wanted", [
    ("Loader::load", ["1", "2"]), ("'eng::Loader::load(int)'", ["2"]), ("_ZN4Pool4growEm", ["3"]), ("grow", ["3"]),
    ("'Pool::make<double>'", ["1"]),
])  # fmt: skip
def test_a_function_of_the_program(local: Scenario, built, name: str, wanted: list[str]) -> None:
    """Before the run, and saved as it was asked for."""
    program, hook = built
    text = local.run(program, f"cuda-break {name}", "run", "continue", "cuda-save /dev/stdout", hook=hook)
    assert sizes(text) == wanted
    assert f"cuda-break {name} --from any" in text


def test_a_guard_where_the_handler_of_an_exception_is_elsewhere(local: Scenario, build_once) -> None:
    """Debug info has both parts of the function, and the symbol table has no arguments in its name."""
    folder = build_once(build, PROGRAM, IN_TWO_PARTS)
    text = local.run(folder / "app", "cuda-break cuMemAlloc if bytesize == 3", "run", "cuda-guards",
                     hook=folder / "libhook.so")  # fmt: skip
    assert "cuMemAlloc_v2.cold" in subprocess.check_output(["nm", folder / "libhook.so"], text=True)
    assert re.search(r"^1 +in the process ", text, re.MULTILINE), text


@pytest.mark.parametrize("name", ["hooked_cuMemAlloc", "Book::charge", "_ZL17hooked_cuMemAllocPym"])
def test_a_function_of_the_hook(scenario: Scenario, built, name: str) -> None:
    program, hook = built
    text = scenario.run(program, f"cuda-break {name}", "RUN", hook=hook)
    assert f"Breakpoint 1: {name} in hook libhook.so (pending until it is loaded)" in text
    assert sizes(text) == ["1"]


def test_globs_of_what_is_not_of_the_api(scenario: Scenario, built) -> None:
    """Where no function of the API has such a name: the program's and the hook's own, hidden or not."""
    program, hook = built
    words = ("cuda-break 'hooked_*'", "cuda-break '*::load'", "cuda-break 'nothere_*'", "RUN", "continue", "continue")
    text = scenario.run(program, *words, hook=hook)
    assert "Breakpoint 1: hooked_cuMemAlloc in hook libhook.so (pending until it is loaded)\n" in text
    assert "(hooked_cuMemAlloc: no function of the API; called by anyone, --from says otherwise)" in text
    assert "Breakpoint 2: eng::Loader::load in app app\n" in text
    assert "cuda-break: no function 'nothere_*' in the API" in text
    stops = re.findall(r"^Breakpoint ([12])(?:\.\d)?, .*(?:size|bytes)=(\d)\) at", text, re.MULTILINE)
    assert stops == [("2", "1"), ("1", "1"), ("2", "2")]


def test_templates_without_their_arguments(local: Scenario, built) -> None:
    program, hook = built
    text = local.run(program, "cuda-break Pool::make", "break Pool::make", "run", "continue", hook=hook)
    if 'Function "Pool::make" not defined' in text:
        pytest.skip("this gdb finds no template function without its arguments (gdb 11 does)")
    assert len(sizes(text)) == 2


def test_they_are_completed(local: Scenario, built) -> None:
    program, hook = built
    lines = ("Pool::grow", "hooked_cuMemAlloc", "cuMemAlloc --from eng::Loader::load", "cuMemAlloc if caller in main",
             "Loader::load", "cuMemAlloc --from Loader::load", "cuMemAlloc if caller in Book::charge")  # fmt: skip
    asked = (f"complete cuda-break {line[:-1]}" for line in lines)
    text = local.run(program, *asked, "cuda-break Pool::grw", hook=hook)
    for line in lines:
        assert f"\ncuda-break {line}\n" in text
    assert "cuda-break: no function 'Pool::grw' in " in text and "; did you mean Pool::grow?" in text


def test_overloads_that_call(local: Scenario, built) -> None:
    program, hook = built
    text = local.run(program, 'cuda-break cuMemAlloc if caller in "Loader::load(int)"', "run", "continue", hook=hook)
    assert re.findall(r"^Breakpoint 1  .*bytesize=(\d+)", text, re.MULTILINE) == ["2"]


@pytest.fixture
def inlined(compile_c, shim: Path) -> Path:
    return compile_c("inlined", INLINED, "-O2", f"-L{shim}/standin", "-l:libcuda.so.1")


@pytest.mark.parametrize("caller", ["low", "middle", "high"])
def test_inlined_callers(scenario: Scenario, inlined: Path, caller: str) -> None:
    """The call is in the code of all three."""
    text = scenario.run(inlined, f"cuda-break cuMemAlloc if caller in {caller}", "RUN", "cuda-guards", "continue")
    found = re.findall(r"^Breakpoint 1  .*bytesize=(\d).*\n +called by app low\(\) at inlined.c:7,", text, re.MULTILINE)
    assert found == ["1"]
    assert re.search(r"^1 +in the process ", text, re.MULTILINE)


def test_inlined_callers_in_the_log(local: Scenario, inlined: Path) -> None:
    text = local.run(inlined, "cuda-log start cuMemAlloc --in hook --stack 4", "run", "cuda-log show --stack",
                     "cuda-log show if caller in high", "cuda-log show if caller in hihg")  # fmt: skip
    assert re.findall(r"(?:by|from) (\w+) at inlined.c:(\d+)$", text, re.MULTILINE) == [
        ("low", "7"), ("middle", "9"), ("high", "10"), ("main", "12"), ("other", "11"), ("main", "12"),
        ("low", "7"),
    ]  # fmt: skip
    assert re.findall("no caller in the log is .*", text) == [
        "no caller in the log is called hihg; did you mean high?"
    ]  # fmt: skip


def test_names_with_blanks_are_typed_as_for_gdbs_own_break(scenario: Scenario, tmp_path: Path) -> None:
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed")
    source, program = tmp_path / "template.cpp", tmp_path / "template"
    source.write_text(TEMPLATE)
    line = ["g++", "-g", "-O0", str(source), "-o", str(program), f"-L{scenario.shim}/standin", "-l:libcuda.so.1"]
    subprocess.run(line, check=True, timeout=60)
    one = "Pool<unsigned long long, 3>::grow"
    text = scenario.run(program, f"cuda-break cuMemAlloc --from {one}(int),driver", f"cuda-break {one}(unsigned long)",
                        "break main", "RUN", "cuda-break grow", "info breakpoints", "delete 4", "continue", "continue",
                        hook=None)  # fmt: skip
    assert re.search(r"^Breakpoint 4: grow in app template$", text, re.MULTILINE), text  # and not the driver's own
    assert re.search(rf"^Breakpoint 2(\.\d)?, {one} \(.*count=10\)", text, re.MULTILINE), text
    assert re.findall(r"bytesize=(\d+)\)\n +called by app (.*?) at", text) == [("20", f"{one}()")], text


@pytest.mark.parametrize(("name", "wanted"), [
    ("(anonymous namespace)::hidden", "10"), ("Op::operator new", "20"), ("Op::operator bool", "30"),
])  # fmt: skip
def test_operators_and_unnamed_namespaces_unquoted(local: Scenario, build_once, name: str, wanted: str) -> None:
    """As function, as caller, in a condition, and completed from its first blank on. In `bt` as gdb's own has them."""
    program = build_once(build_operators) / "operators"
    begun = name[: name.rindex(" ") + 2]
    asked = (f"complete cuda-break {begun}", f"complete cuda-break cuMemAlloc if caller in {begun}")
    condition = f"caller in {name} && bytesize > 1"
    breaks = (f"{name} --once", f"cuMemAlloc --from {name} --once", f"cuMemAlloc --once if {condition}")
    text = local.run(program, *asked, *(f"cuda-break {one}" for one in breaks), "run", "continue", "bt", "continue")
    assert re.search(rf"^cuda-break {re.escape(name)}\(.*\)", text, re.MULTILINE), text
    assert re.search(rf"^cuda-break cuMemAlloc if caller in {re.escape(name)}\(.*\)", text, re.MULTILINE), text
    assert f"Breakpoint 1: {name} in app " in text and re.search(r"^Temporary breakpoint 1, ", text, re.MULTILINE), text
    assert re.findall(r"^Breakpoint [23].*bytesize=(\d+)", text, re.MULTILINE) == [wanted], text
    shown = re.findall(r"\[app\] (.*?) \((?:\w+=.*)?\) at operators.cc", text)
    assert shown[:1] == [name] and [one for one in shown[1:-1] if not one.endswith("operator()")] == [], text


def build_operators(compile_c, folder: Path) -> None:
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed")
    (folder / "operators.cc").write_text(OPERATORS)
    standin = Path(__file__).parents[2] / "shim/build/standin"
    line = ["g++", "-g", "-O0", "operators.cc", "-o", "operators", f"-L{standin}", "-l:libcuda.so.1"]
    subprocess.run(line, cwd=folder, check=True, timeout=60)
