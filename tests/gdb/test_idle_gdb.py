"""The gdb that tests share: clean for each of them, whatever the one before has done."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from idle_gdb import STATE, IdleGdb
from scenario import Scenario


@pytest.fixture(scope="module")
def one(shim: Path) -> Iterator[IdleGdb]:
    place = Scenario(shim)
    found = IdleGdb(place.environment(), place.sample("test_alloc"))
    yield found
    found.stop()


def test_it_says_what_a_gdb_of_its_own_says(one: IdleGdb, local: Scenario) -> None:
    typed = ("help cuda-break", "cuda-break", "cuda-help breakpoints", "show cuda-guard")
    assert one.run(*typed) == local.run("test_alloc", *typed, hook=None)
    one.prove_clean()


@pytest.mark.parametrize("typed", [
    "set cuda-guard off", "break main", "set $mine = 1", "python mine = 1", "set environment MINE 1", "set args mine",
    "set confirm on", "add-inferior", "cuda-break cuInit",
])
def test_what_a_test_leaves_behind_is_found_and_goes(one: IdleGdb, typed: str) -> None:
    one.run(typed)
    with pytest.raises(AssertionError, match="leaves something behind"):
        one.prove_clean()
    one.run("help cuda-break")
    one.prove_clean()


@pytest.mark.parametrize("typed", ["python import os; os._exit(3)", "quit"])
def test_one_that_ends_is_started_again(one: IdleGdb, typed: str) -> None:
    with pytest.raises(AssertionError, match="gdb has ended"):
        one.run(typed)
    assert "Usage: cuda-break" in one.run("help cuda-break")


def test_a_fault_of_ours_fails_the_test(one: IdleGdb) -> None:
    with pytest.raises(AssertionError):
        one.run("python 1 / 0")
    one.prove_clean()


def test_the_state_has_all_settings(one: IdleGdb) -> None:
    settings = re.findall(r"'show (cuda-\S+)'", one.run(*STATE))
    assert settings == re.findall(r"^show (cuda-\S+)$", one.run("complete show cuda-"), re.MULTILINE)
    assert len(settings) >= 10
