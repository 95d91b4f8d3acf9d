"""Every command explains itself, and its examples work as typed."""

from __future__ import annotations

import os
import re

import pytest
from scenario import GDB, ROOT, Scenario, execute

ASK = "python from gdbcuda.live.command import REGISTRY; print('names:', *REGISTRY, sep='|')"


def names() -> list[str]:
    text = execute([GDB, "-nx", "-q", "-batch", "-x", str(ROOT / "gdbcuda.py"), "-ex", ASK], dict(os.environ))
    return next(row for row in text.splitlines() if row.startswith("names:")).split("|")[1:]


NAMES = names()


def help_of(local: Scenario, name: str) -> str:
    return local.run(None, f"help {name}", hook=None)


@pytest.mark.parametrize("name", NAMES)
def test_help_has_usage_and_examples(local: Scenario, name: str) -> None:
    text = help_of(local, name)
    first, second = text.splitlines()[:2]
    assert first.endswith("."), first
    assert second.startswith(f"Usage: {name}")
    assert f"\n  {name}" in text.partition("Examples:")[2]


@pytest.mark.parametrize("name", ["cuda-break"])
def test_examples_work_as_typed(local: Scenario, name: str) -> None:
    for example in re.findall(rf"^  ({name} .+)$", help_of(local, name).partition("Examples:")[2], re.MULTILINE):
        text = local.run("test_alloc", example)
        assert re.search(r"^Breakpoints? \d", text, re.MULTILINE), text


def test_completion(local: Scenario) -> None:
    text = local.run(
        "test_alloc",
        "complete cuda-break cuMemAllocP",
        "complete cuda-break cuInit --in dr",
        "complete cuda-break cuInit --on e",
        "complete cuda-break nvmlDeviceGetMem",
        hook=None,
    )
    rows = text.splitlines()
    assert "cuda-break cuMemAllocPitch_v2" in rows
    assert "cuda-break cuInit --in driver" in rows
    assert {"cuda-break cuInit --on enter", "cuda-break cuInit --on error"} <= set(rows)
    assert "cuda-break nvmlDeviceGetMemoryInfo_v2" in rows


def test_names_that_cuda_gdb_owns_are_not_ours(local: Scenario) -> None:
    text = local.run(None, "help cuda", "help info cuda", hook=None)
    assert 'Undefined command: "cuda"' in text or "ambiguous" in text.lower()
    assert 'Undefined info command: "cuda"' in text


def test_help_as_an_option(local: Scenario) -> None:
    assert "\nExamples:" in local.run(None, "cuda-break --help", hook=None)
