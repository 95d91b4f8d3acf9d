"""What counts as a difference, over outcomes made by hand and over this process's own memory."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
from dataclasses import replace

import pytest
import segments
from building import Build
from kinds import files
from played_runs import GOOD, SIZES, kinds, played, stops
from playing import Outcome
from watches import Watch


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
        ("Could not read registers; remote failure reply '01'", True, set()),
        ("Could not read registers; remote failure reply '01'", False, {"error"}),
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
