"""Stacks that are taken while a thread is in a guard: they lead to the caller, as without one."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from scenario import Scenario

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")
HOOK = """
#include <stddef.h>
int later(int);
int cuMemAlloc_v2(unsigned long long *p, size_t n) { *p += n; return 0; }
int cuMemFree_v2(unsigned long long p)
{
    int first = later(1), second = later(2), third = later(first + second);
    return later(third * second + first + (int)p);
}
int cuMemcpyHtoD_v2(unsigned long long p, const void *from, size_t n)
{
    volatile char space[300];
    space[n & 255] = 3;
    return later(space[n & 255] + (int)p + (int)(size_t)from);
}
int cuInit(unsigned n) { return n ? later((int)n) : 0; }
"""
LATER = "__attribute__((noipa)) int later(int n) { return n > 1 << 30; }\n"
CALLS = """
unsigned long long block;
__attribute__((noipa)) int calls(int n)
{
    return cuMemAlloc_v2(&block, n) + cuMemFree_v2(n) + cuMemcpyHtoD_v2(n, &block, n) + cuInit(n);
}
"""
HEAD = """
#include <execinfo.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
int cuMemAlloc_v2(unsigned long long *, size_t), cuMemFree_v2(unsigned long long);
int cuMemcpyHtoD_v2(unsigned long long, const void *, size_t), cuInit(unsigned);
"""
STEPS = """
int main(void);
__attribute__((noipa)) void ready(void) { } // gdb's own breakpoints are behind us: it would pass their SIGTRAP on
static int walks, lost;
static void on_trap(int number)
{
    void *stack[40];
    int depth = backtrace(stack, 40), is_found = 0;
    (void)number;
    for (int i = 0; i < depth; i++)
        is_found |= (char *)stack[i] > (char *)main && (char *)stack[i] < (char *)main + 256;
    walks++;
    lost += !is_found;
}
int main(void)
{
    void *stack[4];
    backtrace(stack, 4);
    signal(SIGTRAP, on_trap);
    ready();
    for (int n = 0; n < 4; n++) {
        __asm__ volatile("sub $128, %%rsp; pushf; orl $0x100, (%%rsp); popf; add $128, %%rsp" ::: "cc", "memory");
        calls(n);
        __asm__ volatile("sub $128, %%rsp; pushf; andl $~0x100, (%%rsp); popf; add $128, %%rsp" ::: "cc", "memory");
    }
    printf("walks %d, lost %d\\n", walks, lost);
    fflush(stdout);
    return 0;
}
"""
PASS = "handle SIGTRAP nostop noprint pass"
BREAKS = (
    "cuda-break cuMemAlloc if bytesize > 1G",
    "cuda-break cuMemFree if dptr * 3 > 1G",
    "cuda-break cuMemcpyHtoD --count if ByteCount > 1G && caller in calls",
    "cuda-break cuInit if Flags % 7 == 6 && Flags > 1000",
)
PLACES = "test at (0x[0-9a-f]+), "
AREA = "python print('area %#x' % int(gdb.parse_and_eval('(long)&gdbcuda_guards_v1')))"


@pytest.fixture(params=["-O0", "-O2", "-O2 -fno-omit-frame-pointer"])
def walker(request: pytest.FixtureRequest, compile_c, tmp_path: Path) -> tuple[Path, Path]:
    flags = request.param.split()
    hook = compile_c("libwalked.so", HOOK + LATER, "-shared", "-Wl,-z,now", "-Wl,-Bsymbolic", *flags)
    return hook, compile_c("walker", HEAD + CALLS + STEPS, str(hook), "-Wl,-z,now", f"-Wl,-rpath,{tmp_path}", *flags)


def guards_in_area(text: str, count: int) -> None:
    area = int(re.search(r"^area (0x\w+)$", text, re.MULTILINE)[1], 16)
    found = [int(at, 16) for at in re.findall(PLACES, text)]
    assert len(found) == count and all(area <= at < area + (1 << 16) for at in found), text
    assert "end there, without the caller" not in text, text


def test_backtrace_at_every_instruction(local: Scenario, walker: tuple[Path, Path]) -> None:
    """The program steps itself."""
    hook, program = walker
    alone = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    walks = int(re.fullmatch(r"walks (\d+), lost 0\n", alone)[1])
    text = local.run(program, *BREAKS, "break ready", "run", "cuda-guards", AREA, PASS, "signal 0", hook=hook)
    guards_in_area(text, 4)
    guarded = re.search(r"^walks (\d+), lost 0$", text, re.MULTILINE)
    assert guarded and int(guarded[1]) > walks + 16, (text, alone)


def test_through_gdbserver(local: Scenario, walker: tuple[Path, Path]) -> None:
    """Whoever starts the server may preload our library there."""
    hook, program = walker
    server = f"gdbserver --once --wrapper env LD_PRELOAD={hook}:{local.shim}/libgdbcuda.so -- - {program}"
    start = f"python gdb.execute('set remotetimeout 60'); gdb.execute('target remote | {server}')"
    words = (f"cuda-load {hook}", *BREAKS, start, "break ready", "continue", "cuda-guards", AREA, PASS, "signal 0")
    text = local.run(program, *words, hook=None)
    guards_in_area(text, 4)
    assert re.search(r"^walks (\d+), lost 0$", text, re.MULTILINE), text


THROWS = """
#include <cstdio>
#include <stdexcept>
extern "C" int cuInit(unsigned), cuMemFree_v2(unsigned long long);
extern "C" int later(int n) { if (n > 3) throw std::runtime_error("thrown"); return n; }
static int caught;
int main()
{
    for (int n = 0; n < 100; n++)
        try { cuInit(n); cuMemFree_v2(n); } catch (const std::runtime_error &) { caught++; }
    std::printf("caught %d\\n", caught);
}
"""


def test_exceptions_fly_through(local: Scenario, compile_c, tmp_path: Path) -> None:
    flags = ("-O2", "-fexceptions", "-Wl,--unresolved-symbols=ignore-all")
    hook = compile_c("libthrown.so", HOOK, "-shared", *flags)
    source, program = tmp_path / "throws.cc", tmp_path / "throws"
    source.write_text(THROWS)
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++ here")
    line = [compiler, "-g", "-O0", "-rdynamic", "-o", str(program), str(source), str(hook), f"-Wl,-rpath,{tmp_path}"]
    subprocess.run(line, check=True)
    alone = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    text = local.run(program, BREAKS[1], BREAKS[3], "break main", "run", "cuda-guards", AREA, "continue", hook=hook)
    guards_in_area(text, 2)
    assert alone == "caught 100\n" and alone in text, text


SPINS = """
#include <pthread.h>
void ready(void) { }
static void *spins(void *unused)
{
    for (;;)
        calls(5);
    return unused;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, spins, NULL);
    for (;;)
        ready();
}
"""
IN_GUARD = """
area = int(gdb.parse_and_eval("(long)&gdbcuda_guards_v1"))
for _ in range(300):
    gdb.execute("continue", to_string=True)
    gdb.execute("thread 2", to_string=True)
    if area <= int(gdb.parse_and_eval("(long)$pc")) < area + (1 << 16):
        break
"""
IN_CALLER = (
    r"#0 +0x\w+ in (?:\[\w+ ?[\w.]*\] )?gdbcuda_guards_v1 \(\).*\n"
    r"#1 +0x\w+ in (?:\[\w+\] )?calls \(n=5\).*\n#2 .* spins "
)


@pytest.fixture
def spinner(compile_c, tmp_path: Path) -> tuple[Path, Path]:
    hook = compile_c("libspun.so", HOOK + LATER, "-shared", "-Wl,-Bsymbolic", "-O2")
    return hook, compile_c("spinner", HEAD + CALLS + SPINS, str(hook), f"-Wl,-rpath,{tmp_path}")


def test_gdb_and_a_core_file(local: Scenario, spinner: tuple[Path, Path], tmp_path: Path) -> None:
    """The thread is in a guard: gdb finds the caller, and another gdb, which knows nothing of us, in the core file."""
    hook, program = spinner
    script, core = tmp_path / "in_guard.py", tmp_path / "core"
    script.write_text(IN_GUARD)
    words = (*BREAKS, "break ready", "run", "cuda-guards", AREA, f"python exec(open('{script}').read())", "bt")
    text = local.run(program, *words, "up", "info frame", f"gcore {core}", "kill", hook=hook)
    guards_in_area(text, 4)
    assert re.search(IN_CALLER, text), text
    assert "Saved corefile" in text, text
    plain = ["gdb", "-nx", "-q", "-batch", "-ex", "thread apply all bt", str(program), str(core)]
    seen = subprocess.run(plain, capture_output=True, text=True, check=True, timeout=60).stdout
    assert re.search(IN_CALLER, seen), seen


def test_what_is_lost_is_said(local: Scenario, walker: tuple[Path, Path]) -> None:
    hook, program = walker
    words = ("set cuda-guard-stacks off", *BREAKS, "break ready", "run", "cuda-guards", "info sharedlibrary")
    text = local.run(program, *words, hook=hook)
    lost = "stacks taken inside a guard end there, without the caller: libgdbcuda.so is not in the process ({})"
    assert lost.format("'set cuda-guard-stacks' is off") in text, text
    assert "/libgdbcuda.so" not in text
    text = local.run(program, *BREAKS, "break ready", "run", "cuda-guards", hook=None)
    assert lost.format("cuda-load preloads it, at a start") in text, text


def test_a_guard_out_of_reach(local: Scenario, compile_c) -> None:
    """The function is in the program: one guard of two."""
    program = compile_c("holds", HEAD + HOOK + LATER + CALLS + STEPS, "-O2")
    words = ("cuda-break cuMemAlloc --in app if bytesize > 1G", "break ready", "run", "cuda-guards")
    text = local.run(program, *words, hook=local.hook)
    assert (
        "stacks taken inside the guards of breakpoint 1 end there, without the caller: "
        "the program's own code is more than 2 GB away from libgdbcuda.so" in text
    ), text


def test_detached_nothing_stays(local: Scenario, walker: tuple[Path, Path], tmp_path: Path) -> None:
    """Neither code nor tables."""
    hook, program = walker
    look = (
        "python area = int(gdb.parse_and_eval('(long)&gdbcuda_guards_v1')); "
        "print('nonzero', sum(map(bool, bytes(gdb.selected_inferior().read_memory(area, 9 << 16)))))"
    )
    words = (*BREAKS, "break ready", "run", "cuda-guards", look, "set cuda-guard off", look)
    text = local.run(program, *words, hook=hook)
    found = [int(count) for count in re.findall(r"^nonzero (\d+)$", text, re.MULTILINE)]
    assert len(found) == 2 and found[0] > 400 and found[1] == 0, text
