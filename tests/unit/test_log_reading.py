"""How `gdbcuda log` reads and writes: exports, pipes, full disks, and what is shown to who waits."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from log_files import MAIN, alloc_of, append, call, copy, failed, nested, run, write
from shim_support import HOOK, build_shim

from gdbcuda.calls.reader import Log
from gdbcuda.log import cli as cli_module
from gdbcuda.log.progress import Progress
from gdbcuda.shell import cli


def test_chrome_export(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = json.loads(run(capsys, "export", write(tmp_path / "log", nested(), MAIN)))["traceEvents"]
    slices = {e["args"]["number"]: e for e in found if e["ph"] == "X"}
    assert slices[0]["ts"] == 0 and slices[0]["dur"] == 9000 and slices[0]["cat"] == "runtime"
    assert all(slices[0]["ts"] <= e["ts"] and e["ts"] + e["dur"] <= 9000 for e in slices.values())
    assert {(e["ph"], e["ts"]) for e in found if e["ph"] in "sf"} == {("s", 0), ("f", 2000)}
    assert [e["args"]["name"] for e in found if e["ph"] == "M"] == ["T1"]


def test_chrome_export_has_memory_failures_and_the_program(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    calls = [alloc_of(0, "0x1000", pid=7), failed(1, "cudaMalloc", 2, "cudaErrorMemoryAllocation", pid=7),
             call(2, "cudaFree", {"devPtr": "0x1000"}, layer="hook", pid=7)]  # fmt: skip
    details = {"inferior": 1, "pid": 7, "program": "/bin/train", "image": 1}
    program = {"ts": 0, "phase": "M", "name": "process", "details": details}
    path = append(write(tmp_path / "log", calls), json.dumps(program) + "\n")
    found = json.loads(run(capsys, "export", path))["traceEvents"]
    assert [(one["args"]["bytes"], one["pid"]) for one in found if one["ph"] == "C"] == [(64, 7), (0, 7)]
    (mark,) = [one for one in found if one["ph"] == "i"]
    assert mark["name"] == "cudaMalloc: cudaErrorMemoryAllocation" and mark["s"] == "t" and mark["pid"] == 7
    assert [one["args"]["name"] for one in found if one["name"] == "process_name"] == ["train"]


def test_csv_export(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = run(capsys, "export", "--format", "csv", write(tmp_path / "log", nested(), MAIN))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["number"] for row in rows] == ["2", "1", "0"] and rows[1]["parent"] == "0"
    assert rows[2]["base"] == "cudaMemcpy" and rows[2]["caller"] == "main at a.c:3" and rows[2]["status"] == "0"


def test_several_logs_in_one_export(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Processes of the same number are told apart, and so are arrows; each row of a table says its file."""
    calls = [copy(0, layer="app", pid=7, end=0.009), call(1, "cuMemcpyHtoD_v2", parent=0, layer="driver", pid=7)]
    logs = [write(tmp_path / name, calls) for name in ("a", "b")]
    found = json.loads(run(capsys, "export", *logs))["traceEvents"]
    names = {one["args"]["name"]: one["pid"] for one in found if one["name"] == "process_name"}
    assert set(names) == set(map(str, logs)) and set(names.values()) == {7, 8}
    assert [one["pid"] for one in found if one["ph"] == "X"] == [7, 7, 8, 8]
    assert len({one["id"] for one in found if one["ph"] == "s"}) == 2
    rows = list(csv.DictReader(run(capsys, "export", "--format", "csv", *logs).splitlines()))
    assert [(row["file"], row["number"]) for row in rows] == [(str(log), n) for log in logs for n in "10"]


@pytest.mark.parametrize("view", ["show", "export", "summary"])
def test_a_full_disk_is_one_line(tmp_path: Path, view: str) -> None:
    path = write(tmp_path / "log", nested() * 200)
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "gdbcuda.shell.cli", "log", view, str(path)],
                              stdout=full, check=False, stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "gdbcuda: cannot write the output: no space left on device\n")


def test_a_log_that_comes_through_a_pipe(tmp_path: Path) -> None:
    text = write(tmp_path / "log", nested(), MAIN).read_bytes()
    done = subprocess.run([sys.executable, "-m", "gdbcuda.shell.cli", "log", "summary", "-"],
                          input=text, capture_output=True, check=True)  # fmt: skip
    assert done.stdout.startswith(b"3 calls of 2 functions") and not done.stderr


def test_what_cannot_be_read_is_said_on_stderr(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = write(tmp_path / "log", nested())
    log.write_text(log.read_text() + "rubbish")
    assert cli.main(["log", "show", str(log)]) == 0
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 3 and ": the last line is cut off" in shown.err
    assert cli.main(["log", "show", str(tmp_path / "none")]) == 2
    assert "cannot read" in capsys.readouterr().err


def test_of_lost_calls_the_last_line_of_a_process_holds() -> None:
    log = Log()
    for pid, calls in ((1, 3), (2, 10), (1, 5)):
        log.note("lost", {"name": "overwritten", "calls": calls, "pid": pid})
    log.note("lost", {"name": "nothing that we know", "calls": 7})
    assert +log.problems == {"a call that was overwritten before the program stopped": 15}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_progress_bar_for_those_who_wait_at_a_terminal() -> None:
    for stream, is_seen in ((Terminal(), True), (io.StringIO(), False)):
        progress = Progress(100, stream)
        progress(10)
        assert stream.getvalue() == ""  # not at once
        progress.shown_at = 0.0
        progress(40)
        progress.close()
        assert ("50 %" in stream.getvalue()) == is_seen


@pytest.mark.parametrize(("where", "seen"), [("file", "50 % 60 % 70 %"), ("pipe", "50 %")])
def test_the_bar_stays_beside_a_file_and_goes_before_a_pager(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, where: str, seen: str
) -> None:
    """Lines that go elsewhere do not take it away; a pager behind a pipe has the terminal to itself."""
    ends = os.pipe() if where == "pipe" else (0, os.open(tmp_path / "out", os.O_CREAT | os.O_WRONLY))
    with open(ends[1], "w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        progress = Progress(100, screen := Terminal())
        for count in (50, 10, 10):
            progress.shown_at = 0.0
            progress(count)
            progress.make_room()
    assert " ".join(re.findall(r"\d+ %", screen.getvalue())) == seen
    assert screen.getvalue().endswith(" \r") == (where == "pipe"), "it is gone, or still there"


@pytest.mark.parametrize("view", cli_module.VIEWS)
@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_bar_is_gone_where_a_line_is_printed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, view: str, is_terminal: bool
) -> None:
    """Every view has a bar, but what goes to another program as it is read has none on the same terminal."""
    monkeypatch.setattr("gdbcuda.log.progress.PATIENCE", 0.0)
    monkeypatch.setattr("gdbcuda.log.progress.OFTEN", 0.0)
    monkeypatch.setattr("gdbcuda.calls.reader.CHUNK", 500)
    screen, file = Terminal(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    path = write(tmp_path / "log", nested())
    hook = build_shim() / HOOK
    also = {"diff": [str(path)], "report": ["-o", str(tmp_path / "page")], "coverage": ["--hook", str(hook)]}
    for out in (file, screen if is_terminal else io.StringIO()):
        screen.truncate(0)
        monkeypatch.setattr(sys, "stdout", out)
        assert cli.main(["log", view, str(path), *also.get(view, []), "--color", "never"]) == 0
    seen = screen.getvalue().lstrip("\0")
    assert ("%" in seen) != (is_terminal and view == "export")
    assert re.sub(r"\r[^\r\n]*(?=\r)|\r", "", seen) == (file.getvalue() if is_terminal else "")


@pytest.mark.parametrize("view", ["show", "tree"])
def test_that_no_call_is_like_that_is_told_beside_the_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], view: str
) -> None:
    path = write(tmp_path / "log", [call(0, "cuInit")])
    assert cli.main(["log", view, str(path), "--thread", "9"]) == 0
    assert capsys.readouterr() == ("", f"gdbcuda: {path}: no call like that\n")
    assert cli.main(["log", view, str(path), "--thread", "9", "--json"]) == 0
    assert capsys.readouterr() == ("", "")
