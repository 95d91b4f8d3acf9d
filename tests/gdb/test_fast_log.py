"""cuda-log start --fast: the process itself notes its calls, and they are those that stops see."""

from __future__ import annotations

import functools
import json
import platform
import re
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import log_files
import pytest
from launching import LAUNCH, compile_launching
from of_two_versions import OF_ONE_VERSION, compile_older
from running_program import UNTIL_THREADS_RUN
from scenario import GDB, Scenario
from test_log import KINDS, START, by_thread, calls_of_sample

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the recorder is made for x86-64")
FAST = START.replace("start", "start --fast")
COMPLAINT = r"Warning: ptrace\(regsets.*\n"  # of gdbserver, about newer CPUs


@pytest.fixture(autouse=True)
def _new_enough() -> None:
    if not lists_locations():
        pytest.skip("this gdb does not tell where its breakpoints are while the program goes on: --fast says so")


@functools.cache
def lists_locations() -> bool:
    words = [GDB, "-nx", "-batch", "-ex", "python print(hasattr(gdb, 'BreakpointLocation'))"]
    return "True" in subprocess.run(words, capture_output=True, text=True, check=True).stdout


@pytest.fixture(params=["local", "gdbserver"])
def placed(request: pytest.FixtureRequest, shim: Path) -> Scenario:
    """In both places; gdbserver's wrapper preloads our library behind the hook library."""
    return Scenario(shim, request.param, beside=str(shim / "libgdbcuda.so"))


def renamed(rows: list[Any]) -> Any:
    """Each address by its first place in the log: the kernel hands out others where a ring is mapped. On the stack by
    its first place in the call: a recorder that has a frame there moves what is below, so whether two calls meet at one
    address is chance."""
    seen: dict[str, str] = {}
    return [json.loads(re.sub(r"0x[0-9a-f]{9,}", partial(new_name, seen, {}), json.dumps(row))) for row in rows]


def new_name(seen: dict[str, str], of_call: dict[str, str], found: re.Match[str]) -> str:
    names, kind = (of_call, "local") if found[0].startswith("0x7fffffff") else (seen, "address")
    return names.setdefault(found[0], f"{kind} {len(names)}")


def told(path: Path) -> Any:
    """Of each call what both recorders have to say, in the order of the begins."""
    found = log_files.lines(path)
    ends = {event["op_id"]: event["details"] for event in found if event["phase"] == "E"}
    places = {event["details"]["address"]: event["details"] for event in found if event.get("name") == "place"}
    rows = [
        (one["op_id"], one["parent"], one["layer"], one["object"], one["name"], one["depth"], one["details"],
         ends[one["op_id"]]["result"], ends[one["op_id"]].get("out"), places[one["caller"]]["function"],
         places[one["caller"]]["source"])
        for one in found if one["phase"] == "B"
    ]  # fmt: skip
    return renamed(rows)


# Of test_alloc all functions are recorded; that takes gdb a second each time, and with the runtime's three.
CALLED_BY = {"runtime_alloc": "'cuda[FM]*' 'cu*Mem*' cuInit", "stream_alloc": "'cu*Mem*' 'cuStream*' cuInit"}


@pytest.mark.parametrize("program", ["test_alloc", "runtime_alloc", "stream_alloc", "nvml_info"])
def test_the_same_log_as_by_stops(placed: Scenario, tmp_path: Path, program: str) -> None:
    stops, fast, which = tmp_path / "stops", tmp_path / "fast", CALLED_BY.get(program, "")
    by_stops = placed.run(program, f"cuda-log start {which} --to {stops}", "RUN")
    by_rings = placed.run(program, f"cuda-log start {which} --fast --to {fast}", "RUN", "cuda-log")
    assert len(told(stops)) >= 10
    assert told(fast) == told(stops)
    assert after_start(by_stops) == after_start(by_rings).split("Recording")[0].rstrip("\n"), by_rings


def after_start(text: str) -> str:
    """What the program and gdb say, without our answer."""
    said = text[text.index("from the next run on.") :].rstrip("\n")
    return re.sub(rf"process \d+|0x\w+|{COMPLAINT}", "", said)


def test_every_call_of_every_thread(placed: Scenario, tmp_path: Path) -> None:
    log, arguments = tmp_path / "log", ("8", "2500")
    text = placed.run("threads", f"{FAST} --to {log}", "RUN", "cuda-log", arguments=arguments)
    assert [[event["name"] for event in thread] for thread in by_thread(log_files.lines(log))] == [
        calls_of_sample(number, 2500) for number in range(8)
    ]
    assert "20000 calls kept" in text and "exited normally" in text, text


@pytest.mark.parametrize("which", ["as", "data"])
def test_a_program_with_little_room_keeps_it(placed: Scenario, compile_c, shim: Path, which: str) -> None:
    """The stacks of 16 threads, and 24 MB; rings beside them."""
    source = (Path(__file__).parents[1] / "little_room.c").read_text()
    program = compile_c("little_room", source, f"-L{shim}/standin", "-lcuda", "-pthread")
    text = placed.run(program, "cuda-log start --fast --in driver", "RUN", "cuda-log", arguments=(which, "16"))
    assert "exited normally" in text and "641 calls kept" in text, text


def test_at_a_stop_all_is_as_without(placed: Scenario) -> None:
    """The functions have their own bytes, frames and callers are the program's, and stepping goes where it would."""
    words = (
        "set breakpoint pending on", "break cuMemAlloc_v2", "RUN", "bt", "x/6i cuMemAlloc_v2", "x/6i cuMemFree_v2",
        "next", "step", "finish", "next", "info symbol $pc", "tbreak cuMemFree_v2", "continue", "cuda-call",
        "x/3i $pc-8", "delete", "continue",
    )  # fmt: skip
    alone = placed.run("test_alloc", "cuda-memory", *words)
    fast = placed.run("test_alloc", "cuda-log start --fast", *words, "cuda-log")
    begin = "cuMemAlloc_v2 (dptr="
    assert "exited normally" in alone
    assert unnumbered(fast[fast.index(begin) :]).startswith(unnumbered(alone[alone.index(begin) :]).rstrip("\n")), fast
    assert re.search(r"[34]\d calls kept", fast), fast


def unnumbered(text: str) -> str:
    """`bt` leaves the recorder's frames out, and gdb goes on counting; stacks are deeper."""
    text = re.sub(rf"0x7f\w+|process \d+|{COMPLAINT}", "", text)
    return re.sub(r"^#\d+ ", "# ", text, flags=re.MULTILINE)


def test_a_stop_between_loses_nothing(placed: Scenario, tmp_path: Path) -> None:
    """What is open at a stop is told its end by a later one; the tree is that of a run without stops."""
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    placed.run("test_alloc", f"cuda-log start --fast --to {whole}", "RUN")
    goes_on = ["continue"] * 20
    placed.run("test_alloc", f"cuda-log start --fast --to {parts}", "break ledger.c:47", "RUN", *goes_on)
    assert told(parts) == told(whole)


def test_recorded_from_a_stop_on_and_again(placed: Scenario) -> None:
    text = placed.run(
        "test_alloc", "cuda-load", "tbreak main", "RUN", "next", "cuda-log start --fast cuMemAlloc --in hook,driver",
        "tbreak copy_there_and_back", "continue", "cuda-log show", "cuda-log stop", "cuda-log clear",
        "cuda-log start --fast cuMemFree --in driver", "tbreak show_memory", "continue", "cuda-log show",
    )  # fmt: skip
    assert "This process has not libgdbcuda.so" not in text, text
    first, second = text.split("calls forgotten")
    assert len(re.findall(r"#\d+ .* hook +cuMemAlloc_v2", first)) == 3, text
    assert len(re.findall(r"#\d+ .* driver +cuMemAlloc_v2", first)) == 3, text
    assert len(re.findall(r"#\d+ .* driver +cuMemFree_v2.*SUCCESS", second)) == 3 and "cuMemAlloc" not in second, text


def test_a_condition_is_asked_in_the_process(placed: Scenario) -> None:
    start = "cuda-log start --fast cuMemAlloc --in hook if bytesize > 1G"
    text = placed.run("test_alloc", start, "RUN", "cuda-log show")
    found = re.findall(r"#\d+ .*bytesize=(\d+)", text)
    assert found == ["1073741825", "3221225472"], text


def test_only_what_some_layer_calls(placed: Scenario) -> None:
    text = placed.run("test_alloc", "cuda-log start --fast cuCtxGetDevice --from hook", "RUN", "cuda-log show")
    assert re.search(r"#0 .* by current_device at limit.c", text), text
    assert "use_first_device" not in text


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("cuda-log start --fast --stack 3", "--stack needs the debugger at each call"),
        ("cuda-log start --fast cuMemAlloc if nth == 2", "a condition is on the arguments alone"),
        ("cuda-log start --fast cuMemAlloc if caller in app", "a condition is on the arguments alone"),
    ],
)
def test_what_it_cannot_do_is_one_line(local: Scenario, words: str, answer: str) -> None:
    text = local.run("test_alloc", words, "cuda-log")
    assert answer in text and "The recorder is off" in text, text


def test_through_gdbserver_it_says_how_the_library_comes_there(shim: Path) -> None:
    text = Scenario(shim, "gdbserver").run("test_alloc", "tbreak main", "RUN", "cuda-log start --fast")
    value = f"{shim}/libgdbcuda-hook.so:/ITS/PLACE/THERE/libgdbcuda.so"
    line = f"start it with  gdbserver --wrapper env LD_PRELOAD={value} -- "
    assert f"This process has not libgdbcuda.so: {line}" in text, text


def test_a_folder_that_no_far_process_writes_into(placed: Scenario, tmp_path: Path) -> None:
    """The command may be typed before gdb is connected."""
    words = (f"cuda-log start --fast --keep {tmp_path / 'kept'} --stack 3", "RUN", "continue", "cuda-log")
    text = placed.run("test_alloc", *words)
    is_far = placed.place == "gdbserver"
    assert ("--keep is of processes of this machine" in text) == is_far and "calls kept" in text, text
    assert bool(list((tmp_path / "kept").glob("*.process"))) != is_far and "exited normally" in text, text


def test_a_gdbserver_that_starts_the_program_preloads_it(local: Scenario) -> None:
    server = "target extended-remote | gdbserver --multi -"
    there = f"set remote exec-file {local.sample('threads')}"
    text = local.run("threads", FAST, server, there, "run", "cuda-log", arguments=("2", "200"))
    assert "exited normally" in text and "400 calls kept" in text, text


def test_what_a_far_machine_lacks_is_one_line(local: Scenario) -> None:
    program = f"import os; os.execv({str(local.sample('threads'))!r}, ['threads', '1', '100000000'])"
    hide = "python import gdbcuda.live.process as one; one.is_there = lambda name: name == '/'"
    start = f"python import subprocess; p = subprocess.Popen(['env', '-u', 'PYTHONHOME', 'python3', '-c', {program!r}])"
    attach = "python gdb.execute(f'target remote | gdbserver --once --attach - {p.pid}')"
    words = (hide, start, UNTIL_THREADS_RUN, attach, "cuda-log start --fast", "kill", "python p.wait()")
    text = local.run("threads", *words, hook=None)
    assert re.search(r"cannot be loaded into this process: its machine has no /\S+/libgdbcuda.so$", text, re.M), text


@pytest.mark.parametrize("attach", ["attach {}", "target remote | gdbserver --once --attach - {}"])
def test_a_process_that_was_killed_meanwhile_has_ended(local: Scenario, attach: str) -> None:
    """gdb has not heard of it yet. The process is no other machine's for that, and its machine lacks no file."""
    line = [str(local.sample("threads")), "1", "100000000"]
    start = f"python import subprocess, time; p = subprocess.Popen({line})"
    attached = f"python gdb.execute({attach!r}.format(p.pid))"
    killed = "python p.kill(); time.sleep(1)"
    text = local.run("threads", start, UNTIL_THREADS_RUN, attached, killed, "cuda-log start --fast", hook=None)
    assert "cuda-log start: the program has ended" in text and "container" not in text, text


def test_a_program_without_a_hook_library(placed: Scenario) -> None:
    """Our library is preloaded alone."""
    text = placed.run("test_alloc", "cuda-log start --fast", "RUN", "cuda-log show --tree", hook=None)
    assert re.search(r"driver +cuMemAlloc_v2\(.* by allocate_buffer at test_alloc.c", text), text
    assert "hook" not in text.replace("cuda-load", ""), text


def test_calls_that_were_overwritten_are_counted(placed: Scenario) -> None:
    watching = f"source {Path(__file__).parent / 'collecting.py'}"
    text = placed.run("threads", watching, FAST, "RUN", "cuda-log", "python print(looking)", "cuda-log summary",
                      "cuda-log stop", "cuda-log show --last 1", arguments=("1", "20000"))  # fmt: skip
    said = "\n11808 calls were overwritten before the program stopped.\n"
    assert "8192 calls kept" in text and text.count(said) == 3, text
    assert "\nset()\n" in text, "Python looks for cycles among the calls, again and again"


FREES_MANY = """
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize), cuMemFree_v2(unsigned long long dptr);
static unsigned long long next = 1ul << 32, kept[20], one;
#ifdef HOOK
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long bytesize) { *dptr = next += bytesize; return 0; }
int cuMemFree_v2(unsigned long long dptr) { return !dptr; }
#else
void spot(void) {}
int main(void)
{
    for (int i = 0; i < 20; i++)
        cuMemAlloc_v2(&kept[i], 4096);
    spot();
    for (int i = 0; i < 20; i++)
        cuMemFree_v2(kept[i]);
    for (int i = 0; i < 5000; i++)
        cuMemAlloc_v2(&one, 4096), cuMemFree_v2(one);
    return (int)(next & 1);
}
#endif
"""


def test_frees_that_were_overwritten_make_no_leak(placed: Scenario, compile_c, tmp_path: Path) -> None:
    hook = compile_c("libhook.so", FREES_MANY, "-shared", "-DHOOK")
    program = compile_c("program", FREES_MANY, str(hook), f"-Wl,-rpath,{tmp_path}")
    text = placed.run(program, FAST, "break spot", "RUN", "cuda-memory", "continue", "cuda-memory leaks", hook=hook)
    assert "20 blocks: device 81920" in text and "Not freed" not in text and "not freed at exit" not in text, text
    said = "Unknown whether freed: 20 blocks: device 81920 [80.00 KiB] in 20; not every call of cuMemFree"
    assert said in text and "(gdbcuda trace --all records them)" in text, text


@pytest.mark.parametrize("order", [0, 1])
def test_guarded_functions_are_recorded_too(placed: Scenario, tmp_path: Path, order: int) -> None:
    """Calls that match and calls that do not, whether the breakpoint or the recorder was there first."""
    alone, beside = tmp_path / "alone", tmp_path / "beside"
    placed.run("test_alloc", f"cuda-log start --fast --to {alone}", "RUN")
    words = ["cuda-break cuMemAlloc if bytesize > 1G", f"cuda-log start --fast --to {beside}"]
    stops = ("RUN", "cuda-guards", "bt 2", "continue", "cuda-break cuMemFree if dptr == 1", "continue", "continue",
             "cuda-log")  # fmt: skip
    text = placed.run("test_alloc", *(words[::-1] if order else words), *stops)
    stop = r"^Breakpoint 1 +hook libgdbcuda-hook.so +cuMemAlloc_v2.*\n +called by app allocate_buffer\(\)"
    assert len(re.findall(stop, text, re.MULTILINE)) == 2, text
    assert re.search("^1 +in the process ", text, re.MULTILINE) and "; guarded" in text, text
    assert told(beside) == told(alone) and "missing" not in text, text


def test_every_call_of_every_thread_beside_a_guard(placed: Scenario, tmp_path: Path) -> None:
    log, arguments = tmp_path / "log", ("8", "1000")
    silent = "python gdb.breakpoints()[0].silent = True; gdb.breakpoints()[0].commands = 'continue'"
    stop = "cuda-break cuMemAlloc --in hook if bytesize > 65000"
    alone = placed.run("threads", "RUN", arguments=arguments)
    text = placed.run(
        "threads", stop, silent, f"{FAST} --to {log}", "tbreak main", "RUN", "continue", "info breakpoints",
        arguments=arguments,
    )  # fmt: skip
    found = log_files.lines(log)
    sizes = [one["details"]["bytesize"] for one in found if one["phase"] == "B" and one["name"] == KINDS[0]]
    assert [[event["name"] for event in thread] for thread in by_thread(found)] == [
        calls_of_sample(number, 1000) for number in range(8)
    ]
    assert f"already hit {sum(size > 65000 for size in sizes)} times" in text, text
    assert set(re.findall("thread .*checksum .*", alone)) == set(re.findall("thread .*checksum .*", text))


def test_a_launch_is_recorded_as_by_stops(shim: Path, tmp_path: Path) -> None:
    program, stops, fast = compile_launching(shim, tmp_path), tmp_path / "stops", tmp_path / "fast"
    for to, how in ((stops, ""), (fast, "--fast")):
        Scenario(shim).run(program, f"cuda-log start {how} --in runtime --to {to}", "RUN")
    assert [row[4] for row in told(fast)] == LAUNCH
    assert [row[:8] for row in told(fast)] == [row[:8] for row in told(stops)]


@pytest.mark.parametrize("how", ["", "--fast"])
def test_functions_that_only_one_of_two_versions_has(shim: Path, tmp_path: Path, how: str) -> None:
    """What to record is said before anybody knows which runtime the program has."""
    program, log = compile_older(shim, tmp_path), tmp_path / "log"
    text = Scenario(shim).run(program, f"cuda-log start 'cuda*' 'cuCtx*' {how} --to {log}", "RUN")
    called = [row[4] for row in told(log) if row[5] == 0]
    assert called == OF_ONE_VERSION and "fault of gdbcuda" not in text, text
