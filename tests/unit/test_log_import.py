"""gdbcuda log import: traces that others have made get the same views; what is no trace is one line."""

from __future__ import annotations

import gzip
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from forking_gdbcuda import run_gdbcuda
from imported_traces import export_of_nsys, imported, log_of, of_memory, shown

from gdbcuda.errors import UserError
from gdbcuda.log.foreign import importing
from gdbcuda.log.views.exporting import own_slices

LINES = """\
{"ts":0.000001,"op_id":0,"phase":"B","name":"cuInit","details":{"flags":0}}
{"ts":0.000050,"op_id":0,"phase":"E","name":"cuInit","details":{"status":0}}
{"ts":0.000060,"op_id":1,"phase":"B","name":"cudaMalloc","details":{"size":4096}}
{"ts":0.000070,"op_id":2,"phase":"B","name":"cuMemAlloc_v2","details":{"bytesize":4096}}
{"ts":0.000080,"op_id":2,"phase":"E","name":"cuMemAlloc_v2","details":{"status":2}}
{"ts":0.000090,"op_id":1,"phase":"E","name":"cudaMalloc","details":{"status":2}}
{"ts":0.000100,"op_id":3,"phase":"B","name":"cuCtxSynchronize"}
"""
# As torch.profiler's export_chrome_trace writes it.
TORCH: dict[str, Any] = {"schemaVersion": 1, "traceName": "x", "distributedInfo": {"backend": "nccl", "rank": 3},
                         "baseTimeNanoseconds": 1764000000000000000, "traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7, "ts": 5e9, "dur": 100.5,
     "args": {"External id": 1}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 5e9 + 10, "dur": 20,
     "args": {"External id": 1, "cbid": 211, "correlation": 33}},
    {"ph": "X", "cat": "kernel", "name": "void gemm<float>(float*)", "pid": 0, "tid": 7, "ts": 5e9 + 40, "dur": 50,
     "args": {"device": 0, "stream": 7, "correlation": 33, "grid": [2, 1, 1], "block": [128, 1, 1]}},
    {"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#1", "pid": 0, "tid": 7, "ts": 5e9 + 40, "dur": 60,
     "args": {"External id": 2}},
    {"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "args": {"name": "python"}},
    {"ph": "s", "id": 33, "pid": 7, "tid": 7, "ts": 5e9 + 10, "cat": "ac2g", "name": "ac2g"},
    {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler",
     "ts": 5e9, "dur": 200},
]}  # fmt: skip


def test_begin_and_end_lines(tmp_path: Path) -> None:
    done, log = imported(tmp_path, "trace.jsonl", LINES)
    assert (done.returncode, done.stdout) == (0, f"4 calls in {log}\n")
    init, outer, inner, last = shown(log)
    assert (init["layer"], init["result"], init["start"]) == ("driver", "CUDA_SUCCESS", 0.0)
    assert (outer["layer"], outer["result"]) == ("runtime", "cudaErrorMemoryAllocation")
    assert (inner["parent"], inner["depth"], inner["result"]) == (1, 1, "CUDA_ERROR_OUT_OF_MEMORY")
    assert last["ended"] == "not over"


def test_what_is_behind_the_events_counts_too(tmp_path: Path) -> None:
    """They are read one by one, and whose they are may be told at the end."""
    (tmp_path / "last.json").write_text(json.dumps(dict(reversed(TORCH.items()))))
    (tmp_path / "first.json").write_text(json.dumps(TORCH))
    last, first = (importing.read(str(tmp_path / f"{name}.json")) for name in ("last", "first"))
    assert [(one.name, one.layer, one.start) for one in last.calls] == [
        (one.name, one.layer, one.start) for one in first.calls]  # fmt: skip
    assert (last.programs, last.epoch) == (first.programs, first.epoch) and last.programs[7]["rank"] == "rank 3"


def test_what_the_profiler_of_pytorch_writes(tmp_path: Path) -> None:
    done, log = imported(tmp_path, "trace.json", json.dumps(TORCH))
    assert done.returncode == 0, done.stderr
    by_name = {call["name"]: call for call in shown(log)}
    launch, kernel = by_name["cudaLaunchKernel"], by_name["void gemm<float>(float*)"]
    assert launch["parent"] == by_name["aten::mm"]["number"]
    assert (kernel["layer"], kernel["arguments"]["call"]) == ("gpu", launch["number"])
    assert kernel["start"] == pytest.approx(40e-6) and kernel["seconds"] == pytest.approx(50e-6)
    assert kernel["parent"] is None, "what is said of a stream stands beside its work, not around it"
    head, process = (json.loads(line) for line in log.read_text().splitlines()[:2])
    assert process["details"] == {"program": "python", "rank": "rank 3", "inferior": 0, "pid": 7}
    assert head["started"] == pytest.approx(1764005000, abs=1)


# A call that jumps on to the driver within a nanosecond, one that reads and writes a count, one that is not over.
OURS = """{"gdbcuda_log":1,"phase":"H","version":"0.1.0","started":0.0,"program":"","cuda":"13.0","nvml":"13.5"}
{"ts":0.0,"phase":"M","name":"process","details":{"program":"/train","rank":"rank 3","inferior":0,"pid":7}}
{"ts":0.0,"op_id":0,"phase":"B","name":"cuInit","details":{"Flags":0},"thread":1,"pid":7,"depth":0,"layer":"app"}
{"ts":0.5,"op_id":1,"phase":"B","name":"cuDeviceGet","details":{"device":"0x40","ordinal":0},"thread":1,"pid":7,"depth":1,"parent":0,"layer":"hook"}
{"ts":0.5,"op_id":2,"phase":"B","name":"cuDeviceGet","details":{"device":"0x40","ordinal":0},"thread":1,"pid":7,"depth":2,"parent":1,"layer":"driver"}
{"ts":0.500000001,"op_id":2,"phase":"E","name":"cuDeviceGet","details":{"status":0,"result":"CUDA_SUCCESS","out":{"device":{"address":"0x40","value":0}}}}
{"ts":0.500000001,"op_id":1,"phase":"E","name":"cuDeviceGet","details":{"status":0,"result":"CUDA_SUCCESS","out":{"device":{"address":"0x40","value":0}}}}
{"ts":0.6,"op_id":0,"phase":"E","name":"cuInit","details":{"ended":"unwound"}}
{"ts":0.7,"op_id":3,"phase":"B","name":"nvmlDeviceGetSupportedMemoryClocks","details":{"count":{"address":"0x20","value":8}},"thread":2,"pid":7,"depth":0,"layer":"driver"}
{"ts":0.8,"op_id":3,"phase":"E","name":"nvmlDeviceGetSupportedMemoryClocks","details":{"status":0,"result":"NVML_SUCCESS","out":{"count":{"address":"0x20","value":3}}}}
{"ts":0.9,"op_id":4,"phase":"B","name":"cuMemFree_v2","details":{"dptr":"0x10"},"thread":1,"pid":7,"depth":0,"layer":"driver"}
"""


def test_our_own_export_comes_back(tmp_path: Path) -> None:
    (tmp_path / "first.jsonl").write_text(OURS)
    first = tmp_path / "first.jsonl"
    exported = run_gdbcuda("log", "export", first).stdout
    _, again = imported(tmp_path, "exported.json", exported)
    names = ("name", "layer", "parent", "thread", "arguments", "out", "result", "status", "ended")
    before, after = ([[call.get(name) for name in names] for call in shown(one)] for one in (first, again))
    assert before == after and len(before) == 5
    assert '"rank 3"' in again.read_text()


@pytest.mark.parametrize("other", [
    5, {"gpus": 5}, {"gpus": [1, {}, {"pid": "x", "uncertainty": 1, "devices": {}}], "clocks_apart": "x"},
    {"gpus": [{"uncertainty": 1, "devices": {}}, {"pid": 7, "uncertainty": 10**400, "devices": {}}]},
    {"gpus": [{"pid": 7, "uncertainty": [], "devices": {}}, {"pid": 7, "uncertainty": 1, "devices": {"0": 5}}]},
])  # fmt: skip
def test_what_is_said_of_clocks_may_make_no_sense(other: object) -> None:
    assert own_slices.notes_of_clocks(other) == []


def test_lines_of_begins_and_ends_alone(tmp_path: Path) -> None:
    """For tools that know no other line; and they come back with the layers they had."""
    (tmp_path / "first.jsonl").write_text(OURS)
    text = run_gdbcuda("log", "export", "--format", "begin-end", tmp_path / "first.jsonl").stdout
    begun: dict[int, dict[str, Any]] = {}
    for event in map(json.loads, text.splitlines()):
        known = begun.setdefault(event["op_id"], event) if event["phase"] == "B" else begun.pop(event["op_id"])
        assert known["name"] == event["name"] and known["ts"] <= event["ts"]
    assert [one["name"] for one in begun.values()] == ["cuMemFree_v2"], "it was not over"
    _, again = imported(tmp_path, "lines.jsonl", text)
    found = [[(call["name"], call["layer"], call["result"], call["parent"]) for call in shown(one)]
             for one in (tmp_path / "first.jsonl", again)]  # fmt: skip
    assert found[0] == found[1] and len(found[0]) == 5


def test_who_called_comes_back_with_our_export(tmp_path: Path) -> None:
    """So that memory is told by line of what was kept as a trace alone."""
    names = ["step at train.py:34", "sum in libsum.so", "libsum.so+0x1330", "step at train.py:34", ""]
    events = [{"ph": "X", "cat": "driver", "name": "cuMemAlloc_v2", "pid": 7, "tid": 1, "ts": 10 * number, "dur": 5,
               "args": {"dptr": {"address": "0x10", "value": hex(4096 << number)}, "bytesize": 64, "caller": name}}
              for number, name in enumerate(names)]  # fmt: skip
    _, log = imported(tmp_path, "trace.json", json.dumps({"traceEvents": events}))
    told = run_gdbcuda("log", "show", log).stdout
    assert [line.partition("  by ")[2] for line in told.splitlines()] == names
    leaks = run_gdbcuda("log", "memory", "--view", "leaks", log).stdout
    assert re.search(r"^ +2  128 +cuMemAlloc_v2 +step at train.py:34 ", leaks, re.MULTILINE)


def test_a_trace_that_is_packed(tmp_path: Path) -> None:
    """PyTorch's handlers and vLLM write .pt.trace.json.gz."""
    for number, text in enumerate((json.dumps(TORCH), LINES)):
        plain, packed = (tmp_path / f"{kind}{number}" for kind in ("plain", "packed"))
        plain.mkdir(), packed.mkdir()
        _, first = imported(plain, "trace.json", text)
        done, second = imported(packed, "trace.json.gz", gzip.compress(text.encode()))
        assert done.returncode == 0 and shown(second) == shown(first)
    done, _ = imported(tmp_path, "trace.json.gz", gzip.compress(LINES.encode())[:-9])
    assert (done.returncode, done.stderr.count("\n")) == (2, 1) and "cut off or damaged" in done.stderr


@pytest.mark.parametrize("view", ["tree", "summary", "timeline", "memory", "export", "changes", "show"])
def test_every_view_reads_what_was_imported(tmp_path: Path, view: str) -> None:
    export_of_nsys(tmp_path / "report.sqlite")
    log = log_of(tmp_path / "report.sqlite")
    done = run_gdbcuda("log", view, log)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "text, told",
    [("", "empty"), ("{", "neither JSON"), ("[]", "no calls"), ('{"traceEvents": 7}', "no list"), ("7", "no list"),
     ('{"traceEvents": [7, {"ph": "X"}]}', "no calls"), ("[" * 100_000, "neither JSON"),
     ("SQLite format 3\0 and no more", "no export of nsys"),
     ('{"phase": "B"}\n', "no calls (a line of an unknown kind)")],
    ids=lambda value: str(value)[:12],
)  # fmt: skip
def test_what_is_no_trace_is_one_line(tmp_path: Path, text: str, told: str) -> None:
    done, log = imported(tmp_path, "trace", text)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert told in done.stderr and not log.exists()


def test_a_folder_is_no_trace(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^cannot import .*: is a directory; the file of a trace is needed$"):
        importing.read(str(tmp_path))


def strange(dice: random.Random) -> Any:
    return dice.choice([None, True, -1, 1 << 70, 1e300, "x", "", [], {}, [[]], {"a": {}}, 0.5, "7", "\ud800"])


def test_broken_files_are_read_or_refused(tmp_path: Path) -> None:
    dice, trace = random.Random(16), tmp_path / "trace"
    export_of_nsys(tmp_path / "report.sqlite")
    of_memory(tmp_path / "memory.sqlite", [("cudaMalloc", 4096, 4096, 0, 0), ("cudaFree", 4096, 4096, 0, 1)])
    raws = [LINES.encode(), json.dumps(TORCH).encode()]
    raws += [(tmp_path / name).read_bytes() for name in ("report.sqlite", "memory.sqlite")]
    for _ in range(400):
        raw = bytearray(dice.choice(raws))
        for _ in range(dice.randrange(1, 6)):
            at = dice.randrange(len(raw))
            raw[at : at + dice.randrange(3)] = bytes([dice.randrange(256)])
        try_to_import(trace, bytes(raw), tmp_path)
    for _ in range(300):
        document = json.loads(json.dumps(TORCH))
        one = dice.choice(document["traceEvents"])
        one[dice.choice([*one])] = strange(dice)
        try_to_import(trace, json.dumps(document).encode(), tmp_path)
    for _ in range(300):
        lines = [json.loads(line) for line in LINES.splitlines()]
        one = dice.choice(lines)
        one[dice.choice([*one])] = strange(dice)
        try_to_import(trace, "\n".join(map(json.dumps, lines)).encode(), tmp_path)


def try_to_import(trace: Path, raw: bytes, tmp_path: Path) -> None:
    trace.write_bytes(raw)
    try:
        importing.read(str(trace)).write(str(tmp_path / "log"), "")
    except UserError as problem:
        assert "\n" not in str(problem)
