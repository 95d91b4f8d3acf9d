"""What counts as a difference, over outcomes made by hand and over this process's own memory."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
from dataclasses import replace
from typing import Any

import judging
import pytest
import segments
from building import Build
from cases import Finding
from kinds import files
from playing import Outcome
from sessions import Session
from watches import Watch

GOOD = ["= fork 0: exit 40", "= damaged registers 0, wrong calls 0", "= end"]
COUNT = "# count 0 cuMemAlloc_v2 alpha 1 3 3298534883334"
COUNTED = ["# holding", COUNT, "# count 1 cuMemAlloc_v2 beta 0 9 90"]


def played(lines: list[str], *notes: dict[str, Any], status: int = 3, **more: Any) -> Outcome:
    return Outcome(out=[*lines, *COUNTED], notes=list(notes), status=status, gdb_status=0, **more)


def stops(*sizes: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"what": "watch", "index": 0, "numbers": [2]}]
    for size in sizes:
        found += [{"what": "stop", "watches": [0]}, {"what": "size", "watch": 0, "value": size}]
    return found


def kinds(build: Build, watch: Watch, run: Outcome, end: str = "exits") -> set[str]:
    plain = Outcome(out=GOOD, status=3)
    session = Session("local", end, "nothing", [watch])
    return {one.kind for one in judging.differences(build, session, plain, run, False)}


def test_a_breakpoint_of_gdbs_that_the_program_has_copied(build: Build) -> None:
    """gdb takes its breakpoint away, and the program puts back what was there when it patched its own function."""
    trap = 'Thread 1 "program" received signal SIGTRAP, Trace/breakpoint trap.\n0x%016x in cuMemAlloc_v2 () from x.so\n'
    wrong = [*GOOD, "= wrong: cuMemAlloc_v2(0x5) made 0x1, not 0x2, and returned 0", "# patched 0x7ffff7fbc139"]
    watch = Watch("", "", "", ["cuMemAlloc_v2"])
    assert kinds(build, watch, played(wrong, text=trap % 0x7FFFF7FBC13A)) == {judging.GDBS}
    assert kinds(build, watch, played(wrong, text=trap % 0x7FFFF7FBC139)) == {"result"}


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("f3 b8 63 c1 bc ba 86 55 00 00 ff e0", {judging.GDBS}),  # endbr64 began so
        ("48 b8 63 c1 bc ba 86 55 00 00 ff e0", {"died"}),
        ("e9 d2 02 00 00 bc 86 55 00 00 ff e0", {"died"}),
        ("f3 b8 63 c1 bc ba 86 55 00 00 ff 90", {"died"}),
    ],
)
def test_a_breakpoint_of_gdbs_that_the_program_has_written_over(build: Build, code: str, found: set[str]) -> None:
    """gdb puts back the one byte below it, and nothing else of the program's jump is changed."""
    signal = {"what": "signal", "signal": "SIGSEGV", "thread": 1, "there": f"0x7fb0: 00 f3 0f {code} 90 90"}
    run = played(["# patched 0x7fb3", *GOOD], signal, status=-11)
    watch = Watch("", "", "", ["cuMemAlloc_v2"])
    assert kinds(build, watch, run) == found
    assert kinds(build, watch, replace(run, notes=[{**signal, "there": "?"}])) == {"died"}


@pytest.mark.parametrize(
    ("start", "end", "walks", "found"),
    [
        ("server", "detaches", "0 of few", []),
        ("attach_server", "quits", "0 of few", []),
        ("local", "detaches", "0 of few", ["unwinding"]),
        ("server", "exits", "0 of few", ["unwinding"]),
        ("server", "detaches", "1 of few", ["unwinding"]),
    ],
)
def test_a_timer_whose_signal_a_gdbserver_has_lost(start: str, end: str, walks: str, found: list[str]) -> None:
    plain = Outcome(out=["= backtraces: 0 of many lost", "= end"], status=3)
    run = Outcome(out=[f"= backtraces: {walks} lost", "= end"], status=3)
    assert [one.kind for one in judging.of_lines(Session(start, end, "nothing", []), plain, run)] == found


@pytest.mark.parametrize(("kernel", "found"), [([7, 8, 9], {"hits"}), ([7, 9, 8], set())])
def test_threads_that_gdb_numbers_in_another_order(build: Build, kernel: list[int], found: set[str]) -> None:
    watch = Watch("", "", "", ["cuMemAlloc_v2"], size_class=1, thread=1)
    run = played(GOOD, *stops(*SIZES, SIZES[0]), {"what": "threads", "kernel": kernel})
    assert kinds(build, watch, run) == found


SIZES = [(1 << 40) + 1, (1 << 40) + 2, (1 << 40) + 3]


@pytest.mark.parametrize(
    ("run", "found"),
    [
        (played(GOOD, *stops(*SIZES)), set()),
        (played(GOOD, *stops(*SIZES), status=-11), {"status"}),
        (played(["= fork 0: signal 5", *GOOD[1:]], *stops(*SIZES)), {"child"}),
        (played([GOOD[0], "= damaged registers 0x1, wrong calls 0", GOOD[2]], *stops(*SIZES)), {"registers"}),
        (played([*GOOD, "= wrong: cuMemAlloc_v2(0x5) made 0x1, not 0x2, and returned 0"], *stops(*SIZES)), {"result"}),
        (played(GOOD[:1], *stops(*SIZES)), {"died"}),
        (played(GOOD, *stops(*SIZES[:2])), {"hits"}),
        (played(GOOD, *stops(*SIZES, SIZES[0])), {"hits"}),
        (played(GOOD, *stops(*SIZES[:2], SIZES[0])), {"arguments"}),
        (played(GOOD, *stops(*SIZES[:2], 77)), {"arguments"}),
        (played(GOOD, *stops(*SIZES), text="Python Exception <class 'KeyError'>"), {"python"}),
        (played(GOOD, *stops(*SIZES), text="\x1b[31m"), {"escape"}),
        (played(GOOD, *stops(*SIZES), memory=["code of libhook.so+0x1000, 1 bytes: 90, not cc"]), {"code"}),
        (played(GOOD, *stops(*SIZES), left=["process 1 is left over"]), {"left over"}),
        (played(GOOD[:1], *stops(*SIZES), status=-5), {"died"}),
        (played(GOOD, *stops(*SIZES), stuck="gdb S"), {"stuck"}),
        (played(GOOD[:1], *stops(*SIZES), stuck="gdb S", slow=True), {"slow"}),
    ],
)
def test_differences(build: Build, watch: Watch, run: Outcome, found: set[str]) -> None:
    assert kinds(build, watch, run) == found


def test_hits_count_from_the_last_run_on(build: Build, watch: Watch) -> None:
    run = played(GOOD, *stops(*SIZES, *SIZES), {"what": "rerun"}, *stops(*SIZES)[1:])
    assert kinds(build, watch, run, end="reruns") == set()
    assert kinds(build, watch, run) == {"hits"}


@pytest.mark.parametrize(("made", "found"), [("Breakpoint 5, of 2", set()), ("Breakpoint 5, of 3", {"hits"})])
def test_stops_of_a_breakpoint_that_was_made_for_another_one(
    build: Build, watch: Watch, made: str, found: set[str]
) -> None:
    """In each run on code of another name, which answers for the function."""
    said = f"{made}: hook libhook.so one, which answers for cuMemAlloc_v2: the slot of program leads there"
    text = "\n".join([said, *["Breakpoint 5  hook libhook.so one for  cuMemAlloc_v2(bytesize=7)"] * 3])
    assert kinds(build, watch, played(GOOD, *stops(), text=text)) == found


@pytest.mark.parametrize(
    ("start", "parts", "found"),
    [("server", ["signals"], set()), ("server", [], {"hits"}), ("local", ["signals"], {"hits"})],
)
def test_a_call_that_a_signal_interrupts_stops_twice_through_a_gdbserver(
    build: Build, watch: Watch, start: str, parts: list[str], found: set[str]
) -> None:
    build = replace(build, parts=[one for one in files("parts") if one.name in parts])
    run = played(GOOD, *stops(*SIZES), {"what": "stop", "watches": [0], "again": [0]})
    session = Session(start, "exits", "nothing", [watch])
    differences = judging.differences(build, session, Outcome(out=GOOD, status=3), run, False)
    assert {one.kind for one in differences} == found


@pytest.mark.parametrize(("line", "found"), [("condition 2", set()), ("condition 3", {"arguments"})])
def test_a_watch_without_its_condition_may_stop_at_any_call(
    build: Build, watch: Watch, line: str, found: set[str]
) -> None:
    run = played(GOOD, {"what": "deed", "line": line}, {"what": "rerun"}, *stops(*SIZES[:2], 77))
    assert kinds(build, watch, run, end="reruns") == found


def test_a_program_that_was_killed_owes_no_lines(build: Build, watch: Watch) -> None:
    assert kinds(build, watch, played([], *stops(SIZES[0]), status=-9), end="killed") == set()
    assert kinds(build, watch, played(["= fork 0: exit 41"], status=-9), end="killed") == {"child"}


@pytest.mark.parametrize(
    ("text", "killed", "found"),
    [
        ("No such process.", True, set()),
        ("cuda-log start: the program has ended", True, set()),
        ("Remote communication error.  Target disconnected.: Broken pipe.", True, set()),
        ("No such process.", False, {"error"}),
        ("No symbol", True, {"error"}),
    ],
)
def test_errors_about_a_process_that_was_killed(
    build: Build, watch: Watch, text: str, killed: bool, found: set[str]
) -> None:
    error = {"what": "error", "command": "continue", "text": text}
    assert kinds(build, watch, played([], error, status=-9, killed=killed), end="killed") == found


@pytest.mark.parametrize(
    ("sizes", "found"),
    [([(10, 9)], set()), ([(10, 8)], {"log"}), ([(10, 9), (1, 1)], {"log"}), ([(10, 8), (11, 1)], {"log"})],
    ids=["all", "one lost", "one twice", "a wrong size"],
)
def test_the_log(build: Build, sizes: list[tuple[int, int]], found: set[str]) -> None:
    watch = Watch("log", "cuda-log start cuMemAlloc_v2", "", ["cuMemAlloc_v2"], on="log")
    call = {"phase": "B", "name": "cuMemAlloc_v2", "layer": "hook"}
    log = [json.dumps(call | {"details": {"bytesize": size}}) for size, times in sizes for _ in range(times)]
    assert kinds(build, watch, played(GOOD, log=log)) == found


def test_a_recorder_that_has_not_begun_owes_no_calls(build: Build) -> None:
    watch = Watch("ring", "cuda-log start --fast cuMemAlloc_v2", "", ["cuMemAlloc_v2"], on="log")
    text = "cuda-log start: nothing to record: no library that is loaded has one of these functions"
    said = {"what": "error", "command": watch.cuda, "text": text}
    assert kinds(build, watch, played(GOOD, said)) == set()
    assert kinds(build, watch, played(GOOD)) == {"log"}


@pytest.mark.parametrize(("sizes", "found"), [(SIZES[:2], set()), ([*SIZES, SIZES[0]], {"hits"})])
def test_where_a_child_shares_the_memory_gdb_misses_calls(
    build: Build, watch: Watch, sizes: list[int], found: set[str]
) -> None:
    cloning = replace(build, parts=[next(one for one in files("parts") if one.name == "clones")])
    assert kinds(cloning, watch, played(GOOD, *stops(*sizes))) == found


@pytest.mark.parametrize(
    ("kind", "calls", "found"), [("ring", 9 + 72, set()), ("ring", 8, {"log"}), ("log", 10, {"log"})]
)
def test_children_that_use_the_rings_of_the_program(build: Build, kind: str, calls: int, found: set[str]) -> None:
    """By vfork: the program does not count what they call."""
    watch = Watch(kind, "cuda-log start --fast cuMemAlloc_v2", "", ["cuMemAlloc_v2"], on="log")
    call = {"phase": "B", "name": "cuMemAlloc_v2", "layer": "hook", "details": {"bytesize": 10}}
    spawning = replace(build, parts=[next(one for one in files("parts") if one.name == "spawns")])
    assert kinds(spawning, watch, played(GOOD, log=[json.dumps(call)] * calls)) == found


@pytest.mark.parametrize(
    ("named", "calls", "found"),
    [
        ("cuMemAlloc_v2", 8, set()),
        ("cuMemAlloc_v2", 10, {"log"}),
        ("cuInit", 8, {"log"}),
        ("cuInit, cuMemFree_v2 and 3 more", 8, set()),
    ],
)
def test_calls_that_are_told_to_be_missing_may_be(build: Build, named: str, calls: int, found: set[str]) -> None:
    watch = Watch("ring", "cuda-log start --fast cuMemAlloc_v2", "", ["cuMemAlloc_v2"], on="log")
    call = {"phase": "B", "name": "cuMemAlloc_v2", "layer": "hook", "details": {"bytesize": 1}}
    text = f"Calls may be missing of functions in whose first bytes a thread may have been: {named}."
    assert kinds(build, watch, played(GOOD, log=[json.dumps(call)] * calls, text=text)) == found


def test_changed_code_is_seen(build: Build) -> None:
    library = ctypes.CDLL(str(build.library))
    assert segments.changed(os.getpid(), [str(build.library)]) == []
    entry = ctypes.cast(library.cuMemAlloc_v2, ctypes.c_void_p).value or 0
    page = entry // mmap.PAGESIZE * mmap.PAGESIZE
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(page), mmap.PAGESIZE, 7) == 0
    before = ctypes.string_at(entry, 1)
    ctypes.memmove(entry, b"\xcc", 1)
    (found,) = segments.changed(os.getpid(), [str(build.library)])
    assert (found.have, found.want, found.filling) == (b"\xcc", before, False)
    assert segments.changed(os.getpid(), [str(build.library)], [(entry, entry + 1)]) == []
    ctypes.memmove(entry, before, 1)
    assert segments.changed(os.getpid(), [str(build.library)]) == []


@pytest.mark.parametrize(
    ("text", "control", "found"),
    [
        ("Program terminated with signal SIGSEGV, Segmentation fault.", True, {"stuck", "died"}),
        ("Program terminated with signal SIGSEGV, Segmentation fault.", False, {"stuck"}),
        ("", True, {"stuck"}),
    ],
)
def test_gdb_alone_that_does_not_get_over_a_death(build: Build, text: str, control: bool, found: set[str]) -> None:
    run = played(GOOD[:1], text=text, stuck="gdb gdb S")
    different = judging.differences(build, Session("terminal", "exits", "nothing"), Outcome(out=GOOD), run, control)
    assert {one.kind for one in different} == found


@pytest.mark.parametrize(
    ("offset", "filling", "goes_on"), [(0x124, True, True), (0x140, True, False), (0x124, False, False)]
)
def test_words_of_zeros_do_not_end_a_trampoline(offset: int, filling: bool, goes_on: bool) -> None:
    stays = segments.Change("libhook.so", 0x100, b"\xe9" * 0x10, bytes(0x10), True)
    assert segments.Change("libhook.so", offset, b"\x02" * 8, bytes(8), filling).goes_on(stays) == goes_on


ISLAND, TEST = (segments.Change("libhook.so", at, have, bytes(len(have)), at > 0x5000) for at, have in (
    (0x302B, bytes.fromhex("e9e021")), (0x5210, b"\x48" * 99)))  # fmt: skip


@pytest.mark.parametrize(("island", "stay"), [([("libhook.so", 0x302B)], [ISLAND, TEST]), ([], [TEST])])
def test_a_thread_at_an_island_is_about_to_come_to_the_test(
    island: list[tuple[str, int]], stay: list[segments.Change]
) -> None:
    assert segments.staying([ISLAND, TEST], [("libhook.so", 0x5210), *island], island) == stay


def test_an_island_is_a_jump_that_is_at_no_entry(build: Build) -> None:
    begin, _, offset, file = next(segments.mappings(os.getpid()))
    code = {begin: b"\xe9\x10\0\0\0", begin + 8: b"\xe9\xf0\xff\xff\xff", begin + 16: b"\x90" * 5}
    found = segments.branch_islands(os.getpid(), code, lambda at, size: code[at], [file], [(offset, offset + 4)])
    assert found == {begin + 8: begin + 8 + 5 - 16}


FORK = "gdbserver/linux-low.cc:4467: A problem internal to GDBserver has been detected.\nLWP -60932 suspended=-14186"


@pytest.mark.parametrize(
    ("start", "run", "found"),
    [
        ("server", Outcome(text=FORK), {"gdbserver"}),
        ("multi", Outcome(text="pending_parent: Assertion `this->fork_relative->fork_relative == this' failed."),
         {"gdbserver"}),
        ("local", Outcome(out=GOOD, text=FORK, status=3), {"gdb died"}),  # there is no gdbserver
        ("multi", Outcome(killed=True, stuck="gdb gdb S (82 ticks), program gone"), {"gdbserver"}),
        ("multi", Outcome(killed=True, stuck="gdb gdb S (61 ticks), program program Z (0 ticks)"), {"gdbserver"}),
        ("multi", Outcome(killed=True, stuck="gdb gdb S (61 ticks), program program S (9 ticks)"), {"stuck"}),
        ("multi", Outcome(stuck="gdb gdb S (82 ticks), program gone"), {"stuck"}),
        ("local", Outcome(killed=True, stuck="gdb gdb S (82 ticks), program gone"), {"killed"}),
        ("local", Outcome(killed=True, stuck="gdb has written 64 MiB; in the last 17 s 1677 ticks"), {"killed"}),
        ("local", Outcome(killed=True, text="Fatal signal: Segmentation fault", gdb_status=-11), {"killed"}),
        ("local", Outcome(killed=True, stuck="gdb gdb S (82 ticks), program program S (9 ticks)"), {"stuck"}),
    ],
)  # fmt: skip
def test_what_gdbserver_does_without_us_is_told_as_its_own(
    build: Build, watch: Watch, start: str, run: Outcome, found: set[str]
) -> None:
    session = Session(start, "killed" if run.killed else "exits", "nothing", [watch])
    plain = Outcome(out=GOOD, status=3)
    assert {one.kind for one in judging.differences(build, session, plain, run, False)} == found
    assert Finding(0, "gdbserver", "").is_gdbs


@pytest.mark.parametrize(
    ("in_place", "text", "found"),
    [
        (True, "No unwaited-for children left.\n", "gdb's own"),
        (True, "", "killed"),
        (False, "No unwaited-for children left.\n", "killed"),
    ],
)
def test_gdb_that_waits_for_a_killed_program_is_told_as_gdbs(
    build: Build, watch: Watch, in_place: bool, text: str, found: str
) -> None:
    session = Session("local", "killed", "nothing", [watch], in_place=in_place)
    run = Outcome(killed=True, stuck="gdb gdb S (82 ticks), program gone", text=text)
    plain = Outcome(out=GOOD, status=3)
    assert [one.kind for one in judging.differences(build, session, plain, run, False)] == [found]
    assert Finding(0, found, "").is_gdbs == (found == "gdb's own")


def test_a_control_whose_gdbserver_has_died_says_nothing() -> None:
    assert judging.says_nothing("died", {judging.SERVERS})
    assert not judging.says_nothing("died", {"status"}) and not judging.says_nothing(judging.SERVERS, {judging.SERVERS})


SHARES, WAITS = "= clone, vm 0: exit 40", "= vfork 0: "


@pytest.mark.parametrize(
    ("start", "before", "found"),
    [("server", [SHARES], set()), ("server", [], {"child"}), ("local", [SHARES], {"child"})],
)
def test_children_of_a_vfork_behind_a_child_that_shares_the_memory(
    build: Build, watch: Watch, start: str, before: list[str], found: set[str]
) -> None:
    """gdbserver does not know any more what gdb wants to be taken out of them."""
    plain = Outcome(out=[*before, WAITS + "exit 40", *GOOD], status=3)
    run = played([*before, WAITS + "signal 5", *GOOD], *stops(*SIZES))
    different = judging.differences(build, Session(start, "exits", "nothing", [watch]), plain, run, False)
    assert {one.kind for one in different} == found
