"""cuda-log in a real gdb: the calls that the program made, all of them, in order, and nothing else changed."""

from __future__ import annotations

import os
import re
import subprocess
from collections import defaultdict
from pathlib import Path

import log_files
import pytest
from idle_gdb import IdleGdb
from scenario import Scenario

KINDS = ("cuMemAlloc_v2", "cuMemFree_v2", "cuMemsetD8_v2", "cuMemcpyDtoH_v2")
START = "cuda-log start cuMemAlloc cuMemFree cuMemsetD8 cuMemcpyDtoH --in hook"


def calls_of_sample(number: int, calls: int) -> list[str]:
    """What shim/sample/threads.c does in its thread of that number: the same generator, the same decisions."""
    random, slots, made = number + 1, [False] * 8, []

    def below(limit: int) -> int:
        nonlocal random
        random = (random * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return (random >> 33) % (1 << 32) % limit

    while len(made) < calls:
        slot = below(8)
        if not slots[slot]:
            below(65536)
            slots[slot] = True
            made.append(KINDS[0])
        elif calls - len(made) < 2 or below(4) == 0:
            slots[slot] = False
            made.append(KINDS[1])
        else:
            below(256)
            made += KINDS[2:]
    return made


def by_thread(found: list[dict]) -> list[list[dict]]:
    threads = defaultdict(list)
    for event in found:
        if event["phase"] == "B":
            threads[event["lwp"]].append(event)  # in the order of creation; gdb numbers them as it notices them
    return [threads[number] for number in sorted(threads)]



@pytest.mark.parametrize("place", ["local", "gdbserver"])
def test_exactly_the_calls_that_the_program_counted(
    shim: Path, tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """8 threads, 6,400 calls; each with its end, in its thread's order; and the program prints what it does alone."""
    monkeypatch.setattr("scenario.SECONDS", 600)  # through gdbserver each call is 2 ms, more on a busy machine
    scenario, path, calls = Scenario(shim, place), tmp_path / "log", 800
    arguments = ("8", str(calls))
    text = scenario.run("threads", f"{START} --to {path}", "RUN", "cuda-log", arguments=arguments)
    found = log_files.lines(path)
    recorded = by_thread(found)
    assert [[event["name"] for event in thread] for thread in recorded] == [
        calls_of_sample(number, calls) for number in range(8)
    ]
    ends = {event["op_id"]: event for event in found if event["phase"] == "E"}
    begins = {event["op_id"]: event for event in found if event["phase"] == "B"}
    assert ends.keys() == begins.keys()
    assert all(ends[number]["name"] == begin["name"] for number, begin in begins.items())
    assert all(ends[number]["ts"] >= begin["ts"] for number, begin in begins.items())
    assert all(end["details"]["status"] == 0 for end in ends.values())
    alone = subprocess.run([scenario.sample("threads"), *arguments], env=scenario.environment(), check=True,
                           capture_output=True, text=True, timeout=60).stdout  # fmt: skip
    assert [line for line in alone.splitlines() if line not in text] == []  # behind half a line of gdb's own, at times
    assert f"{8 * calls} calls kept" in text
    assert "could not be read" not in text


@pytest.mark.smoke("local")
def test_calls_nest_from_the_program_to_the_driver(scenario: Scenario) -> None:
    text = scenario.run(
        "runtime_alloc", "cuda-log start cudaMalloc cuMemAlloc", "RUN", "cuda-log show --tree", "cuda-log stop"
    )
    shown = re.findall(r"^#\d+ +[\d.]+  T1  (\w+) +( *)(\w+)\(", text, re.MULTILINE)
    first = [(layer, name) for layer, _, name in shown[:4]]
    assert first == [("hook", "cudaMalloc"), ("runtime", "cudaMalloc"), ("hook", "cuMemAlloc_v2"),
                     ("driver", "cuMemAlloc_v2")]  # fmt: skip
    names = [name for _, _, name in shown]
    assert len(shown) == 24 and names.count("cudaFree") == names.count("cuMemFree_v2") == 6  # what goes back with it
    assert re.search(r"hook +cudaMalloc\(devPtr=0x\w+ -> 0x\w+, size=67108864 \[64\.00 MiB\]\) = cudaSuccess .* "
                     r"by allocate_buffer at runtime_alloc\.c:\d+", text)  # fmt: skip


def test_it_goes_with_the_users_breakpoints_and_stepping(scenario: Scenario) -> None:
    text = scenario.run(
        "test_alloc", "cuda-log start cuMemAlloc cuMemFree --in hook", "cuda-break cuMemAlloc", "RUN", "finish",
        "continue", "next", "step", "delete", "continue", "cuda-log show",
    )  # fmt: skip
    assert text.count("Breakpoint 1  hook") == 2
    assert "Value returned" in text or "Run till exit" in text
    assert re.findall(r"^#\d+ .*hook +(\w+)\(", text, re.MULTILINE) == ["cuMemAlloc_v2"] * 3 + ["cuMemFree_v2"] * 3
    assert text.count(" = CUDA_SUCCESS  ") == 6


def test_without_stopping_there_is_nothing_of_ours_to_see(local: Scenario) -> None:
    text = local.run("test_alloc", "cuda-log start", "run", "info breakpoints")
    assert "No breakpoints" in text
    assert "Breakpoint 1" not in text and "Program received" not in text


def test_a_second_run_and_a_second_recorder(local: Scenario) -> None:
    text = local.run(
        "test_alloc", "cuda-log start cuMemAlloc --in hook", "run", "run", "cuda-log start cuMemFree --in hook", "run",
        "cuda-log stop", "run", "cuda-log show",
    )  # fmt: skip
    names = re.findall(r"^#(\d+) .*hook +(\w+)\(", text, re.MULTILINE)
    both = ["cuMemAlloc_v2"] * 3 + ["cuMemFree_v2"] * 3
    assert [name for _, name in names] == [*both, *both, *["cuMemFree_v2"] * 3]
    assert [int(number) for number, _ in names] == list(range(15))
    assert "Cannot" not in text


UNWINDING = """
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
static jmp_buf back;
static int depth;
int cuInit(unsigned int flags) { if (flags) return cuInit(flags - 1); return 0; }
int cuMemFree_v2(unsigned long long pointer) { longjmp(back, 1); }
int cuMemFreeHost(void *p) { pthread_exit(0); }
int cuCtxDetach(void *ctx);
int cuCtxSynchronize(void) { return 7; }
static void *work(void *p) { cuMemFreeHost(p); return 0; }
int main(void) {
    pthread_t thread;
    for (int i = 0; i < 3; i++)
        if (!setjmp(back)) { cuMemFree_v2(i); depth++; }
    cuInit(3);
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    cuCtxSynchronize();
    return 0;
}
"""


def test_longjmp_recursion_and_thread_exit_leave_nothing_stale(scenario: Scenario, compile_c, tmp_path) -> None:
    program, log = compile_c("unwinding", UNWINDING, "-pthread", "-rdynamic"), tmp_path / "log"
    scenario.run(program, f"cuda-log start --to {log}", "RUN", hook=None)
    found = log_files.lines(log)
    shown = [(e["name"], e["depth"]) for e in found if e["phase"] == "B"]
    assert shown == [*[("cuMemFree_v2", 0)] * 3, *[("cuInit", depth) for depth in range(4)], ("cuMemFreeHost", 0),
                     ("cuCtxSynchronize", 0)]  # fmt: skip
    ends = [(e["name"], e["details"].get("ended", e["details"].get("status"))) for e in found if e["phase"] == "E"]
    assert ends[:7] == [("cuMemFree_v2", "unwound")] * 3 + [("cuInit", 0)] * 4
    assert set(ends[7:]) == {("cuMemFreeHost", "process ended"), ("cuCtxSynchronize", 7)}


CRASH = """
#include <stdlib.h>
int cuMemFree_v2(unsigned long long pointer) { return *(volatile int *)pointer; }
int cuInit(unsigned int flags) { return 0; }
int main(void) { for (unsigned int i = 0; i < 20; i++) cuInit(i); return cuMemFree_v2(16); }
"""


def test_the_last_calls_before_a_crash_show_by_themselves(scenario: Scenario, compile_c) -> None:
    program = compile_c("crash", CRASH, "-rdynamic")
    text = scenario.run(program, "set cuda-log-limit 5", "cuda-log start", "RUN", "cuda-log", hook=None)
    shown = text.partition("the last calls of thread 1:\n")[2]
    assert re.findall(r"^#(\d+)", shown, re.MULTILINE) == ["16", "17", "18", "19", "20"]
    assert re.search(r"cuMemFree_v2\(dptr=0x10\) \.\.\. not over  by main at crash\.c:5", shown)
    assert "5 calls kept, 16 earlier ones are not" in text


def test_what_is_not_kept_is_told_by_every_view(local: Scenario, tmp_path: Path) -> None:
    """Else the end of a run is read as the run: "3 calls", "0 calls changed anything"."""
    views = ("cuda-log show", "cuda-log show --changed", "cuda-log show cuInit", "cuda-log summary", "cuda-coverage",
             f"cuda-log diff {tmp_path}/first.jsonl")  # fmt: skip
    text = local.run("test_alloc", "set cuda-log-limit 3", f"cuda-log start --to {tmp_path}/first.jsonl", "RUN",
                     *(word for view in views for word in (f"echo @{view}\\n", view)), "echo @\\n",
                     f"cuda-log save {tmp_path}/kept.jsonl")  # fmt: skip
    shown = text.split("\n@")[1:]
    told = r"^Of (\d+) earlier calls nothing is known here: set cuda-log-limit 0, or cuda-log start --to FILE$"
    lost = re.search(told, shown[0], re.MULTILINE)
    assert lost and int(lost[1]) > 10, shown[0]
    for view in shown[: len(views)]:
        assert " ".join(view.split()).count(lost[0]) == 1, view
    assert f"3 calls written to {tmp_path}/kept.jsonl. {lost[1]} earlier ones were not kept: cuda-log start" in text


def test_a_killed_debugger_loses_nothing_that_was_over(local: Scenario, tmp_path: Path) -> None:
    log = tmp_path / "log"
    local.run(
        "test_alloc", f"cuda-log start cuMemAlloc cuMemFree --in hook --to {log}", "cuda-break cuMemFree", "run",
        "python import os; os.system('kill -9 %d %d' % (gdb.selected_inferior().pid, os.getpid()))",
    )  # fmt: skip
    found = log_files.lines(log)
    assert [e["name"] for e in found if e["phase"] == "E"] == ["cuMemAlloc_v2"] * 3
    assert [e["name"] for e in found if e["phase"] == "B"][-1] == "cuMemFree_v2"


def test_no_word_of_leaks_where_frees_are_not_recorded(local: Scenario) -> None:
    text = local.run("test_alloc", "cuda-log start cuMemAlloc", "run")
    assert "exited" in text and "not freed" not in text


def test_the_files_are_known_by_their_build_ids(scenario: Scenario, tmp_path: Path) -> None:
    """The program's in the header, for nothing else was loaded then; the others in lines of their own."""
    log = tmp_path / "log"
    scenario.run("runtime_alloc", f"cuda-log start cudaMalloc --to {log}", "RUN")
    header, *lines = log_files.lines(log)
    files = [*header["objects"], *(e["details"] for e in lines if e["phase"] == "M" and e["name"] == "object")]
    known = {os.path.basename(one["file"]): one["build_id"] for one in files}
    assert [one["file"] for one in header["objects"]] == [str(scenario.sample("runtime_alloc"))]
    for path in (scenario.sample("runtime_alloc"), scenario.hook, scenario.shim / "standin" / "libcuda.so.1"):
        notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
        assert f"Build ID: {known[path.name]}" in notes
    assert {e["inferior"] for e in lines if e["phase"] == "B"} == {1}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("cuda-log start cuNothing", "no function 'cuNothing'"),
        ("cuda-log start all", "the hook library; all of them are '*'"),
        ("cuda-log start if bytesize > 1", "name those to record"),
        ("cuda-log start cuMemAlloc if nothing > 1", "bytesize"),
        ("cuda-log start --stack many", "--stack is a number, not 'many', for example: cuda-log start cudaMalloc"),
        ("cuda-log start --to /proc/none", "cannot write"),
        ("cuda-log start --to /dev/full", "cannot write /dev/full: no space left on device"),
        ("cuda-log stop", "no recorder is at work"),
        ("cuda-log show --last some", "--last is a number, not 'some', for example: cuda-log show --tree --last 100"),
        ("cuda-log save /proc/none", "cannot write"),
        ("cuda-log show cuMemAlloc fi bytesize == 3", "a condition begins with if, as in: cuda-log show if bytesize >"),
        ("cuda-log show cuMemAlocc", "did you mean cuMemAlloc?"),
        ("cuda-log start main", "'main' is a function of the program or the hook library, and none of the API: "
                                 "calls of those alone are looked at; a stop there: cuda-break main"),
        ("cuda-log show cuMemAlloc if bytesiz == 3", 'no parameter "bytesiz"; it has dptr, bytesize'),
        ("cuda-log diff", "FIRST is missing, for example: cuda-log diff without.jsonl"),
        ("cuda-log diff /nothing", "cannot read /nothing: no such file"),
        ("cuda-log summary if bytesiz == 3", "did you mean bytesize?"),
    ],
)
def test_mistakes_are_one_line(not_started: IdleGdb, command: str, message: str) -> None:
    text = not_started.run(command)
    assert message in text and len(text.strip().splitlines()) == 1, text


def test_what_is_refused_leaves_no_folder(not_started: IdleGdb, tmp_path: Path) -> None:
    text = not_started.run(f"cuda-log start --fast --keep {tmp_path}/kept --last 262145")
    assert "--last is 262144 at most, not 262145" in text and not any(tmp_path.iterdir()), text


def test_help_and_nothing_recorded(local: Scenario) -> None:
    text = local.run(None, "cuda-log", "cuda-log show", hook=None, environment={"PATH": os.environ["PATH"]})
    assert "The recorder is off; 0 calls kept" in text and "Nothing is recorded: cuda-log start" in text


def test_an_object_is_asked_once_for_what_is_elsewhere(local: Scenario, compile_c) -> None:
    """Not at each load again. Here the program loads three libraries, one after the other."""
    names = [compile_c(f"lib{name}.so", f"int {name};", "-shared") for name in ("one", "two", "three")]
    opens = "".join(f'dlopen("{name}", RTLD_NOW);' for name in names)
    source = f"#include <dlfcn.h>\nint cuInit(unsigned);\nint main(void) {{ {opens} return cuInit(0); }}"
    program = compile_c("program", source, f"-L{local.shim}/standin", "-lcuda")
    asked = "python from gdbcuda.live.recording.base.planting import divided; print(divided.cache_info())"
    text = local.run(program, "cuda-log start cuMemAlloc --in hook", "set breakpoint pending on", "break _exit", "run",
                     "python print(len(gdb.objfiles()), 'files')", asked)  # fmt: skip
    files, hits, misses = (int(re.search(form, text)[1]) for form in (r"(\d+) files", r"hits=(\d+)", r"misses=(\d+)"))
    assert 3 < misses <= files and hits > misses
