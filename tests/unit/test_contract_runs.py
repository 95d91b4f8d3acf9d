"""Which case is next, and what is said of those for which there was no time."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from gdbcuda.contract import report
from gdbcuda.contract.registry import Case
from gdbcuda.contract.report import ConformReport
from gdbcuda.contract.runs import in_turns
from gdbcuda.contract.showing_program import complaint

NUMBERS = {"books": 30, "resolving": 1000, "status": 20}
SECONDS = {"books": 4.0, "resolving": 0.1, "status": 0.2}


def cases(group: str, count: int) -> list[Case]:
    return [Case(group, f"cuMemAlloc {number}", lambda _: ()) for number in range(count)]


def test_a_group_of_many_cases_takes_no_time_of_the_others() -> None:
    """`resolving` has hundreds, and one of `books` takes long: those of `status` come before the time is up."""
    spent, ran = [0.0], []
    for case, _ in in_turns({name: cases(name, count) for name, count in NUMBERS.items()}, lambda: sum(spent)):
        if sum(spent) > 14.0:
            break
        spent.append(SECONDS[case.group])
        ran.append(case.group)
    assert ran.count("status") == NUMBERS["status"]
    assert ran.count("books") == 2 and 38 <= ran.count("resolving") <= 42


def test_every_case_has_its_turn() -> None:
    by_group = {name: cases(name, count) for name, count in NUMBERS.items()}
    assert [*in_turns({})] == []
    assert {id(one) for one, _ in in_turns(by_group)} == {id(one) for group in by_group.values() for one in group}


def test_how_many_groups_share_the_time_that_is_left() -> None:
    spent = [0.0]
    by_group = {"books": cases("books", 3), "status": cases("status", 1)}
    seen = []
    for case, groups in in_turns(by_group, lambda: sum(spent)):
        spent.append(1.0)
        seen.append((case.group, groups))
    assert seen == [("books", 2), ("status", 2), ("books", 2), ("books", 1)]


def test_what_there_was_no_time_for_is_told_by_group() -> None:
    one = ConformReport("hook.so", 1, ran=["status/cuInit"], not_run=["books/cuMemAlloc_v2", "status/cuMemFree_v2"])
    assert report.data(one)["not_run"] == one.not_run
    late = ElementTree.fromstring(report.junit(one).partition("?>")[2])
    assert [case.get("name") for case in late if case.find("skipped") is not None] == one.not_run
    assert (late.get("tests"), late.get("skipped")) == ("3", "2")
    assert "for 2 more there was no time" in report.text(one, False)
    rows = [line.split() for line in report.by_group(one).splitlines()]
    assert rows[2:] == [["books", "0", "0", "1"], ["status", "1", "0", "1"]]
    one.not_run.clear()
    assert "no time" not in report.text(one, False)


def test_where_no_case_was_run_nothing_is_kept() -> None:
    one = ConformReport("hook.so", 1, not_run=["status/cuInit"])
    assert one.status == 2
    assert report.text(one, False).startswith("No case of hook.so was run: there was no time (--seconds).")


@pytest.mark.parametrize("errors, said", [
    ("ld: warning: libx.so, needed by hook.so, not found\nld: undefined reference to `y'\ncollect2: error\n",
     "ld: undefined reference to `y'"),
    ("ld: warning: executable stack\n", "ld: warning: executable stack"),
    ("", "it says nothing"),
])  # fmt: skip
def test_what_gcc_fails_of(errors: str, said: str) -> None:
    assert complaint(errors) == said
