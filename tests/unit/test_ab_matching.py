"""Which call of one run is which of the other, and which outputs are the same, over made-up runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdbcuda.compare import outcome
from gdbcuda.compare.findings import Allowed, Difference, Findings, allow_file
from gdbcuda.compare.matching import HALF, aligned, partners, reordered
from gdbcuda.compare.outcome import Outcome

NAMES = st.lists(st.sampled_from("abc"), max_size=40)


def shown(ours: str, theirs: str) -> str:
    """ "a" in both, "-a" here alone, "+a" there alone."""
    return " ".join(
        f"-{ours[first]}" if second is None and first is not None else
        f"+{theirs[second]}" if first is None and second is not None else ours[first or 0]
        for first, second in aligned(ours, theirs)
    )  # fmt: skip


@pytest.mark.parametrize(("ours", "theirs", "steps"), [
    ("abc", "abc", "a b c"),
    ("abc", "axbxc", "a +x b +x c"),
    ("abcd", "ad", "a -b -c d"),
    ("aam", "aeaem", "a +e a +e m"),
    ("ab", "abcd", "a b +c +d"),
    ("", "ab", "+a +b"),
])  # fmt: skip
def test_calls_are_aligned(ours: str, theirs: str, steps: str) -> None:
    assert shown(ours, theirs) == steps


@given(NAMES, NAMES)
def test_every_call_is_told_once_and_in_its_order(ours: list[str], theirs: list[str]) -> None:
    pairs = list(aligned(ours, theirs))
    assert [first for first, _ in pairs if first is not None] == list(range(len(ours)))
    assert [second for _, second in pairs if second is not None] == list(range(len(theirs)))
    assert all(ours[first] == theirs[second] for first, second in pairs if first is not None and second is not None)


@given(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=300), st.data())
def test_a_call_that_is_missing_is_the_only_one(names: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(names) - 1))
    pairs = list(aligned(names, names[:at] + names[at + 1 :]))
    assert len([one for one in pairs if None in one]) == 1


def test_long_runs_of_additions_are_found_again() -> None:
    ours = list("abcdefgh") * 10
    theirs = [*ours[:5], *"x" * (3 * HALF), *ours[5:]]
    assert Counter(None in one for one in aligned(ours, theirs))[False] >= 5
    theirs = [*ours[:5], *"x" * (HALF - 1), *ours[5:]]
    assert Counter(None in one for one in aligned(ours, theirs)) == {False: 80, True: HALF - 1}


def test_what_is_in_another_place() -> None:
    pairs = list(aligned("xabc", "abcx"))
    assert reordered("xabc", "abcx", pairs) == [(0, 3)]
    assert reordered("xabc", "abc", list(aligned("xabc", "abc"))) == []


@dataclass
class Worker:
    name: str
    calls: str
    counts: Counter[str] = field(default_factory=Counter)

    def profile(self) -> Counter[str]:
        return Counter(self.calls)


def test_threads_that_did_the_same_belong_together() -> None:
    ours = [Worker("1", "aab"), Worker("2", "ccc"), Worker("3", "d")]
    theirs = [Worker("x", "ccc"), Worker("y", "aba"), Worker("z", "dd"), Worker("w", "")]
    found = [(one and one.name, other and other.name) for one, other in partners(ours, theirs)]
    assert found == [("1", "y"), ("2", "x"), ("3", "z"), (None, "w")]


def changes(ours: str, theirs: str, **fields: frozenset[int]) -> list[str]:
    found = Findings()
    outcome.compare(Outcome(0, ours, "", 1.0, **fields), Outcome(0, theirs, "", 1.0, **fields), found)
    return [one.line for one in found.differences()]


@pytest.mark.parametrize(("ours", "theirs"), [
    ("at 0x7f00 of a", "at 0x55aa of a"),
    ("took 1.25 s, 3 it/s", "took 17 s, 4.5 it/s"),
    ("epoch in 12ms", "epoch in 3ms"),
    ("2026-01-02 10:11:12.5 begin", "2027-11-30 9:00:00 begin"),
    ("one\ntwo\n", "two\none\n"),
    ("12.5 GB/s", "9 GB/s"),
])  # fmt: skip
def test_outputs_that_are_the_same(ours: str, theirs: str) -> None:
    assert changes(ours, theirs) == []


@pytest.mark.parametrize(("ours", "theirs", "lines"), [
    ("loss 1.5\n", "loss 1.6\n", ["stdout line: loss 1.5 -> loss 1.6"]),
    ("a\nb\nc\n", "a\nc\n", ["stdout line missing: b"]),
    ("a\n", "a\nhook: hello\n", ["stdout line added: hook: hello"]),
    ("x\n" * 3, "", ["stdout line missing: x"]),
    ("".join(f"{i}\n" for i in range(30)), "", ["stdout differs in more than 20 lines"]),
    ("16 seconds of 512 MiB", "16 seconds of 2 MiB", ["stdout line: … seconds of 512 MiB -> … seconds of 2 MiB"]),
])  # fmt: skip
def test_outputs_that_differ(ours: str, theirs: str, lines: list[str]) -> None:
    assert changes(ours, theirs) == lines


def test_pids_of_the_run_alone_are_no_difference() -> None:
    found = Findings()
    outcome.compare(Outcome(0, "pid 70: 5", "", 1, pids=frozenset([70])),
                    Outcome(0, "pid 71: 5", "", 1, pids=frozenset([71])), found)  # fmt: skip
    assert found.differences() == []
    assert changes("pid 70", "pid 71") == ["stdout line: pid 70 -> pid 71"]


def test_values_are_folded() -> None:
    found = Findings()
    for number in range(412):
        found.add("out f total", "f", ("16", "2"), lambda number=number: f"call {number}")  # type: ignore[misc]
        found.add("out f free", "f", ("16", str(number)))
    assert [(one.text(), one.example) for one in found.differences()] == [
        ("out f total: 16 -> 2, 412 times", "call 0"), ("out f free: 16 -> *, 412 times", ""),
    ]  # fmt: skip


def test_an_allow_file_allows_what_it_was_written_for_and_no_more() -> None:
    meant = [Difference("out f [a.b] x: 1 -> 2", "f", 3, ""), Difference("exit status: 0 -> 1", "exit status", 1, "")]
    allowed = Allowed(allow_file(meant, "of a test", "ab"))
    assert all(allowed.holds(one) for one in meant) and allowed.unused == []
    others = ["out f a x: 1 -> 2", "out f [aXb] x: 1 -> 2", "exit status: 0 -> 11", "# of a test"]
    assert not [line for line in others if allowed.holds(Difference(line, "f", 1, ""))]
    assert Allowed("exit status: 0 -> *").holds(Difference("exit status: 0 -> SIGSEGV", "", 1, ""))


@given(st.lists(st.text(min_size=1, max_size=30).filter(lambda text: text.strip() == text and text[0] != "#"
                                                          and len(text.splitlines()) == 1)))  # fmt: skip
def test_what_is_accepted_is_allowed(lines: list[str]) -> None:
    found = [Difference(line, "f", 1, "") for line in lines]
    allowed = Allowed(allow_file(found, "of a test", "ab"))
    assert all(map(allowed.holds, found))
