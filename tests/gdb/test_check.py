"""cuda-check and the verdict of cuda-load."""

from __future__ import annotations

import json

import pytest
from idle_gdb import IdleGdb
from scenario import Scenario


@pytest.mark.smoke
def test_the_verdict_is_shown_at_load(local: Scenario) -> None:
    assert "check: will be reached" in local.run("test_alloc")
    wrong = local.sample("wrong") / "only_dlsym.so"
    assert "check: will not be reached by this program" in local.run("test_alloc", hook=wrong)
    unchecked = local.run("test_alloc", f"cuda-load {wrong} --unchecked", "cuda-check --quiet", hook=None)
    assert "check: " not in unchecked and "will not be reached by this program" in unchecked


@pytest.mark.parametrize(
    ("library", "finding"),
    [
        ("hidden", "hidden-functions"),
        ("only_dlsym", "only-dlsym"),
        ("no_debug", "no-debug-info"),
        ("private_dl_sym", "glibc-private"),
        ("recursing_dlsym", "dlsym-recursion"),
        ("minus_one", "returns-minus-one"),
        ("null_out", "out-parameter-unused"),
        ("partial_suffix", "per-thread-missing"),
        ("version_ignored", "version-ignored"),
        ("next_trouble", "asks-next-only"),
    ],
)
def test_each_wrong_library_is_found_out(not_started: IdleGdb, local: Scenario, library: str, finding: str) -> None:
    text = not_started.run(f"cuda-check {local.sample('wrong')}/{library}.so")
    assert finding in text
    assert "-> " in text


def test_the_program_together_with_the_hook(local: Scenario) -> None:
    text = local.run("static_program", f"cuda-check --quiet {local.sample('static_program')}")
    assert "static_program: cannot be hooked: a static program (static-program)" in text


def test_json_is_one_document(local: Scenario) -> None:
    text = local.run("test_alloc", "cuda-check --json")
    found = json.loads(next(row for row in text.splitlines() if row.startswith("{")))
    assert found["files"][0]["verdict"] == "will be reached"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("cuda-check", "no hook library; name one"),
        ("cuda-check /nowhere", "no such file"),
        ("cuda-check /etc/passwd", "not an ELF file"),
        ("cuda-check /tmp", "cuda-check: "),
    ],
)
def test_mistakes_are_one_line(not_started: IdleGdb, command: str, message: str) -> None:
    text = not_started.run(command)
    assert message in text
    assert len(text.strip().splitlines()) == 1
