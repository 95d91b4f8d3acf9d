"""Log files: written as they happen, read as far as they go."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_files import HEADER, append, call, lines, read, write

from gdbcuda.calls import reader, record, sinks
from gdbcuda.errors import UserError
from gdbcuda.shell import cli

ALLOC = {"dptr": {"address": "0x10"}, "bytesize": 4096}


def two_calls() -> list[record.Call]:
    outer = call(0, "cudaMalloc", {"size": 4096}, end=0.01, layer="runtime", caller=0x400)
    inner = call(1, "cuMemAlloc_v2", ALLOC, parent=0, depth=1, out={"dptr": {"address": "0x10", "value": "0x7f00"}})
    return [outer, inner]


def test_lines_have_the_fields_of_the_format(tmp_path: Path) -> None:
    header, *events = lines(write(tmp_path / "log", two_calls()))
    assert header["gdbcuda_log"] == 1 and header["cuda"] == "13.0" and header["clock"]
    assert [(e["phase"], e["op_id"], e["name"]) for e in events] == [
        ("B", 0, "cudaMalloc"), ("B", 1, "cuMemAlloc_v2"), ("E", 1, "cuMemAlloc_v2"), ("E", 0, "cudaMalloc"),
    ]  # fmt: skip
    assert events[1]["details"] == ALLOC and events[1]["parent"] == 0 and events[1]["ts"] == 0.001
    assert events[2]["details"]["status"] == 0 and events[2]["details"]["out"]["dptr"]["value"] == "0x7f00"


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    places = {0x400: {"function": "main", "source": "a.c:3"}}
    found, log = read(write(tmp_path / "log", two_calls(), places))
    assert [c.name for c in found] == ["cuMemAlloc_v2", "cudaMalloc"]  # inner ones are over first
    inner, outer = found
    assert (inner.parent, inner.depth, inner.arguments, inner.result) == (0, 1, ALLOC, "CUDA_SUCCESS")
    assert inner.out == two_calls()[1].out and inner.seconds == pytest.approx(0.0005)
    assert log.notes.place((0, 0), outer.caller)["function"] == "main"
    assert not log.problems


def test_every_event_is_in_the_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "log"
    file = sinks.JsonLines(str(path), HEADER)
    file.entry(call(0, "cuInit"))
    assert lines(path)[-1]["phase"] == "B"  # nothing has been flushed or closed
    file.close()


def test_a_cut_off_line_costs_that_call_alone(tmp_path: Path) -> None:
    path = append(write(tmp_path / "log", two_calls()), '{"ts":0.5,"op_id":2,"ph')
    found, log = read(path)
    assert len(found) == 2
    assert dict(log.problems) == {"the last line is cut off": 1}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rubbish\n", "a line that is no JSON object"),
        ("[1,2]\n", "a line that is no JSON object"),
        ('{"ts":1,"op_id":9,"phase":"E","name":"cuInit"}\n', "an end without its begin"),
        ('{"ts":1,"op_id":9,"phase":"B","name":"cuInit"}\n', "a call without its end"),
        ('{"ts":1,"phase":"B","name":"cuInit"}\n', "a line with something missing"),
        ('{"ts":"x","op_id":9,"phase":"B","name":"cuInit"}\n', "a line with something missing"),
        ('{"ts":1,"phase":"M","name":"place","details":3}\n', "a line with something missing"),
        ('{"ts":1,"phase":"?"}\n', "a line of an unknown kind"),
        ("\udcff\x00\n", "a line that is no JSON object"),
        (json.dumps({**HEADER, "gdbcuda_log": 99}) + "\n", "written in format 99, this is a reader for 1"),
    ],
)
def test_bad_lines_are_counted_and_the_rest_is_read(tmp_path: Path, text: str, problem: str) -> None:
    path = write(tmp_path / "log", two_calls())
    good = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*good[:3], text.encode(errors="surrogateescape"), *good[3:]]))
    found, log = read(path)
    names = [c.name for c in found if c.number != 9]
    assert problem in log.problems
    if "format" not in problem:
        assert names == ["cuMemAlloc_v2", "cudaMalloc"]


def test_an_open_call_is_there_and_said_to_be_open(tmp_path: Path) -> None:
    outer, inner = two_calls()
    outer.end = None
    found, log = read(write(tmp_path / "log", [outer, inner]))
    assert [(c.name, c.ended) for c in found] == [("cuMemAlloc_v2", ""), ("cudaMalloc", record.STILL_OPEN)]
    assert found[1].seconds is None and log.problems["a call without its end"] == 1


def test_two_logs_in_one_file_do_not_mix(tmp_path: Path) -> None:
    outer, inner = two_calls()
    outer.end = None
    path = write(tmp_path / "log", [outer, inner])
    append(path, write(tmp_path / "second", two_calls()).read_text())
    found, _ = read(path)
    assert [c.name for c in found] == ["cuMemAlloc_v2", "cudaMalloc"] * 2
    assert [c.ended for c in found] == ["", record.STILL_OPEN, "", ""]


def test_a_log_of_another_program_in_the_same_format(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text('{"ts":0.000001,"op_id":0,"phase":"B","name":"cuInit","details":{"flags":0}}\n'
                    '{"ts":0.000050,"op_id":0,"phase":"E","name":"cuInit","details":{"status":0}}\n')  # fmt: skip
    (found,), log = read(path)
    assert found.arguments == {"flags": 0} and found.seconds == pytest.approx(49e-6) and not found.failed
    assert list(log.problems) == ["no header line: not written by gdbcuda, or the beginning is missing"]


def test_files_that_cannot_be_opened_are_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read"):
        list(reader.file_events(reader.LogFile(tmp_path / "none"), reader.Log()))
    with pytest.raises(UserError, match="cannot write"):
        sinks.JsonLines(str(tmp_path), HEADER)


def test_a_full_disk(tmp_path: Path) -> None:
    """It is told once, and whoever records goes on."""
    with pytest.raises(UserError, match="cannot write /dev/full: no space left"):
        sinks.JsonLines("/dev/full", HEADER)
    told: list[str] = []
    file = sinks.JsonLines(str(tmp_path / "log"), HEADER, told.append)
    file.file = open("/dev/full", "w", buffering=1)  # noqa: SIM115
    for number in range(3):
        file.entry(call(number, "cuInit"))
    file.close()
    assert told == [f"cannot write {tmp_path / 'log'}: no space left on device"]


def test_the_last_calls_are_kept_and_can_be_written(tmp_path: Path) -> None:
    kept = sinks.Kept(3)
    kept.note(0, "place", {"address": 1, "function": "main"})
    for number in range(10):
        kept.entry(call(number, "cuInit"))
    assert [c.number for c in kept.calls] == [7, 8, 9] and kept.lost == 7
    file = sinks.JsonLines(str(tmp_path / "log"), HEADER)
    kept.replay(file)
    file.close()
    found, log = read(tmp_path / "log")
    assert [c.number for c in found] == [7, 8, 9] and log.notes.place((0, 0), 1)["function"] == "main"
    kept.limit(1)
    assert [c.number for c in kept.calls] == [9]


@pytest.mark.parametrize(
    "field",
    [{"thread": [1]}, {"parent": {}}, {"caller": "0x1"}, {"layer": 5}, {"details": [1]}, {"depth": "deep"},
     {"name": None}, {"op_id": "7"}, {"ts": 1e400}],
)  # fmt: skip
def test_a_begin_with_a_field_of_another_type_is_no_call(tmp_path: Path, field: dict) -> None:
    """Nothing behind the reader asks again."""
    path = write(tmp_path / "log", two_calls())
    begin = {"ts": 1, "op_id": 9, "phase": "B", "name": "cuInit", **field}
    append(path, json.dumps(begin) + "\n")
    found, log = read(path)
    assert [c.name for c in found] == ["cuMemAlloc_v2", "cudaMalloc"] and sum(log.problems.values()) == 1


@pytest.mark.parametrize("details", [{"status": "bad"}, {"out": [1]}, {"ended": 5}, [1]])
def test_an_end_with_a_field_of_another_type_leaves_the_call_open(tmp_path: Path, details: object) -> None:
    path = append(write(tmp_path / "log", two_calls()), '{"ts":1,"op_id":9,"phase":"B","name":"cuInit"}\n')
    append(path, json.dumps({"ts": 2, "op_id": 9, "phase": "E", "name": "cuInit", "details": details}) + "\n")
    found, log = read(path)
    assert found[-1].ended == record.STILL_OPEN
    assert dict(log.problems) == {"a line with something missing": 1, "a call without its end": 1}


def test_a_line_without_end_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong file, a core file say, must not fill the memory."""
    monkeypatch.setattr(reader, "LONGEST", 1 << 17)
    good = write(tmp_path / "log", two_calls()).read_text().splitlines(keepends=True)
    path = tmp_path / "long"
    path.write_text("".join([*good[:3], "x" * 400_000 + "\n", *good[3:], "y" * 400_000]))
    found, log = read(path)
    assert [c.name for c in found] == ["cuMemAlloc_v2", "cudaMalloc"]
    assert dict(log.problems) == {"a line of more than 4 MiB": 2}


def test_a_byte_order_mark_and_the_line_ends_of_another_system(tmp_path: Path) -> None:
    path = write(tmp_path / "log", two_calls())
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    found, log = read(path)
    assert len(found) == 2 and log.header["cuda"] == "13.0" and not log.problems


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["0x10", "0xq"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["address", "value", "x"]), inner),
    max_leaves=5,
)
FIELDS = ("thread", "lwp", "pid", "inferior", "depth", "parent", "layer", "object", "caller", "stack", "gdbcuda_log")
PARAMETERS = ("dptr", "bytesize", "pCopy", "f", "gridDimX", "status", "result", "out", "ended", "address", "file")
DETAILS = st.dictionaries(st.sampled_from(PARAMETERS), ANYTHING, max_size=4)
NAMES = ("cuMemAlloc_v2", "cuMemFree_v2", "cuMemcpy2D_v2", "cuLaunchKernel", "place")
LINE = st.fixed_dictionaries(
    {
        "phase": st.sampled_from("BBEEM"),
        "op_id": st.integers(0, 2) | ANYTHING,
        "ts": st.floats(0, 9) | ANYTHING,
        "name": st.sampled_from(NAMES) | ANYTHING,
    },
    optional={"details": DETAILS | ANYTHING, **dict.fromkeys(FIELDS, ANYTHING)},
)


@given(st.lists(LINE, max_size=12))
@settings(max_examples=60, deadline=None)
def test_whatever_a_file_holds_every_view_says_something(rows: list[dict]) -> None:
    """What the reader lets through the views can show."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log")
        path.write_text("\n".join(json.dumps(row) for row in rows))
        for view in ("show", "tree", "changes", "summary", "timeline", "memory", "export"):
            with redirect_stdout(io.StringIO()) as text, redirect_stderr(io.StringIO()) as errors:
                status = cli.main(["log", view, str(path)])
            if status:
                assert (status, errors.getvalue().count("\n")) == (2, 1) and " is no call log: " in errors.getvalue()
            else:
                assert view in ("show", "tree") or text.getvalue()


@pytest.mark.parametrize(("held", "why"), [("", "the file is empty"), ("hello\n", "no line of one is in it"),
                                           ("\x7fELF", "no line of one is in it")])  # fmt: skip
def test_what_is_no_log_is_no_log_without_calls(tmp_path: Path, held: str, why: str) -> None:
    (tmp_path / "file").write_text(held)
    for view in ("show", "tree", "summary", "memory", "export"):
        with redirect_stderr(io.StringIO()) as errors:
            assert cli.main(["log", view, str(tmp_path / "file")]) == 2
        assert errors.getvalue() == f"gdbcuda: {tmp_path / 'file'} is no call log: {why}\n"


def test_a_device_is_not_read_for_ever(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["log", "show", "/dev/zero"]) == 2
    assert capsys.readouterr().err == "gdbcuda: /dev/zero is a device: a file or a pipe is needed\n"
    assert cli.main(["log", "show", os.devnull]) == 2
    assert capsys.readouterr().err == f"gdbcuda: {os.devnull} is no call log: the file is empty\n"


def test_of_a_fifo_without_a_writer_it_is_said_that_it_is_waited_for(tmp_path: Path) -> None:
    """Who types the wrong name sees why nothing comes; who types the writer's line second is served."""
    fifo, text = tmp_path / "fifo", write(tmp_path / "log", two_calls()).read_bytes()
    os.mkfifo(fifo)
    command = [sys.executable, "-m", "gdbcuda", "log", "show", str(fifo)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as shown:
        assert shown.stderr is not None and shown.stdout is not None
        assert shown.stderr.readline() == (
            f"gdbcuda: waiting for somebody to write into {fifo}, which is a FIFO (Ctrl-C ends it)\n")
        fifo.write_bytes(text)
        assert "cuMemAlloc_v2" in shown.stdout.read() and shown.stderr.read() == ""
