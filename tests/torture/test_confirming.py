"""A finding is played again, and then by gdb alone, before it is ours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import cases
import pytest
from building import Build
from cases import Finding, Player, Result, Work
from difference import Difference
from kinds import files
from lines import Tools
from playing import Outcome
from sessions import Session


class Scripted(Player):
    """Whose runs with us and without show what the test says, then nothing."""

    def __init__(self, folder: Path, ours: str, alone: str) -> None:
        tools = Tools("gdb", "gdbserver", folder)
        work = Work(1, 0, [0], tools, folder, 0)
        super().__init__(work, Build(1, 0, folder), Session("local", "exits", "nothing"), Outcome(), "case-0")
        self.shows: dict[bool, Iterator[str]] = {False: iter(ours), True: iter(alone)}

    def play(self, control: bool) -> list[Difference]:
        return [Difference("stuck", "")] if next(self.shows[control], ".") == "x" else []


@pytest.mark.parametrize(
    ("ours", "alone", "runs", "is_gdbs"),
    [
        ("xx", "...", (3, 3, 0, cases.CONTROLS), False),
        ("xx", "..x", (3, 3, 1, 3), True),
        ("..", "", (3, 1, 0, cases.MORE_CONTROLS), False),
        ("x.", "......x", (3, 2, 1, 7), True),
    ],
)
def test_what_shows_at_times_is_tried_more_often_without_us(
    tmp_path: Path, ours: str, alone: str, runs: tuple[int, ...], is_gdbs: bool
) -> None:
    finding = Finding(0, "stuck", "")
    Scripted(tmp_path, ours, alone).confirm([finding])
    assert (finding.runs, finding.found, finding.control_found, finding.control_runs) == runs
    assert finding.is_gdbs == is_gdbs


class Dying(Scripted):
    """Alone, gdb's own session dies (d) or goes well; with us calls are missed."""

    def play(self, control: bool) -> list[Difference]:
        kind = {"x": "hits", "d": "died"}.get(next(self.shows[control], "."))
        return [Difference(kind, "")] if kind else []


@pytest.mark.parametrize(("alone", "is_gdbs"), [("d" * 12, True), ("d" * 11 + ".", False), ("dx", True)])
def test_calls_are_not_compared_with_those_of_a_run_that_died(tmp_path: Path, alone: str, is_gdbs: bool) -> None:
    finding = Finding(0, "hits", "")
    Dying(tmp_path, "x.", alone).confirm([finding])
    assert finding.control_worse == alone.count("d")
    assert finding.is_gdbs == is_gdbs


class DyingOrStuck(Scripted):
    """Alone, the program dies (d), or comes to no end; with us it comes to none."""

    def play(self, control: bool) -> list[Difference]:
        kinds = {"x": ["stuck"], "d": ["died"], "b": ["died", "stuck"]}.get(next(self.shows[control], "."), [])
        return [Difference(kind, "") for kind in kinds]


@pytest.mark.parametrize(("alone", "is_gdbs"), [("ddd", True), ("dd.", False), ("db", True), ("..x", True)])
def test_a_program_that_has_died_cannot_be_stuck(tmp_path: Path, alone: str, is_gdbs: bool) -> None:
    finding = Finding(0, "stuck", "")
    DyingOrStuck(tmp_path, "xx", alone).confirm([finding])
    assert finding.is_gdbs == is_gdbs


class Missing(Scripted):
    """Calls are missed of the watch of that number."""

    def play(self, control: bool) -> list[Difference]:
        watch = next(self.shows[control], ".")
        return [Difference("hits", "", int(watch))] if watch.isdigit() else []


@pytest.mark.parametrize(("alone", "is_gdbs"), [("1" * 12, True), ("0" * 12, False), ("001", True)])
def test_what_gdb_alone_misses_of_another_breakpoint_is_no_excuse(tmp_path: Path, alone: str, is_gdbs: bool) -> None:
    finding = Finding(0, "hits", "", watch=1)
    Missing(tmp_path, "11", alone).confirm([finding])
    assert finding.found == 3 and finding.is_gdbs == is_gdbs


@pytest.mark.parametrize("alone", ["x", "."])
def test_a_quick_run_asks_gdb_alone_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone: str) -> None:
    """Else all that gdb alone does in that program would be told as ours."""
    player = Scripted(tmp_path, "x", alone)
    player.work = replace(player.work, confirm=False)
    monkeypatch.setattr(cases, "Player", lambda *about: player)
    result = Result()
    cases.play_case(player.work, player.build, player.session, 0, player.plain, result)
    (finding,) = result.findings
    assert (finding.runs, finding.control_runs, finding.is_gdbs) == (1, 1, alone == "x")


@pytest.mark.parametrize(
    ("start", "deed", "part", "controls"),
    [("local", "steps", "forks", cases.CONTROLS), ("terminal", "nothing", "forks", cases.CONTROLS),
     ("local", "nothing", "forks", 1), ("local", "steps", "calls", 1)],
)  # fmt: skip
def test_where_a_step_ends_beside_a_fork_gdb_alone_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str, deed: str, part: str, controls: int
) -> None:
    """(gdb 13.1 alone: `finish` in a loop, and 68 of 400 children that another thread made died of SIGTRAP.)"""
    player = Scripted(tmp_path, "x", "")
    player.work, player.session = replace(player.work, confirm=False), Session(start, "exits", deed)
    player.build.parts = [one for one in files("parts") if one.name == part]
    monkeypatch.setattr(cases, "Player", lambda *about: player)
    result = Result()
    cases.play_case(player.work, player.build, player.session, 0, player.plain, result)
    assert result.findings[0].control_runs == controls


def test_gdb_alone_is_killed_behind_the_same_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is faster: at the same time it would be at the program's end."""
    asked: list[int] = []

    class Killing:
        def __init__(self, *words: object) -> None:
            asked.append(int(str(words[-1])))

        def play(self) -> Outcome:
            return Outcome(killed=True, killed_at=7)

    monkeypatch.setattr(cases.playing, "Run", Killing)
    monkeypatch.setattr(cases.judging, "differences", lambda *words: [])
    player = Scripted(tmp_path, "", "")
    assert [Player.play(player, control) for control in (False, True)] == [[], []]
    assert asked == [0, 7]
