"""gdbcuda conform, the group "books": libraries that keep them, and what is made of one that does not."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from conform_hooks import MADE_SMALL, SAID, ConformFiles
from shim_support import HOOK, ROOT, clean_environment

LIMIT = 256 << 20
ALLOC = "books/cuMemAlloc_v2"
UNCOUNTED = ("cuMemAllocPitch_v2", "cuMemAllocAsync", "cuMemAllocManaged", "cuMemCreate", "cuArrayCreate_v2")


@pytest.fixture(scope="module")
def files(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> ConformFiles:
    return ConformFiles(tmp_path_factory.mktemp("conform"), shim)


def quota(files: ConformFiles, name: str, region: Path, *words: str | Path) -> list[str]:
    given = ["--env", f"QUOTA={LIMIT}", "--env", f"QUOTA_REGION={region}", "--limit", str(LIMIT)]
    return files.broken(files.shim / "sample" / f"{name}.so", *given, *words)


@pytest.mark.parametrize("allocator", UNCOUNTED)
def test_a_way_past_the_limit_is_found(files: ConformFiles, tmp_path: Path, allocator: str) -> None:
    """A library that knows cuMemAlloc_v2 alone."""
    found = quota(files, "quota_hook", tmp_path / "region", "--only", f"books/{allocator}*")
    assert found == [f"books/{one}: {one} grants more than the limit" for one in (allocator, f"{allocator}_ptsz")
                     if one in (allocator, "cuMemAllocAsync_ptsz")]  # fmt: skip


def test_processes_that_share_a_limit_rightly(files: ConformFiles, tmp_path: Path) -> None:
    words = [word for case in ("processes", "killed", "cuMemAlloc_v2 by*") for word in ("--only", f"books/{case}")]
    assert quota(files, "quota_hook", tmp_path / "region", *words) == []


def test_our_own_hook_library_keeps_its_books(files: ConformFiles, shim: Path) -> None:
    words = ["--env", f"GDBCUDA_MEMORY_LIMIT={LIMIT}", "--limit", str(LIMIT)]
    report = files.data(shim / HOOK, "--only", "books", *words)
    assert report["broken"] == [] and len(report["cases"]) > 40
    assert "books/processes: each process is counted by itself, so no limit is shared" in report["not_tried"]


def test_what_cannot_be_tried_is_said(files: ConformFiles, shim: Path) -> None:
    report = files.data(shim / HOOK, "--only", "books/cuMipmappedArrayCreate")
    assert report["not_tried"] == [
        "books: cuGraphAddNode is not tried: nothing here makes its arguments",
        "books: cuGraphAddNode_v2 is not tried: nothing here makes its arguments",
        "books: cuMipmappedArrayCreate is not tried: the driver does not have it",
        "books: without --limit SIZE nothing is asked about a limit",
    ]


def test_a_random_sequence_is_made_small(files: ConformFiles, tmp_path: Path) -> None:
    """It takes two blocks of different sizes, and that the second is freed. The first is given back at the end, but
    where it went with a context that is not needed."""
    given = ["--env", f"QUOTA={LIMIT}", "--env", f"QUOTA_REGION={tmp_path / 'region'}", "--limit", str(LIMIT)]
    hook = files.shim / f"sample/wrong/{MADE_SMALL}.so"
    found = files.data(hook, "--only", "books/random", "--only", ALLOC, *given)["broken"]
    assert {one["case"] for one in found} == {"books/random"}
    promised = SAID.findall((ROOT / f"shim/sample/wrong/{MADE_SMALL}.c").read_text())
    assert promised and set(promised) <= {f"{one['case']}: {one['broken']}" for one in found}
    for one in found:
        got, second, freed, *rest = one["example"].rpartition(": ")[2].split("; ")
        first, other = (re.fullmatch(r"cuMemAlloc_v2\(&(block\d+), \d+\)", call)[1] for call in (got, second))
        assert re.fullmatch(rf"cuMemFree\w*\({other}(, NULL)?\)", freed)
        assert rest in ([], [f"cuMemFree_v2({first})"])


def test_without_hypothesis_it_is_said(files: ConformFiles, tmp_path: Path, shim: Path) -> None:
    (tmp_path / "hypothesis.py").write_text("raise ImportError('not here')\n")
    done = files.run(shim / HOOK, "--only", "books/random", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0
    assert "pip install 'gdbcuda[conform]' brings hypothesis" in " ".join(done.stdout.split())


def test_random_sequences_end_with_the_time(files: ConformFiles, shim: Path) -> None:
    done = files.run(shim / HOOK, "--only", "books/random", "--seconds", "1")
    assert done.returncode == 0
    assert re.search(r"books/random: its time was up after \d+ sequences? \(--seconds\)", " ".join(done.stdout.split()))


def test_the_program_shows_it_alone(files: ConformFiles, tmp_path: Path) -> None:
    """Built by the line in its first comment, and run by the next one."""
    hook = files.shim / "sample/wrong/books/frees_twice.so"
    given = ["--env", f"QUOTA={LIMIT}", "--limit", str(LIMIT)]
    done = files.run(hook, "--show", "books/cuMemAlloc_v2", "-o", tmp_path, *given)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "case.c").read_text()
    lines_in_front = [line.strip() for line in text.splitlines()]
    build, run = (line for line in lines_in_front if line.startswith("gcc ") or line.endswith(" ./case"))
    lines = subprocess.run(f"{build} && {run}", shell=True, env=clean_environment(), capture_output=True, text=True,
                           cwd=tmp_path)  # fmt: skip
    said = [line.split()[4] for line in lines.stdout.splitlines() if line.startswith("says cuMemGetInfo_v2")]
    assert said[0] != said[-1], "what is free is not as it was"
    assert "-ex 'cuda-break " in text
