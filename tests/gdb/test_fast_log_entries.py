"""cuda-log start --fast and what stands at a function's entry: no room for a jump, no lines, code of other names."""

from __future__ import annotations

import re
from pathlib import Path

import log_files
import pytest
from answering_hooks import ENTRIES, JUMPS, SLOTS
from guard_programs import HOOK as GUARDED
from scenario import Scenario
from test_fast_log import FAST, after_start, told
from test_fast_log import _new_enough as _new_enough
from test_fast_log import placed as placed
from test_fast_log import pytestmark as pytestmark
from test_fast_log_processes import SEGV
from test_log import by_thread, calls_of_sample

FAR = """python
import gdbcuda.live.recording.entries.onward_code as one
from gdbcuda.machine.detour import NoDetour
near = one.build
def build(entry, at, area):
    if "libcuda" in entry.spot.file or "libnvidia-ml" in entry.spot.file:
        raise NoDetour(one.TOO_FAR)
    return near(entry, at, area)
one.build = build
end
"""


@pytest.mark.parametrize("program", ["test_alloc", "nvml_dlopen", "fork_exec"])
def test_functions_that_no_jump_reaches(placed: Scenario, tmp_path: Path, program: str) -> None:
    """As where libraries of gigabytes lie between: what they go on with is in pages near them."""
    near, far, script = tmp_path / "near", tmp_path / "far", tmp_path / "far.gdb"
    script.write_text(FAR)
    alone = placed.run(program, f"cuda-log start --fast --to {near}", "RUN")
    text = placed.run(program, f"source {script}", f"cuda-log start --fast --to {far}", "RUN", "cuda-log")
    assert sum(row[2] == "driver" for row in told(near)) >= 4
    assert told(far) == told(near)
    assert "Not recorded" not in text and after_start(text).startswith(after_start(alone).splitlines()[0]), text


def test_every_call_of_every_thread_in_pages_near_them(local: Scenario, tmp_path: Path) -> None:
    log, script, arguments = tmp_path / "log", tmp_path / "far.gdb", ("8", "1000")
    script.write_text(FAR)
    start = FAST.replace("--in hook", "--in driver")
    local.run("threads", f"source {script}", f"{start} --to {log}", "RUN", arguments=arguments)
    names = [[event["name"] for event in thread] for thread in by_thread(log_files.lines(log))]
    assert [calls_of_sample(number, 1000) for number in range(8)] == names[-8:]


NO_LINES = """
int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return 0;
}
"""


def test_a_function_without_lines_whose_frame_gdb_knows(placed: Scenario, compile_c) -> None:
    """As a vendor's are: gdb's own breakpoint would be among the bytes of the jump, and then there is none."""
    hook = compile_c("libframe.so", NO_LINES, "-shared", "-O2", "-fno-omit-frame-pointer", "-g0")
    source = SEGV.replace("*(volatile int *)NULL = 1;", "")
    program = compile_c("program", source, str(placed.shim / "standin/libcuda.so.1"))
    words = ("cuda-log start --fast --in hook", "tbreak main", "RUN")
    text = placed.run(program, *words, "continue", "cuda-log", hook=hook)
    assert "30 calls kept" in text and "exited normally" in text, text
    text = placed.run(program, *words, "break cuDeviceGet", "continue", "delete", "continue", "cuda-log", hook=hook)
    assert "hit Breakpoint" in text or "Breakpoint 2" in text, text
    assert "exited normally" in text, text
    text = placed.run(program, *words, "advance cuDeviceGet", "info symbol $pc", "continue", "cuda-log", hook=hook)
    assert "libframe.so" in text and "exited normally" in text, text


# Behind the bytes of the jump gdb finds the end of the prologue: an instruction that reads by its own address.
RELATIVE = """
__asm__(".globl cuDeviceGet\\n.type cuDeviceGet,@function\\ncuDeviceGet: endbr64\\npush %rbp\\nmov %rsp,%rbp\\n"
        "mov number(%rip),%eax\\nmov %eax,(%rdi)\\nxor %eax,%eax\\npop %rbp\\nret\\n.size cuDeviceGet,.-cuDeviceGet\\n"
        ".section .rodata\\nnumber: .long 4711\\n");
"""
READING = """
#include <stdio.h>
int cuDeviceGet(int *device, int ordinal);
int main(void)
{
    int device = 0, sum = 0;
    for (int i = 0; i < 20; i++) {
        cuDeviceGet(&device, i);
        sum += device;
    }
    printf("sum %d\\n", sum);
    return 0;
}
"""


def test_an_instruction_behind_the_jump_that_gdb_steps_elsewhere(local: Scenario, compile_c, tmp_path: Path) -> None:
    """gdb asks its disassembler, and so us, how long it is: by that it tells what the copy has to read."""
    hook = compile_c("librelative.so", RELATIVE, "-shared", "-g0")
    program = compile_c("program", READING, str(hook), f"-Wl,-rpath,{tmp_path}")
    words = ("cuda-log start --fast cuDeviceGet", "set displaced-stepping on", "break cuDeviceGet if $rsi == 77", "run")
    text = local.run(program, *words, "info breakpoints", "cuda-log", hook=hook)
    assert f"sum {20 * 4711}\n" in text and "exited normally" in text, text
    assert "<cuDeviceGet+8>" in text and "by 1 jumps to the recorder" in text and "20 calls kept" in text, text


def test_a_display_at_a_stop_shows_the_functions_own_instructions(placed: Scenario) -> None:
    """gdb shows displays before it tells us of the stop, our jump is still there; and gdb remembers code that it has
    read."""
    looks = ("display/i cuMemAlloc_v2", "tbreak exit", "continue", "x/i cuMemAlloc_v2", "cuda-log")
    text = placed.run("test_alloc", "cuda-log start --fast cuMemAlloc", "tbreak main", "RUN", *looks)
    shown = re.findall(r"<cuMemAlloc_v2>:\s+(\w+)", text)
    assert len(shown) == 2 and len(set(shown)) == 1 and "jmp" not in shown, text
    assert re.search("[1-9]\\d* calls kept", text), text


ALLOCATES = re.compile(r"T1  (\w+) +cuMemAlloc_v2\(.*?bytesize=(\d+)")


@pytest.mark.parametrize("source", [SLOTS, ENTRIES.replace("JUMP", JUMPS[next(iter(JUMPS))])], ids=["slots", "entries"])
def test_code_of_other_names_is_recorded(placed: Scenario, compile_c, source: str) -> None:
    """From the first call on, and what overwrites the driver's entry finds the driver's own bytes there."""
    hook = compile_c("libanswers.so", source, "-shared")
    text = placed.run("test_alloc", "cuda-log start cuMemAlloc --fast", "RUN", "cuda-log show", "cuda-log", hook=hook)
    sizes = [size for layer, size in ALLOCATES.findall(text) if layer == "hook"]
    assert sizes == ["67108864", "1073741825", "3221225472"], text
    assert re.search(r"by \d\d* jumps to the recorder in the process; (?!0)\d+ calls kept", text), text
    assert " by 0 jumps" not in text
    behind = "; what comes in behind is in a log without --fast"
    missing = "Calls are missing that come in behind a hook library's jump, and are in a log without --fast"
    said = [f"\ncuda-log: cuMemAlloc_v2: its entry is overwritten by a hook library{behind}\n",
            f"\n{missing}: cuMemAlloc_v2."]  # fmt: skip
    assert [text.count(one) for one in said] == ([1, 1] if source is not SLOTS else [0, 0]), text


@pytest.mark.parametrize("when", ["before the run", "at a stop"])
def test_a_breakpoint_among_the_first_bytes_is_told(placed: Scenario, compile_c, when: str) -> None:
    """The manual says that cuda-log names the function: no call of it is recorded, and nobody would know why."""
    hook = compile_c("libframe.so", NO_LINES, "-shared", "-O2", "-fpatchable-function-entry=8")
    source = SEGV.replace("*(volatile int *)NULL = 1;", "")
    program = compile_c("program", source, str(placed.shim / "standin/libcuda.so.1"))
    inside = ("break *((long)&cuDeviceGet + 1) if $rsi == 77",)
    words = ("cuda-log start --fast --in hook", "tbreak main", "RUN", *inside)
    text = placed.run(program, *words, "continue" if when == "at a stop" else "RUN", "cuda-log", hook=hook)
    assert "exited normally" in text and "0 calls kept" in text, text
    assert "a breakpoint is among the first bytes, so that no jump fits there: cuDeviceGet." in text, text


def test_where_a_thread_stands_at_an_entry_is_told(placed: Scenario) -> None:
    """The user may step that call: it is none of the recorder's."""
    words = ("cuda-log start --fast cuMemAlloc --in hook", "tbreak main", "RUN")
    entry = ("break *(long)&cuMemAlloc_v2 if $rsi > 1 << 30", "continue", "delete", "continue")
    text = placed.run("test_alloc", *words, *entry, "cuda-log show", "cuda-log")
    sizes = re.findall(r"T1  hook +cuMemAlloc_v2\(.*?bytesize=(\d+)", text)
    assert sizes == ["67108864"] and "exited normally" in text, text
    said = "in whose first bytes a thread may have been as the program went on: cuMemAlloc_v2."
    assert f"\nCalls may be missing of functions {said}" in text, text


def test_a_thread_at_a_breakpoint_in_the_jumps_last_byte_is_in_it(placed: Scenario, compile_c) -> None:
    """For the kernel it stands behind it: gdbserver takes the int3's one byte back as it lets the thread go on."""
    hook = compile_c("libframe.so", NO_LINES, "-shared", "-O0", "-fno-omit-frame-pointer", "-fcf-protection=none")
    source = SEGV.replace("*(volatile int *)NULL = 1;", "")
    program = compile_c("program", source, str(placed.shim / "standin/libcuda.so.1"))
    inside = "tbreak *((long)&cuDeviceGet + 4)"  # behind push %rbp and mov %rsp, %rbp
    words = ("cuda-log start --fast --in hook", "tbreak main", "RUN", inside, "continue", "continue")
    text = placed.run(program, *words, hook=hook)
    assert "cuDeviceGet" in text and "exited normally" in text, text


def test_of_memory_that_such_a_call_may_have_released_nothing_is_said(placed: Scenario) -> None:
    """Two of three blocks were released by calls that are not in the log: they are no leaks."""
    words = ("cuda-log start --fast", "tbreak main", "RUN", "cuda-break cuMemcpyDtoH --once", "continue")
    entry = ("break *(long)&cuMemFree_v2", "continue", "delete", "continue", "cuda-log", "cuda-memory leaks")
    text = placed.run("test_alloc", *words, *entry, hook=None)
    assert "as the program went on: cuMemFree_v2." in text and "exited normally" in text, text
    assert "not freed at exit" not in text, text


IN_TRAMPOLINE = """python
from gdbcuda.live.guarding.by_process import PROCESSES
def trampoline(number):
    return next(one.trampoline.address for one in PROCESSES().guards.values() if number in one.members)
def show(what, address):
    print(what, "is there" if any(bytes(gdb.selected_inferior().read_memory(address, 16))) else "is gone")
entered = trampoline(1)
gdb.execute(f"tbreak *{entered:#x}")
end
"""


def test_a_call_in_the_trampoline_of_a_guard_that_is_made_again_and_deleted(local: Scenario, tmp_path: Path) -> None:
    """From there it comes to the recorder, which sends it on to what the newest trampoline of the function has.
    Those of other functions go meanwhile."""
    (tmp_path / "stop.gdb").write_text(IN_TRAMPOLINE)
    breaks = ("cuda-break cuMemAlloc if bytesize > 1T", "cuda-break cuMemGetInfo if free == 7")
    begin = (*breaks, "cuda-log start --fast cuMemAlloc", "tbreak main", "RUN", f"source {tmp_path}/stop.gdb")
    gone = ("set cuda-guard off", "set cuda-guard auto", "info symbol $pc", "delete 1", "tbreak gdbcuda_called")
    other = ("python other = trampoline(2)", "delete 2", "python show('one', entered); show('the other', other)")
    text = local.run("test_alloc", *begin, "continue", *gone, "continue", *other, "continue", "cuda-log")
    assert "gdbcuda_guards_v1 + " in text and "one is there\nthe other is gone\n" in text, text
    assert "exited normally" in text and re.search("; [1-9]\\d* calls kept", text), text


PROBED = """
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
int main(void)
{
    unsigned long long block;
    cuMemAlloc_v2(&block, 1);
    unsigned char *entry = dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");
    mprotect((void *)((uintptr_t)entry & -4096), 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
    entry[4] = 0xcc; /* behind endbr64 */
    return cuMemAlloc_v2(&block, 2);
}
"""


def test_an_int3_on_the_recorders_jump_is_told(placed: Scenario, compile_c, tmp_path: Path) -> None:
    """The kernel writes one for a uprobe, at whatever instruction; the jump leads somewhere else then."""
    hook = compile_c("libguardhook.so", GUARDED, "-shared", "-O1", "-fcf-protection")
    program = compile_c("program", PROBED, str(hook), f"-Wl,-rpath,{tmp_path}", "-ldl")
    show = "python print('shown', bytes(gdb.selected_inferior().read_memory(entry, 16)).hex())"
    words = ("tbreak main", "RUN", "python entry = int(gdb.parse_and_eval('(long)&cuMemAlloc_v2'))", show)
    text = placed.run(program, "cuda-log start --fast cuMemAlloc", *words, "continue", show, "cuda-log", hook=hook)
    before, after = re.findall("shown (.*)", text)
    assert after == f"{before[:8]}cc{before[10:]}", text
    assert "put a uprobe (bpftrace, perf) or a breakpoint on the recorder's jump in\n  cuMemAlloc_v2:" in text, text
    assert "1 calls kept" in text, text


def test_nobody_jumps_over_an_int3(placed: Scenario, compile_c, tmp_path: Path) -> None:
    """Also over a link, where nobody knows what the file has."""
    hook = compile_c("libguardhook.so", GUARDED, "-shared", "-O1", "-fcf-protection")
    early = "__attribute__((constructor)) static int work(void)"
    program = compile_c("program", PROBED.replace("int main(void)", early).replace("return cuMemAlloc_v2(&block, 2)",
                        "return 0") + "int main(void)\n{\n    return 0;\n}\n", str(hook), "-ldl")  # fmt: skip
    late = ("cuda-log start --fast cuMemAlloc", "cuda-log", "cuda-break cuMemAlloc if bytesize == 77", "cuda-guards")
    text = placed.run(program, "tbreak main", "RUN", *late, hook=hook)
    assert text.count("an int3 that is not gdb's is in its first bytes, as a uprobe's is (bpftrace, perf)") >= 2, text
