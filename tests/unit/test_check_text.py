"""A report as a person reads it: heading, findings, and the verdict in a line of its own."""

from __future__ import annotations

import pytest

from gdbcuda.check.finding import Finding, Report
from gdbcuda.check.report_text import report_text, reports_text
from gdbcuda.text import render

HEADING = "/lib/libhook.so  (hook library, x86-64; CUDA 13.0, NVML 13.5; build-id 0123456789ab)"


def report(*findings: Finding) -> Report:
    made = Report("/lib/libhook.so", "hook library", "x86-64", "0123456789abcdef", cuda="13.0", nvml="13.5")
    for finding in findings:
        made.add(finding)
    return made


def test_without_findings() -> None:
    assert report_text(report(), colour=False, width=80) == f"{HEADING}\nlibhook.so: ready"


def test_the_finding_stands_between() -> None:
    found = report(Finding("exec-stack", "warning", "its stack is executable", "code can run there", "do without"))
    first, *between, last = report_text(found, colour=False, width=80).splitlines()
    assert (first, last) == (HEADING, "libhook.so: ready with warnings: exec-stack")
    assert [sum(word in line for line in between) for word in ("exec-stack", "its stack is executable")] == [1, 1]


def test_a_narrow_terminal_has_the_name_above() -> None:
    found = report(Finding("exec-stack", "warning", "its stack is executable", "code can run there", "do without"))
    lines = report_text(found, colour=False, width=44).splitlines()
    assert "exec-stack" in lines[1] and lines[2].startswith("  ") and all(len(line) <= 44 for line in lines[1:-1])


NOTES = [Finding(f"note-{n}", "note", f"seen {n}", f"means {n}", f"do {n}") for n in range(15)]
WARNING = Finding("exec-stack", "warning", "its stack is executable", "code can run there", "do without")


SHORT = [(80, False, True), (80, True, False), (None, False, False)]


@pytest.mark.parametrize(("columns", "is_all", "is_short"), SHORT)
def test_notes_that_do_not_fit_a_terminal_are_what_was_seen(
    monkeypatch: pytest.MonkeyPatch, columns: int | None, is_all: bool, is_short: bool
) -> None:
    monkeypatch.setattr(render, "screen", lambda: columns)
    text = reports_text([(report(WARNING, *NOTES), "it")], colour=False, width=80, between="\n", is_all=is_all)
    assert "code can run there" in text and "do without" in text
    assert ("means 3" not in text and text.endswith("\nWhat the notes mean, and what to do: --all")) is is_short
    assert all(f"seen {n}\n" in text for n in range(15))


def test_notes_of_two_files_that_do_not_fit_have_a_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "screen", lambda: 80)
    long = Finding("hooks", "note", "exports " + "a name, " * 20, "these are reached by name")
    both = [(report(WARNING, long, *NOTES[:12]), "one"), (report(*NOTES[:12]), "other")]
    lines = reports_text(both, colour=False, width=80, between="\n", is_all=False).splitlines()
    assert len(lines) < 40 and "  code can run there" in "\n".join(lines)
    assert [line.split()[1] for line in lines if line.startswith("note ")][:3] == ["hooks", "note-0", "note-1"]
    assert next(line for line in lines if "hooks" in line).endswith(" ...") and max(map(len, lines)) <= 80
    assert lines[-1] == "Notes whole, what they mean, and what to do: --all"
