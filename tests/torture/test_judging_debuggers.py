"""What gdb and gdbserver do by themselves is told as theirs."""

from __future__ import annotations

from dataclasses import replace

import judging
import pytest
from building import Build
from cases import Finding
from kinds import files
from played_runs import GOOD, SIZES, kinds, played, stops
from playing import Outcome
from sessions import Session
from watches import Watch


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
    seen = {"there": f"0x7fb0: 00 f3 0f {code} 90 90", "shown": ""}
    signal = {"what": "signal", "signal": "SIGSEGV", "thread": 1, **seen}
    run = played(["# patched 0x7fb3", *GOOD], signal, status=-11)
    watch = Watch("", "", "", ["cuMemAlloc_v2"])
    assert kinds(build, watch, run) == found
    assert kinds(build, watch, replace(run, notes=[{**signal, "there": "?"}])) == {"died"}


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("48 f9 07 48 89 c2 48 c1 e2 05 48 29", {judging.GDBS}),  # a guard's short jump was eb f9
        ("eb f9 07 48 89 c2 48 c1 e2 05 48 29", {"died"}),
        ("48 f9 07 48 89 c2 48 c1 e2 05 48 28", {"died"}),
    ],
)
def test_a_breakpoint_of_gdbs_that_the_program_has_put_its_code_over(build: Build, code: str, found: set[str]) -> None:
    """The program has taken its jump back: gdb puts back what was below its breakpoint before."""
    seen = {"there": f"0x7fb0: 00 f3 0f cc{code[2:]} 90 90", "shown": f"0x7fb0: 00 f3 0f {code} 90 90"}
    signal = {"what": "signal", "signal": "SIGILL", "thread": 1, **seen}
    told = ["# patched 0x7fb3", "# put back 0x7fb3: eb f9 07 48 89 c2 48 c1 e2 05 48 29", *GOOD]
    watch = Watch("", "", "", ["cuMemAlloc_v2"])
    assert kinds(build, watch, played(told, signal, status=-4)) == found


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


@pytest.mark.parametrize(("thread", "found"), [(1, set()), (2, {"hits"}), (3, {"hits"})])
def test_threads_that_gdb_numbers_behind_one_of_the_sanitizers(build: Build, thread: int, found: set[str]) -> None:
    """All that match are of the program's first."""
    watch = Watch("", "", "", ["cuMemAlloc_v2"], size_class=1, thread=thread)
    assert kinds(replace(build, options=["thread"]), watch, played(GOOD, *stops(*SIZES))) == found
    as_third = played(GOOD, *stops(*SIZES))
    as_third.out = [one.replace("# count 0", "# count 1") for one in as_third.out]
    assert (kinds(replace(build, options=["thread"]), watch, as_third) == set()) == (thread == 3)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cuInit (symbol=0x5c3 <error: Cannot access memory at address 0x5c3>) at specials.c:9", set()),
        ("Cannot access memory at address 0x5c3", {"error"}),
    ],
)
def test_what_gdb_shows_of_arguments_that_are_not_there_yet(build: Build, text: str, found: set[str]) -> None:
    """At the first instruction of a function with debug info."""
    watch = Watch("", "", "", ["cuMemAlloc_v2"])
    assert kinds(build, watch, played(GOOD, *stops(*SIZES), text=text)) - {"hits", "arguments"} == found


@pytest.mark.parametrize(
    ("start", "parts", "behind", "found"),
    [
        ("server", ["signals"], [], set()),
        ("server", [], [], {"hits"}),
        ("local", ["signals"], [], {"hits"}),
        ("local", ["signals"], [0], set()),
        ("local", [], [0], {"hits"}),
    ],
)
def test_a_call_that_a_signal_interrupts_stops_twice(
    build: Build, watch: Watch, start: str, parts: list[str], behind: list[int], found: set[str]
) -> None:
    """Through a gdbserver, and where the handler has stopped between."""
    build = replace(build, parts=[one for one in files("parts") if one.name in parts])
    run = played(GOOD, *stops(*SIZES), {"what": "stop", "watches": [0], "again": [0], "behind": behind})
    session = Session(start, "exits", "nothing", [watch])
    differences = judging.differences(build, session, Outcome(out=GOOD, status=3), run, False)
    assert {one.kind for one in differences} == found


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


@pytest.mark.parametrize("killed", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "./gdb/regcache.c:432: internal-error: get_thread_regcache: Assertion `thread->state != THREAD_EXITED' failed.",
        "intrusive_list.h:469: internal-error: unlink_element: Assertion `elem_node->prev != INTRUSIVE_LIST_UNLINKED_V",
    ],
)
def test_a_thread_that_was_killed_and_that_gdb_uses_is_gdbs(
    build: Build, watch: Watch, text: str, killed: bool
) -> None:
    session = Session("local", "killed" if killed else "exits", "nothing", [watch])
    run = Outcome(killed=killed, out=GOOD, status=3, text=text, gdb_status=-6)
    found = {one.kind for one in judging.differences(build, session, Outcome(out=GOOD, status=3), run, False)}
    assert found == {"gdb's own" if killed else "gdb died"}


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


TRAP = "# trapped 11055 {} /tmp/libhook.so+0x134c: 53 ff 15 74 2c 00 00 {} 89 fc 48 89 "
DEAD = ["= fork 0: signal 5", *GOOD[1:]]


@pytest.mark.parametrize(
    ("deed", "lines", "found"),
    [
        ("steps", [*DEAD, TRAP.format("0x7ffff7fbc34c", "cc")], {judging.GDBS}),
        ("nothing", [*DEAD, TRAP.format("0x7ffff7fbc34c", "cc")], {"child"}),
        ("steps", [*DEAD, TRAP.format("0x7ffff7fbc139", "cc")], {"child"}),  # one of the session's was there
        ("steps", [*DEAD, TRAP.format("0x7ffff7fbc34c", "53")], {"child"}),
        ("steps", DEAD, {"child"}),
        ("steps", ["= fork 0: signal 11", *GOOD[1:], TRAP.format("0x7ffff7fbc34c", "cc")], {"child"}),
    ],
)
def test_a_child_that_died_where_gdb_alone_had_a_breakpoint(
    build: Build, watch: Watch, deed: str, lines: list[str], found: set[str]
) -> None:
    """What a step needs where it stops again is gdb's, and in no list."""
    run = played(lines, *stops(*SIZES), places={0x7FFFF7FBC139})
    plain, session = Outcome(out=GOOD, status=3), Session("local", "exits", deed, [watch])
    assert {one.kind for one in judging.differences(build, session, plain, run, False)} == found
    untold = replace(run, places=set())
    different = judging.differences(build, session, plain, untold, False)
    assert {one.kind for one in different} == {"child"}, "this gdb does not tell where breakpoints have been"
