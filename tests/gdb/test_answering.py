"""The function that really answers is known from the slot, the first bytes, the answered request; there it stops."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from answering_hooks import ASKS_TWICE, BY_DLSYM, BY_PROC_ADDRESS, ENTRIES, JUMPS, MADE, SLOTS, stops
from scenario import Scenario


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


NAMESAKE = SLOTS.replace(
    "static int own_alloc(", "static int own_alloc(unsigned long long *, unsigned long)\n"
    '    __asm__("_ZN12_GLOBAL__N_113cuMemAlloc_v2EPym");\nstatic int own_alloc(', 1
)  # fmt: skip


def test_a_cplusplus_function_of_that_name_is_another(scenario: Scenario, compile_c) -> None:
    """(anonymous namespace)::cuMemAlloc_v2 is no cuMemAlloc_v2: where nothing leads there, it is not waited for."""
    hook = compile_c("libslots.so", NAMESAKE, "-shared", "-g0")
    text = scenario.run("test_alloc", "cuda-break cuMemAlloc", "RUN", hook=hook)
    assert stops(text) == ["hook libslots.so (anonymous namespace)::cuMemAlloc_v2 for"], text
    idle = compile_c("libidle.so", NAMESAKE.replace("*slot = own_alloc", "(void)own_alloc"), "-shared", "-g0")
    text = scenario.run("test_alloc", "break main", "RUN", "cuda-break cuMemAlloc", "continue", hook=idle)
    assert "cuMemAlloc_v2 in driver libcuda.so.1 (libidle.so does not define it; this is the outermost" in text, text
    assert stops(text) == ["driver libcuda.so.1"], text


AN_INLINED_ENTRY = SLOTS.replace(
    "static int own_alloc(", "static unsigned long taken;\nstatic inline unsigned long now(void) "
    "{ return __atomic_load_n(&taken, 5); }\nstatic int own_alloc(", 1
).replace("int status = onward", "if (now() + bytes > 2ul << 30) return 2;\n    int status = onward")  # fmt: skip


def test_what_is_inlined_at_its_first_instruction_is_not_who_calls(local: Scenario, compile_c) -> None:
    """At a bare address gdb has a frame for it: caller, and where the call returns to, are the function's."""
    hook = compile_c("libslots.so", AN_INLINED_ENTRY, "-shared", "-Og")
    text = local.run("test_alloc", "cuda-break cuMemAlloc if bytesize > 1G", "RUN", "delete",
                     "cuda-break cuMemAlloc --on return if bytesize > 2G", "continue", hook=hook)  # fmt: skip
    assert stops(text) == ["hook libslots.so own_alloc for", "hook libslots.so"], text
    assert re.search(r"\[1.00 GiB\]\)\n +called by app allocate_buffer\(\) at test_alloc.c:25, thread 1\n", text), text
    assert re.search(r"= CUDA_ERROR_OUT_OF_MEMORY \(2\)\n +returned to app allocate_buffer\(\) at test_a", text), text


def test_the_process_settles_what_the_files_leave_open(scenario: Scenario, compile_c) -> None:
    """Whether a library that rewrites slots is reached only the process shows, and the verdict on the library too."""
    hook = compile_c("libslots.so", SLOTS, "-shared")
    text = scenario.run("test_alloc", "cuda-check --quiet", "break main", "RUN", "cuda-layers", "cuda-check", hook=hook)
    before, after = text.split("Breakpoint 1, main", 1)
    assert re.search(r"^hook +libslots.so +answers for cuMemAlloc_v2 +cuda-load", after, re.MULTILINE), after
    assert "libslots.so: unknown whether it is reached by this program (reached-otherwise)" in before
    assert "libslots.so answers for cuMemAlloc_v2 in this process; these calls of the program arrive" in one_line(after)
    assert "libslots.so: will be reached" in after and "reached-otherwise" not in after and "other-way\n" not in after


def one_line(text: str) -> str:
    """Of a table what is in its last column."""
    return " ".join(row[1] for row in (re.split(r"  +", line, maxsplit=1) for line in text.split("\n")) if len(row) > 1)


def test_a_guard_is_there_too(scenario: Scenario, compile_c) -> None:
    """Calls that do not match cost no stop; a changed condition takes the guard away."""
    hook = compile_c("libslots.so", SLOTS, "-shared")
    text = scenario.run("test_alloc", "cuda-break cuMemAlloc if bytesize > 1G", "break main", "RUN", "cuda-guards",
                        "continue", "info breakpoints", "condition 1 $rsi > 0x50000000", "cuda-guards", "continue",
                        hook=hook)  # fmt: skip
    assert re.search(r"^3 +in the process +5 bytes of own_alloc ", text, re.MULTILINE)
    assert re.search(r"^1, 3 +by gdb(?:server)? +its condition was changed", text, re.MULTILINE)
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


@pytest.mark.parametrize("flags", [(), ("-O2", "-s")], ids=["hidden", "stripped"])
def test_what_is_asked_for_later_in_a_process_that_runs(scenario: Scenario, compile_c, flags: tuple[str, ...]) -> None:
    """Nothing is loaded from there on; its dlsym is watched all the same, for a breakpoint and for the log."""
    hook = compile_c("libasked.so", BY_DLSYM, "-shared", "-fvisibility=hidden", *flags)
    begun = ("break use_first_device", "RUN")
    text = scenario.run("dlsym_alloc", *begun, "cuda-break cuMemAlloc", "continue", hook=hook)
    assert len(stops(text)) == 1 and "called by app allocate() at dlsym_alloc.c:" in text
    log = scenario.run("dlsym_alloc", *begun, "cuda-log start cuMemAlloc", "delete", "continue", "cuda-log show",
                       hook=hook)  # fmt: skip
    assert re.search(r"T1  hook +cuMemAlloc_v2\(.*\n.*T1  driver +cuMemAlloc_v2\(", log)


def test_a_caller_without_a_name(scenario: Scenario, compile_c) -> None:
    """It is at an offset in its file, the same in every run, where it stops and in the log."""
    hook = compile_c("libasked.so", BY_DLSYM, "-shared", "-fvisibility=hidden", "-O0", "-s")
    text = scenario.run("dlsym_alloc", "cuda-log start cuMemAlloc", "cuda-break cuMemAlloc --in driver", "RUN",
                        "cuda-log show", hook=hook)  # fmt: skip
    stop, line = re.findall(r"called by (\S+ \S+), thread 1|driver   cuMemAlloc_v2\(.*  by (.*)", text)[0:2]
    assert re.fullmatch(r"hook libasked.so\+0x[0-9a-f]{3,5}", stop[0]) and f"hook {line[1]}" == stop[0], text


@pytest.mark.parametrize("guard", ["auto", "off"])
@pytest.mark.parametrize("count, sizes", [
    ("nth == 2", [(1 << 30) + 1]), ("every 2", [(1 << 30) + 1]), ("after 1", [(1 << 30) + 1, 3 << 30])
])  # fmt: skip
def test_calls_are_counted_there(
    scenario: Scenario, compile_c, guard: str, count: str, sizes: list[int]
) -> None:
    """And not the hook's own call of the driver, whose entry was guarded before the slot was seen."""
    hook = compile_c("libslots.so", SLOTS, "-shared")
    text = scenario.run("test_alloc", f"set cuda-guard {guard}", f"cuda-break cuMemAlloc --from any if {count}", "RUN",
                        *["continue"] * len(sizes), hook=hook)  # fmt: skip
    assert stops(text) == ["hook libslots.so own_alloc for"] * len(sizes)
    assert [int(size) for size in re.findall(r"bytesize=(\d+) ", text)] == sizes
    assert "exited with code 01" in text


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


@pytest.mark.parametrize("log, flags", [("on", ()), ("off", ()), ("off", ("-DISLAND",))])
def test_an_answer_of_cuGetProcAddress(scenario: Scenario, compile_c, log: str, flags: tuple[str, ...]) -> None:
    """The hook's own one, found by asking for it: who asks that is the program, not the hook."""
    hook = compile_c("libgets.so", BY_PROC_ADDRESS, "-shared", "-fvisibility=hidden", *flags)
    for program, asker in ("runtime_alloc", "runtime"), (compile_c("asks", ASKS_TWICE, f"-I{scenario.shim}"), "app"):
        text = scenario.run(program, f"cuda-dlsym log {log}", "cuda-break cuMemAlloc", "RUN",
                            "cuda-dlsym log show cuMemAlloc", hook=hook)  # fmt: skip
        name = "libgets.so's cuGetProcAddress_v2 answers cuMemAlloc_v2 as cuMemAlloc with it"
        assert [how for *_, how in MADE.findall(text)] == [name]
        assert stops(text) == ["hook libgets.so own_alloc for"]
        assert re.search(rf"cuGetProcAddress_v2 of libgets.so +cuMemAlloc at \d+ +{asker} .* own_alloc +hooked", text)


LATE = """
#include <dlfcn.h>
int cuInit(unsigned), cuDevicePrimaryCtxRetain(void **, int), cuCtxSetCurrent(void *);
int cuMemAlloc_v2(unsigned long long *, unsigned long);
int main(int count, char **words)
{
    void *context, *hook = dlopen(words[1], RTLD_NOW);
    unsigned long long block;
    cuInit(0), cuDevicePrimaryCtxRetain(&context, 0), cuCtxSetCurrent(context);
    ((void (*)(void))dlsym(hook, "begin"))();
    for (unsigned long bytes = 1; bytes < 4; bytes++)
        cuMemAlloc_v2(&block, bytes << 12);
    return count - 2;
}
"""


def test_slots_that_are_rewritten_later_are_known_when_somebody_looks(scenario: Scenario, compile_c) -> None:
    """As UCX does it. The library is none of the program's any more: the breakpoint and the log go to its code."""
    begin = "__attribute__((constructor)) static void begin(void)"
    library = compile_c("liblate.so", SLOTS.replace(begin, "void begin(void)"), "-shared")
    program = compile_c("program", LATE, f"-L{scenario.shim}/standin", "-l:libcuda.so.1")
    text = scenario.run(program, "cuda-break cuMemAlloc", "cuda-log start cuMemAlloc", "RUN", "cuda-layers",
                        "continue", "continue", "cuda-log show", hook=None, arguments=(str(library),))  # fmt: skip
    assert MADE.findall(text) == [("2", "liblate.so", "own_alloc", "the slot of program leads there")]
    assert stops(text) == ["driver libcuda.so.1", *["hook liblate.so own_alloc for"] * 2], text
    recorded = re.findall(r"T1  (\w+) +cuMemAlloc_v2\(.*?bytesize=(\d+)", text)
    assert recorded == [("driver", "4096"), ("hook", "8192"), ("driver", "8192"), ("hook", "12288")], text
