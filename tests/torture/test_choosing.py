"""A seed is a promise: the same number makes the same sources and sessions, and soon every kind has had its turn."""

from __future__ import annotations

import dataclasses
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import building
import compilers
import pytest
import sessions
import stuck
import watches
from kinds import files
from sessions import PER_BUILD
from torture_support import TORTURE

CASES = 60  # what two minutes are enough for


def written(seed: int, number: int, folder: Path) -> dict[str, str]:
    build = building.choose(seed, number, folder)
    building.write(build)
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("number", range(6))
def test_the_same_seed_makes_the_same_sources(tmp_path: Path, number: int) -> None:
    first, second = (written(5, number, tmp_path / name) for name in ("first", "second"))
    assert first == second
    assert first != written(6, number, tmp_path / "third")


def test_the_same_seed_makes_the_same_sessions(tmp_path: Path) -> None:
    for case in range(20):
        build = building.choose(5, case // PER_BUILD, tmp_path)
        one, two = (dataclasses.asdict(sessions.choose(build, case % PER_BUILD)) for _ in range(2))
        assert one == two


def test_every_kind_has_its_turn(tmp_path: Path) -> None:
    tried: set[str] = set()
    for case in range(CASES):
        build = building.choose(5, case // PER_BUILD, tmp_path)
        tried |= build.kinds() | sessions.choose(build, case % PER_BUILD).kinds()
    registries = (sessions.starts, watches.watches, sessions.deeds, sessions.ends)
    there = [*files("shapes"), *building.random_parts(), *(kind for registry in registries for kind in registry.kinds)]
    there += [kind for kind in compilers.kinds() if kind.group != "option" or compilers.works("gcc", kind.name)]
    assert {kind.name for kind in there} - tried <= impossible()


def impossible() -> set[str]:
    """What this machine has no compiler for."""
    return set() if compilers.shutil.which("rustc") else {"rusty"}


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [(["--only", "nonsense"], 2, "no kind is called nonsense"), (["--gdb", "no-such-gdb"], 3, "cannot be had")],
)
def test_what_cannot_be_done_is_one_line(words: list[str], status: int, text: str) -> None:
    done = subprocess.run([sys.executable, str(TORTURE), *words], capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert text in done.stderr and "Traceback" not in done.stderr


def test_threads_of_a_program_that_executes_another_are_not_counted(tmp_path: Path) -> None:
    """gdb's numbers of threads go on, and the program's begin anew."""
    kind = next(one for one in watches.watches.kinds if one.name == "thread")
    builds = [building.choose(5, number, tmp_path) for number in range(CASES)]
    made = [(watches.make(kind, build, random.Random(1)), "executes" in build.words) for build in builds]
    assert {executes for _, executes in made} == {True, False}
    assert not [watch for watch, executes in made if watch.exact and executes]


def test_patience_grows_with_what_others_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when that begins later."""
    now, load = [100.0], [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(os, "getloadavg", lambda: (load[0], 0.0, 0.0))
    patience = stuck.Patience(10)
    now[0] = 109.0
    assert not patience.is_over()
    now[0] = 111.0
    assert patience.is_over()
    load[0] = 2.0 * (os.cpu_count() or 1)
    assert not patience.is_over()
    now[0], load[0] = 121.0, 0.0
    assert patience.is_over()


@pytest.mark.parametrize(("ticks", "said", "slow"), [(7, "more", True), (7, "", False), (0, "more", False)])
def test_who_works_and_says_something_is_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ticks: int, said: str, slow: bool
) -> None:
    """Who only works may be in a loop that has no end."""
    now, out = [100.0], tmp_path / "out"
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(stuck, "ticks", lambda pid: f"{pid} S {ticks * now[0]:.0f} 0")
    out.write_text("")
    progress = stuck.Progress()
    for _ in range(50):
        now[0] += 2
        out.write_text(out.read_text() + said)
        is_still = progress.stands(lambda: [1], [out])
    assert progress.is_slow == slow and not is_still
    assert progress.last_part() == f"in the last 20 s {20 * ticks} ticks, {10 * len(said)} bytes"
    monkeypatch.setattr(stuck, "ticks", lambda pid: "gone")
    for _ in range(8):
        now[0] += 2
        is_still = progress.stands(lambda: [1], [out])
    assert is_still and not progress.is_slow


def test_what_ends_at_no_stop_has_none_to_end_at(tmp_path: Path) -> None:
    """At a terminal the program ends by itself, whatever end has its turn: else nobody lets it go on at its end."""
    chosen = []
    for number in range(CASES):
        build = building.choose(5, number, tmp_path)
        chosen += [sessions.choose(build, session) for session in range(PER_BUILD)]
    assert {one.end for one in chosen if one.start == "terminal"} == {"exits"}
    assert not [str(one) for one in chosen if one.end in ("exits", "killed") and one.last]


def test_what_gdb_alone_has_for_the_log_is_in_no_indirect_function(tmp_path: Path) -> None:
    """gdb's Python makes no breakpoint there: the control would end in a traceback, and be no control."""
    build = building.Build(5, 0, tmp_path)
    shapes = {kind.name: kind for kind in files("shapes")}
    build.functions = [("cuMemAlloc_v2", shapes["compiled"]), ("cuMemCreate", shapes["resolved"])]
    assert "cuMemAlloc_v2" in watches.unseen(build, build.names)
    assert "cuMemCreate" not in watches.unseen(build, build.names)
    assert watches.unseen(build, ["cuMemCreate"]) == ""


def test_a_recorder_that_is_left_keeps_its_calls_in_the_folder_of_the_run(tmp_path: Path) -> None:
    watch = watches.kept(["cuMemAlloc_v2"])
    planned = watch.plan(tmp_path / "kept")["cuda"]
    assert planned == f"cuda-log start --fast --keep {tmp_path / 'kept'} cuMemAlloc_v2"
    assert sessions.Session("local", "leaves", "nothing", [watch]).stays_in_library
