"""Which case is next, and what is said of those for which there was no time."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from gdbcuda.compare.findings import Allowed
from gdbcuda.contract import case_report
from gdbcuda.contract import patience as patience_of_runs
from gdbcuda.contract.bench import Bench
from gdbcuda.contract.c_programs.showing_program import complaint
from gdbcuda.contract.case_report import ConformReport
from gdbcuda.contract.patience import MOST_HANGS, SHORT, USUAL, Patience
from gdbcuda.contract.registry import Broken, Case, load_groups
from gdbcuda.contract.running import runs
from gdbcuda.contract.running.turns import RARELY, Turns
from gdbcuda.shell.conform import cases as conform_cases
from gdbcuda.shell.conform.options import ConformOptions

NUMBERS = {"books": 30, "resolving": 1000, "status": 20}
SECONDS = {"books": 4.0, "resolving": 0.1, "status": 0.2}


def cases(group: str, count: int) -> list[Case]:
    return [Case(group, f"cuMemAlloc {number}", lambda _: ()) for number in range(count)]


class PlayedTurns:
    """With a clock of their own: a case takes as long as is said."""

    def __init__(self, numbers: dict[str, int]) -> None:
        self.now = 0.0
        self.turns = Turns({name: cases(name, count) for name, count in numbers.items()}, lambda: self.now)

    def next(self, seconds: float | None = None, is_hung: bool = False) -> tuple[str, int]:
        """Its group, and how many groups have cases left; "" at the end."""
        turn = self.turns.next()
        if turn is None:
            return "", 0
        self.now += SECONDS[turn.case.group] if seconds is None else seconds
        self.turns.ended(turn, is_hung)
        return turn.case.group, turn.groups


def test_a_group_of_many_cases_takes_no_time_of_the_others() -> None:
    """`resolving` has hundreds, and one of `books` takes long: those of `status` come before the time is up."""
    played, ran = PlayedTurns(NUMBERS), []
    while played.now <= 14.0:
        ran.append(played.next()[0])
    assert ran.count("status") == NUMBERS["status"]
    assert ran.count("books") == 2 and 38 <= ran.count("resolving") <= 42


def test_every_case_has_its_turn() -> None:
    assert Turns({}).next() is None
    played = PlayedTurns(NUMBERS)
    groups = [group for group, _ in iter(played.next, ("", 0))]
    assert {group: groups.count(group) for group in NUMBERS} == NUMBERS


def test_how_many_groups_share_the_time_that_is_left() -> None:
    played = PlayedTurns({"books": 3, "status": 1})
    assert [played.next(1.0) for _ in range(4)] == [("books", 2), ("status", 2), ("books", 2), ("books", 1)]


def test_several_at_a_time_are_of_several_groups() -> None:
    """The time of a case that is not over yet counts."""
    played = PlayedTurns({"books": 3, "status": 3})
    first, second = played.turns.next(), played.turns.next()
    assert first and second and first.case.group == "books"
    played.now += 1.0
    played.turns.ended(second)
    assert (third := played.turns.next()) and {second.case.group, third.case.group} <= {"books", "status"}


def test_a_group_in_which_several_hang_is_given_up() -> None:
    played = PlayedTurns({"status": 9})
    for _ in range(MOST_HANGS):
        assert not played.turns.is_given_up("status")
        played.next(10.0, is_hung=True)
    assert played.turns.is_given_up("status")


def test_a_few_that_hang_of_many_are_no_reason_to_give_up() -> None:
    played = PlayedTurns({"status": 200})
    for number in range(MOST_HANGS * RARELY):
        played.next(is_hung=number % RARELY == RARELY - 1)
    assert not played.turns.is_given_up("status")


def test_who_is_known_to_hang_is_not_waited_for_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience_of_runs, "busy", lambda: 1.0)
    patience = Patience()
    assert patience.seconds() == USUAL and patience.seconds(30.0) == 30.0
    patience.is_short = True
    assert patience.seconds() < USUAL and patience.seconds(0.5) == 0.5
    patience.alone = 60.0  # a driver that begins as slowly as that
    assert patience.seconds() == USUAL
    patience.alone = 0.0
    monkeypatch.setattr(patience_of_runs, "busy", lambda: 3.0)
    assert patience.seconds() == 3 * SHORT


def test_what_there_was_no_time_for_is_told_by_group() -> None:
    one = ConformReport("hook.so", 1, ran=["status/cuInit"], not_run=["books/cuMemAlloc_v2", "status/cuMemFree_v2"])
    assert case_report.data(one)["not_run"] == one.not_run
    late = ElementTree.fromstring(case_report.junit(one).partition("?>")[2])
    assert [case.get("name") for case in late if case.find("skipped") is not None] == one.not_run
    assert (late.get("tests"), late.get("skipped")) == ("3", "2")
    assert "for 2 more there was no time" in case_report.text(one, False)
    rows = [line.split() for line in case_report.by_group(one).splitlines()]
    assert rows[2:] == [["books", "0", "0", "1"], ["status", "1", "0", "1"]]
    one.not_run.clear()
    assert "no time" not in case_report.text(one, False)


def test_where_no_case_was_run_nothing_is_kept() -> None:
    one = ConformReport("hook.so", 1, not_run=["status/cuInit"])
    assert one.status == 2
    assert case_report.text(one, False).startswith("No case of hook.so was run: there was no time (--seconds).")


def test_a_ctrl_c_tells_what_was_found() -> None:
    def ended(_: Bench) -> list[Broken]:
        raise KeyboardInterrupt

    bench = Bench("hook.so", "", "")
    bench.__dict__["targets"] = ["cuInit"]
    chosen = [Case("status", "cuInit", lambda _: [Broken("wrong")]), Case("status", "random", ended, is_long=True)]
    one = runs.of(bench, chosen, 60, Allowed.of_file(None))
    assert (one.status, one.ran, one.not_run) == (130, ["status/cuInit"], ["status/random"])
    assert "in 1 of 1 case; for 1 more there was no time (Ctrl-C)" in case_report.text(one, False)
    assert bench.so_far == ", 1 of 2 cases, 1 finding"


def test_a_ctrl_c_before_the_cases_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(conform_cases, "cases", ended)
    one = conform_cases.played(Bench("hook.so", "", ""), ConformOptions(), Allowed.of_file(None))
    assert one.status == 130
    assert case_report.text(one, False).startswith("No case of hook.so was run: there was no time (Ctrl-C).")


def test_what_shows_that_no_program_begins_is_no_case() -> None:
    one = runs.none(Bench("hook.so", "", ""), "it does not end", 10.0)
    assert [broken["show"] for broken in case_report.data(one)["broken"]] == [""]
    text = case_report.text(one, False)
    assert "--show" not in case_report.junit(one) + text
    assert "10 s, seed 1" in text and "Not tried:\n  all cases: " in text


@pytest.mark.parametrize("errors, said", [
    ("ld: warning: libx.so, needed by hook.so, not found\nld: undefined reference to `y'\ncollect2: error\n",
     "ld: undefined reference to `y'"),
    ("ld: warning: executable stack\n", "ld: warning: executable stack"),
    ("", "it says nothing"),
])  # fmt: skip
def test_what_gcc_fails_of(errors: str, said: str) -> None:
    assert complaint(errors) == said


@pytest.mark.parametrize(("pattern", "groups"), [
    ("status/cuMem*", {"status"}), ("s*/cuMemAlloc_v2", {"status"}), ("status", {"status"}), ("*/random", {*NUMBERS}),
    ("cuMemAlloc_v2", {*NUMBERS}), ("[bs]*/*", {*NUMBERS}),
])  # fmt: skip
def test_groups_that_no_glob_is_of_are_not_made(pattern: str, groups: set[str]) -> None:
    assert {name for name, one in load_groups().items() if name in NUMBERS and one.may_have(pattern)} == groups
