"""What scripts/matrix --gdb-suite makes of the results of gdb's own tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts"))
import suite_run
from suite_verdict import MOST, TRIES, Record, Verdict

KEYS = {"bare": "gdb 13", "with": "gdb 13, extension 1"}


def record(path: Path, bare: list[str], along: list[str]) -> Record:
    """Of one result, "next": in the first run of each way and in those alone; "" where it did not come."""
    made = Record(path / "commands.json", "gdb.base/commands.exp", KEYS)
    for way, outcomes in (("bare", bare), ("with", along)):
        for index, outcome in enumerate(outcomes):
            results = {"next": [outcome]} if outcome else {}
            made.add(way, suite_run.Run(KEYS[way], alone=index > 0, results=results))
    return made


def verdict(path: Path, bare: list[str], along: list[str]) -> Verdict:
    return record(path, bare, along).verdict()


def test_names_lose_what_is_another_in_each_run(tmp_path: Path) -> None:
    summary = f"""Running target unix
PASS: gdb.base/attach.exp: attach to process 12345
FAIL: gdb.base/attach.exp: file {tmp_path}/outputs/x (timeout)
PASS: gdb.base/attach.exp: p *0x7ffff7fe
PASS: gdb.base/attach.exp: p *0x12 (second)
# of expected passes		2
"""
    found = suite_run.results(summary, tmp_path)
    assert found == {"attach to process N": ["PASS"], "file FOLDER/outputs/x": ["FAIL"], "p *0xN": ["PASS", "PASS"]}


def test_the_same_is_settled_by_one_run_each_way(tmp_path: Path) -> None:
    assert verdict(tmp_path, ["FAIL"], ["FAIL"]) == Verdict()


@pytest.mark.parametrize("with_", ["FAIL", ""])
def test_a_difference_counts_when_it_comes_alone_too(tmp_path: Path, with_: str) -> None:
    shown = with_ or "none"
    first = verdict(tmp_path, ["PASS"], [with_])
    assert first.is_open and first.differs == {"next": ("PASS", shown)}
    last = verdict(tmp_path, ["PASS"] * (1 + TRIES), [with_] * (1 + TRIES))
    assert last == Verdict(differs={"next": ("PASS", shown)})


def test_what_varies_without_the_extension_does_not_count(tmp_path: Path) -> None:
    found = verdict(tmp_path, ["PASS", "FAIL", "PASS", "PASS"], ["FAIL"] * 4)
    assert found == Verdict(flaky={"next": ("PASS 3x, FAIL 1x", "FAIL")})


def test_what_came_on_a_loaded_machine_alone_does_not_count(tmp_path: Path) -> None:
    found = verdict(tmp_path, ["PASS"] * 4, ["FAIL", "PASS", "PASS", "PASS"])
    assert found == Verdict(flaky={"next": ("PASS", "PASS 3x, FAIL 1x")})


def test_what_comes_now_and_then_with_the_extension_is_asked_more_often(tmp_path: Path) -> None:
    now_and_then = ["PASS", "FAIL", "PASS", "FAIL"]
    assert verdict(tmp_path, ["PASS"] * 4, now_and_then).is_open
    found = verdict(tmp_path, ["PASS"] * (MOST + 1), now_and_then + ["PASS"] * (MOST - 3))
    assert list(found.differs) == ["next"] and not found.is_open


def test_a_run_that_was_cut_off_knows_what_differed(tmp_path: Path) -> None:
    first = record(tmp_path, ["PASS"], ["FAIL"])
    first.note(first.verdict())
    assert Record(first.path, first.file, KEYS).differed


def test_what_has_to_differ_is_told_apart(tmp_path: Path) -> None:
    made = Record(tmp_path / "default.json", "gdb.base/default.exp", KEYS)
    for way, outcome in (("bare", "PASS"), ("with", "FAIL")):
        made.add(way, suite_run.Run(KEYS[way], alone=False, results={"show convenience": [outcome], "next": ["PASS"]}))
    found = made.verdict()
    assert list(found.explained.values()) == [("PASS", "FAIL")] and not found.differs and not found.is_open


@pytest.mark.parametrize("gdb, is_explained", [("GNU gdb (Debian 16.3-1) 16.3", True), ("GNU gdb (GDB) 13.1", False)])
def test_annotations_differ_in_gdb_16_alone(tmp_path: Path, gdb: str, is_explained: bool) -> None:
    keys = {"bare": gdb, "with": f"{gdb}; extension 1"}
    made = Record(tmp_path / "annota1.json", "gdb.base/annota1.exp", keys)
    for way, outcome in (("bare", "PASS"), ("with", "FAIL")):
        made.add(way, suite_run.Run(keys[way], alone=False, results={"send SIGUSR1": [outcome]}))
    assert bool(made.verdict().explained) == is_explained != bool(made.verdict().differs)


def test_runs_are_kept_until_the_extension_is_another(tmp_path: Path) -> None:
    kept = record(tmp_path, ["PASS"], ["FAIL"])
    again = Record(kept.path, kept.file, KEYS)
    assert again.verdict() == kept.verdict()
    other = Record(kept.path, kept.file, {**KEYS, "with": "gdb 13, extension 2"})
    assert len(other.runs["bare"]) == 1 and not other.runs["with"] and not other.is_begun()


def test_the_user_s_settings_do_not_reach_the_tests(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("GDBHISTFILE", "XDG_CACHE_HOME", "DEBUGINFOD_URLS", "LD_PRELOAD"):
        monkeypatch.setenv(name, "/user's")
    seen = suite_run.environment(tmp_path, "GDBCUDA_SUITE=1")
    assert seen["HOME"] == str(tmp_path) and "/user's" not in seen.values()
