"""gdbcuda log gpu, and what the other views of a log make of a GPU's work."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from log_files import append, call, run, write

from gdbcuda.calls.reader import END
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import References
from gdbcuda.log.views.gpu_views.gpu_rows import GpuRows, overlap
from gdbcuda.log.views.gpu_views.gpu_work import GpuOfLog
from gdbcuda.shell import cli

MICRO = 1e-6


def asked(number: int, name: str, start: float, end: float, layer: str = "driver", parent: int | None = None) -> Call:
    """Times in microseconds."""
    made = call(number, name, layer=layer, parent=parent, pid=7, lwp=70, thread=1)
    made.start, made.end, made.depth = start * MICRO, end * MICRO, 0 if parent is None else 1
    return made


def work(
    number: int, name: str, start: float, end: float, lane: int = 2, cause: int | None = None, **more: Any
) -> Call:
    made = call(number, name, {**more, **({} if cause is None else {"call": cause})}, layer="gpu", pid=7, thread=lane)
    made.start, made.end, made.status = start * MICRO, end * MICRO, None
    return made


def kernel(number: int, name: str, start: float, end: float, lane: int = 2, cause: int | None = None) -> Call:
    return work(number, name, start, end, lane, cause, grid=[4, 1, 1], block=[32, 1, 1], registers=8, shared=0)


def notes(*lanes: str, uncertainty: Any = 80) -> str:
    lines = [{"ts": 0, "phase": "M", "name": "thread", "details": {"thread": 2 + at, "name": name, "pid": 7}}
             for at, name in enumerate(lanes)]  # fmt: skip
    details = {"uncertainty": uncertainty, "devices": {"0": "NVIDIA H200"}, "inferior": 0, "pid": 7}
    lines.append({"ts": 0, "phase": "M", "name": "gpu", "details": details})
    return "".join(json.dumps(one) + "\n" for one in lines)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A launch through a hook, a copy behind it in its stream, a copy beside it, one that waits for that copy."""
    calls = [
        asked(0, "cudaLaunchKernel", 0, 60, "runtime"), asked(1, "cuLaunchKernel", 5, 55, "hook", 0),
        asked(2, "cuLaunchKernel", 45, 50, "driver", 1), asked(3, "cuMemcpyDtoHAsync_v2", 62, 64),
        asked(4, "cuMemcpyHtoDAsync_v2", 65, 67), asked(5, "cuMemcpyHtoDAsync_v2", 68, 70),
        kernel(6, "scale(float*)", 70, 170, 2, 0), work(7, "copy HtoD", 80, 180, 3, 4, bytes=1 << 20),
        work(8, "copy DtoH", 171, 191, 2, 3, bytes=4096), work(9, "copy HtoD", 181, 201, 4, 5, bytes=64),
        work(10, "wait for stream", 72, 190, 5, stream=7),
    ]  # fmt: skip
    path = write(tmp_path / "log", calls)
    return append(path, notes("GPU 0 stream 7", "GPU 0 stream 13", "GPU 0 stream 14", "GPU waits of thread 70"))


def data(capsys: pytest.CaptureFixture[str], log: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(capsys, "gpu", log, "--json"))
    return found


def near(seconds: float) -> Any:
    return pytest.approx(seconds * MICRO, abs=1e-9)


def test_how_busy_it_was(capsys: pytest.CaptureFixture[str], log: Path) -> None:
    (one,) = data(capsys, log)["devices"]
    assert (one["device"], one["pieces"]) == ("GPU 0", 4)
    assert (one["span"], one["busy"]) == (near(131), near(131))
    assert one["overlap"] == near((170 - 80) + (180 - 171) + (191 - 181)) and one["beside"] == near(90)


def test_of_which_process_a_gpu_is(capsys: pytest.CaptureFixture[str], log: Path) -> None:
    """Each process numbers those that it sees from 0."""
    other = kernel(11, "scale(float*)", 300, 310, 6)
    other.pid = 8
    append(log, write(log.with_name("other"), [other]).read_text().partition("\n")[2])
    append(log, notes("GPU 0 stream 7").replace('"thread": 2', '"thread": 6').replace('"pid": 7', '"pid": 8'))
    text, found = run(capsys, "gpu", log), data(capsys, log)
    assert "GPU 0 of process 7 (NVIDIA H200): 131 us" in text and "GPU 0 of process 8 (NVIDIA H200): 10 us" in text
    assert "GPU 0 stream 7 of process 7" in text and "GPU 0 stream 7 of process 8" in text
    assert [(one["pid"], one["device"]) for one in found["devices"]] == [(7, "GPU 0"), (8, "GPU 0")]
    assert {one["pid"] for one in found["streams"]} == {7, 8}


def test_by_stream(capsys: pytest.CaptureFixture[str], log: Path) -> None:
    streams = {one["stream"]: one for one in data(capsys, log)["streams"]}
    assert set(streams) == {"GPU 0 stream 7", "GPU 0 stream 13", "GPU 0 stream 14"}
    seven = streams["GPU 0 stream 7"]
    assert (seven["pieces"], seven["busy"], seven["idle"], seven["gap"]) == (2, near(120), near(1), near(1))


def test_what_the_hook_adds_before_the_driver_is_called(capsys: pytest.CaptureFixture[str], log: Path) -> None:
    launch = next(one for one in data(capsys, log)["calls"] if one["function"] == "cudaLaunchKernel")
    assert launch["has_hook"] and launch["before"] == near(45) and launch["call"] == near(60)
    assert launch["queue"] == near(70)
    copies = [one for one in data(capsys, log)["calls"] if one["function"].startswith("cuMemcpy")]
    assert [(one["has_hook"], one["before"]) for one in copies] == [(False, 0), (False, 0)]


def test_copies_that_wait_and_for_what(capsys: pytest.CaptureFixture[str], log: Path) -> None:
    waited = {one["name"]: one for one in data(capsys, log)["waited"]}
    assert waited["copy DtoH"]["behind"] == "a kernel in its stream" and waited["copy DtoH"]["waited"] == near(109)
    assert waited["copy HtoD"]["behind"] == "a copy in another stream" and waited["copy HtoD"]["pieces"] == 1


def test_the_text(capsys: pytest.CaptureFixture[str], log: Path) -> None:
    text = run(capsys, "gpu", log)
    assert "1 kernel, 3 copies, 1 wait\n" in text
    assert "GPU 0 (NVIDIA H200): 131 us from its first work to its last, busy 100 %, idle 0 us" in text
    assert "0.08 us apart at most" in text
    assert "scale(float*)" in text and "hook and runtime" in text and "copies that wait" in text
    assert not [line for line in text.splitlines() if line.startswith("cuMemcpy") and "runtime" in line], "nor has it"


def test_work_that_begins_before_its_call_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = write(tmp_path / "log", [asked(0, "cuLaunchKernel", 10, 12), kernel(1, "early", 7, 9, 2, 0)])
    text = run(capsys, "gpu", log)
    assert "1 piece of work began up to 3 us before the call" in text
    assert data(capsys, log)["early"] == 1


def test_work_whose_call_is_not_in_the_log(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = write(tmp_path / "log", [kernel(0, "alone", 7, 9), kernel(1, "lost", 9, 10, 2, 77)])
    assert "2 kernels; 2 of them come from calls that are not in the log" in run(capsys, "gpu", log)
    (row,) = [one for one in data(capsys, log)["work"] if one["name"] == "lost"]
    assert row["queue"] == -1


def test_a_log_without_any(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = write(tmp_path / "log", [asked(0, "cuLaunchKernel", 10, 12)])
    assert run(capsys, "gpu", log) == "No work of a GPU in this log: gdbcuda trace --gpu records it.\n"


@pytest.mark.parametrize("uncertainty", ["?", None, [], {}])
def test_notes_that_make_no_sense(capsys: pytest.CaptureFixture[str], tmp_path: Path, uncertainty: Any) -> None:
    log = append(write(tmp_path / "log", [kernel(0, "one", 7, 9)]), notes("GPU 0 stream 7", uncertainty=uncertainty))
    assert "1 kernel" in run(capsys, "gpu", log)


def test_summary_and_timeline_tell_it_apart(capsys: pytest.CaptureFixture[str], log: Path) -> None:
    assert "6 calls of 4 functions in 1 thread" in run(capsys, "summary", log)
    assert "5 pieces of work on a GPU" in run(capsys, "summary", log)
    text = run(capsys, "timeline", log)
    assert "T2 is GPU 0 stream 7, T3 is GPU 0 stream 13" in text
    lane = next(line for line in text.splitlines() if line.startswith("T2"))
    assert lane.index("K") < lane.index("C")


def test_every_view_of_both_says_how_far_the_clocks_are_apart(capsys: pytest.CaptureFixture[str], log: Path) -> None:
    said, page = "times of the GPU and of the calls are 0.08 us apart at most", log.with_suffix(".html")
    run(capsys, "report", log, "-o", page)
    assert said in page.read_text() and said in run(capsys, "timeline", log)
    for view in ("show", "tree", "summary"):
        assert cli.main(["log", view, str(log)]) == 0
        assert capsys.readouterr().err == f"gdbcuda: {log}: {said}\n"
        assert cli.main(["log", view, "--json", str(log)]) == 0 and not capsys.readouterr().err
    exported = run(capsys, "export", log)
    assert json.loads(exported)["otherData"]["clocks"] == said
    (log.parent / "exported.json").write_text(exported)
    again = log.parent / "again.jsonl"
    run(capsys, "import", log.parent / "exported.json", "-o", again)
    assert run(capsys, "gpu", again) == run(capsys, "gpu", log), "names of GPUs too"


def test_arrows_go_from_the_call_to_its_work(capsys: pytest.CaptureFixture[str], log: Path) -> None:
    events = json.loads(run(capsys, "export", log))["traceEvents"]
    ends = {one["id"]: one for one in events if one["name"] == "runs" and one["ph"] == "f"}
    begins = {one["id"]: one for one in events if one["name"] == "runs" and one["ph"] == "s"}
    assert set(ends) == set(begins) and len(ends) == 4
    assert (begins[6]["ts"], begins[6]["tid"], ends[6]["ts"], ends[6]["tid"]) == (0, 1, 70, 2)
    names = {one["tid"]: one["args"]["name"] for one in events if one["name"] == "thread_name"}
    assert names[3] == "T3 GPU 0 stream 13"


def test_a_log_of_millions_has_room() -> None:
    """Of a piece of work and its call a few numbers are kept."""
    many = 3000
    events = (call for at in range(many) for call in (asked(2 * at, "cuLaunchKernel", at, at + 0.5),
              kernel(2 * at + 1, "scale(float*)", at + 2, at + 3, 2, 2 * at)))  # fmt: skip
    tracemalloc.start()
    rows = GpuRows(GpuOfLog(References()).feed((END, one) for one in events))
    (row,), most = rows.by_call(), tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert row.pieces == many and most / many < 600, most / many


@pytest.mark.parametrize(("times", "wanted"), [
    ([(0, 4), (1, 2), (1, 3), (3, 5)], 3), ([(0, 1), (1, 2)], 0), ([(0, 9), (2, 4), (5, 6)], 3), ([], 0)])  # fmt: skip
def test_more_than_one_at_a_time(times: list[tuple[float, float]], wanted: float) -> None:
    assert overlap(times) == wanted
