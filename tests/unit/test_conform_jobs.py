"""gdbcuda conform --jobs, and a hook library that hangs wherever it is called."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conform_hooks import ConformFiles
from shim_support import SHIM

from gdbcuda.compare.findings import Allowed
from gdbcuda.contract.c_programs import showing_program
from gdbcuda.shell.conform import cases as conform_cases
from gdbcuda.shell.conform.options import ConformOptions

QUOTA = 256 << 20
HANGING = "\n".join(
    f"CUresult {name}({parameters}) {{ pause(); return 0; }}"
    for name, parameters in {
        "cuCtxSynchronize": "void", "cuEventCreate": "CUevent *e, unsigned f", "cuEventQuery": "CUevent e",
        "cuEventRecord": "CUevent e, CUstream s", "cuStreamCreate": "CUstream *s, unsigned f",
        "cuStreamQuery": "CUstream s",
    }.items()
)  # fmt: skip


@pytest.fixture(scope="module")
def files(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> ConformFiles:
    return ConformFiles(tmp_path_factory.mktemp("conform"), shim)


def test_what_hangs_everywhere_is_given_up(files: ConformFiles) -> None:
    """Three of a group tell it; of the others is said that they are not tried."""
    hook = files.hook("hanging", HANGING)
    with ThreadPoolExecutor() as beside:  # each waits most of a minute
        report = beside.submit(files.run, hook, "--only=transparent/cu*", f"--junit={files.folder / 'hanging.xml'}")
        found = files.data(hook, "--only=transparent/cu*", "--jobs=2")
    assert {one["broken"] for one in found["broken"]} == {"it does not end"}
    assert len(found["broken"]) + len(found["given_up"]) == 6 and 3 <= len(found["broken"]) <= 4
    assert not found["not_run"]
    assert "transparent: 3 cases hang, so 3 more are not tried (--only CASE tries one)" in report.result().stdout
    waited = "^gdbcuda conform is at work, \\d+ s, [0-6] of 6 cases, [0-3] findings?$"
    assert re.search(waited, report.result().stderr, re.M)
    assert (files.folder / "hanging.xml").read_text().count("others of its group hang") == 3


def test_what_is_said_is_the_same_with_several_at_a_time(files: ConformFiles, tmp_path: Path) -> None:
    """Each process has its own region, so that none counts what another has; no file of theirs is left."""
    hook, region = SHIM / "build/sample/wrong/books/forgets_failure.so", tmp_path / "region"
    words = [f"--env=QUOTA={QUOTA}", f"--env=QUOTA_REGION={region}", f"--limit={QUOTA}", "--only=status",
             "--only=faults", "--only=transparent", "--only=books/cuMemAlloc_v2"]  # fmt: skip
    alone, together = (masked(files.run(hook, *words, f"--jobs={jobs}").stdout) for jobs in (1, 2))
    assert alone == together and "forgets_failure.so breaks its contract" in alone
    assert [*tmp_path.iterdir()] == []


def test_without_a_compiler_the_other_groups_are_played(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(showing_program, "gcc_lines", lambda *_: [([str(tmp_path / "gcc")], "")])
    chosen = ConformOptions()
    chosen.lib, chosen.only = str(SHIM / "build/sample/minimal_hook.so"), ["books/cuMemAlloc*", "status/cuMemFree_v2"]
    report = conform_cases.run(chosen, Allowed.of_file(None))
    (remark,) = report.remarks
    assert re.fullmatch(r"books: no \S+/gcc on this machine \(Debian: apt-get install gcc libc6-dev\)", remark)
    assert report.ran == ["status/cuMemFree_v2"]


def masked(text: str) -> str:
    return re.sub(r"\. [\d.]+ m?s, seed", ". 1 s, seed", text)


def test_a_fault_in_a_process_of_jobs_is_told(files: ConformFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files.folder)
    (files.folder / "sitecustomize.py").write_text(
        "from gdbcuda.contract.running import runs\n"
        "def fails(*_): raise KeyError('a fault of a case')\n"
        "runs.broken = fails\n"
    )
    done = files.run(SHIM / "build/sample/wrong/minus_one.so", "--only=status", "--jobs=2",
                     PYTHONPATH=str(files.folder))  # fmt: skip
    assert done.returncode == 70 and "in a process of --jobs" in done.stderr
    assert len(done.stderr.splitlines()) == 1
