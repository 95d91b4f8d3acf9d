"""What `gdbcuda log` makes of a file: tree, changes, timeline, memory, everything as data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from log_files import MAIN, alloc_of, call, copy, failed, nested, pointer, run, write

from gdbcuda.calls.record import Call
from gdbcuda.calls.text import value
from gdbcuda.shell import cli


def test_tree_and_filters(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = write(tmp_path / "log", [*nested(), copy(20, thread=2)], MAIN)
    lines = run(capsys, "tree", log).splitlines()
    assert [line.split("(")[0].split("  ")[-1].strip() for line in lines] == [
        "cudaMemcpy", "cuMemcpyHtoD_v2", "cuMemcpyHtoD_v2", "cudaMemcpy"]  # fmt: skip
    assert lines[0].endswith("by main at a.c:3")
    assert len(run(capsys, "show", log).splitlines()) == 4
    assert len(run(capsys, "show", log, "--thread", "2").splitlines()) == 1
    assert len(run(capsys, "show", log, "--function", "cuMemcpyHtoD").splitlines()) == 2
    assert len(run(capsys, "show", log, "--in", "driver").splitlines()) == 1
    both = run(capsys, "show", log, "--in", "hook", "--in", "driver")
    assert len(both.splitlines()) > 1 and run(capsys, "show", log, "--in", "hook,driver") == both
    assert run(capsys, "show", log, "--failed") == ""


def test_answered_requests_are_told_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """PyTorch makes 1,300 of them. One that is answered with nothing is told by itself."""
    def asks(number: int, answer: str | None, **fields: Any) -> Call:
        out = {"pfn": {"address": "0x10", "value": answer}}
        return call(number, "cuGetProcAddress_v2", {"symbol": f"cu{number // 2}"}, out=out, **fields)

    pairs = [(0, "0x100"), (2, "0x101"), (4, None), (6, "0x102")]
    calls = [one for number, told in pairs for one in
             (asks(number, told, end=number + 2.0), asks(number + 1, f"{number:#x}", parent=number, layer="driver"))]
    text = run(capsys, "changes", write(tmp_path / "log", calls))
    assert text.count("cuGetProcAddress_v2(") == 2 and "told NULL" in text
    assert "x 3, #0 ... #6: cu0, cu1 and cu3" in text
    assert "4 of 4 requests for function addresses got another answer" in text


def test_a_pointer_that_is_passed_on_as_null_is_a_change(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Where it points to is not: a hook has variables of its own."""
    def alloc(number: int, dptr: Any, **fields: Any) -> Call:
        return call(number, "cuMemAlloc_v2", {"dptr": dptr, "bytesize": 64}, **fields)

    calls = [alloc(0, {"address": "0x10"}, end=1.0), alloc(1, None, parent=0, layer="driver"),
             alloc(2, {"address": "0x10"}, end=3.0), alloc(3, {"address": "0x90"}, parent=2, layer="driver"),
             alloc(4, None, end=5.0), alloc(5, {"address": "0x90"}, parent=4, layer="driver")]  # fmt: skip
    text = run(capsys, "changes", write(tmp_path / "log", calls))
    assert "argument dptr: 0x10, passed on as NULL" in text and "argument dptr: NULL, passed on as 0x90" in text
    assert "2 of 3 calls of the hook library did more" in text


def test_changes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def alloc(number: int, size: int, **fields: Any) -> Call:
        return call(number, "cuMemAlloc_v2", {"dptr": {"address": f"{number:#x}"}, "bytesize": size}, **fields)

    def asks(number: int, name: str, answer: str, **fields: Any) -> Call:
        out = {"pfn": {"address": f"{number:#x}", "value": answer}}
        return call(number, "cuGetProcAddress_v2", {"symbol": name}, out=out, **fields)

    calls = [
        alloc(0, 64, end=0.002), alloc(1, 64, parent=0, layer="driver"),
        alloc(2, 64, end=0.004),
        alloc(3, 128, parent=2, layer="driver", status=2, result="CUDA_ERROR_OUT_OF_MEMORY"),
        alloc(4, 64, end=0.006), call(5, "cuCtxGetDevice", parent=4, layer="driver"),
        call(7, "cuGetProcAddress_v2", {"symbol": "cuInit"}),
        asks(8, "cuMemFree", "0x100", end=0.0098), asks(9, "cuMemFree", "0x200", parent=8, layer="driver"),
        asks(10, "cuCtxGetDevice", "0x3", end=0.0118), asks(11, "cuCtxGetDevice", "0x3", parent=10, layer="driver"),
    ]  # fmt: skip
    text = run(capsys, "changes", write(tmp_path / "log", calls))
    assert "argument bytesize: 64, passed on as 128" in text
    assert "result: CUDA_ERROR_OUT_OF_MEMORY became CUDA_SUCCESS" in text
    assert "never forwarded" in text and "extra call: driver cuCtxGetDevice()" in text
    assert "1 of 3 requests for function addresses got another answer" in text
    assert 'symbol="cuMemFree"' in text and "out pfn: got 0x200, told 0x100" in text
    assert "cuInit" not in text and 'symbol="cuCtxGetDevice"' not in text
    assert text.splitlines()[-2] == "2 of 3 calls of the hook library did more than pass the call on."


def test_a_call_that_is_not_over_may_yet_be_forwarded(capsys, tmp_path) -> None:
    """The last call of a log that was ended in the middle, say."""
    asked = {"dptr": {"address": "0x10"}, "bytesize": 64}
    calls = [call(0, "cuMemAlloc_v2", asked, end=None, ended="not over"), call(1, "cuMemFree_v2", asked)]
    text = run(capsys, "changes", write(tmp_path / "log", calls))
    assert "#1 " in text and "#0 " not in text and "1 of 2 calls" in text


@pytest.mark.parametrize(("name", "known"), [("", 0), ("cuMemFree", 1)])
def test_what_is_not_recorded_behind_a_hook_was_not_left_out_by_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, known: int
) -> None:
    """``cuda-log start --in hook``, or an entry of the driver's that is entered behind the hook's jump."""
    note = {"name": name, "why": "calls in hook alone are recorded", "pid": 0}
    path = write(tmp_path / "log", [call(0, "cuMemFree_v2"), call(1, "cuMemAlloc_v2")])
    header, rest = path.read_text().split("\n", 1)
    line = json.dumps({"ts": 0, "phase": "M", "name": "unheard", "details": note})
    path.write_text(f"{header}\n{line}\n{rest}")
    *shown, last = run(capsys, "changes", path).splitlines()
    counted = "1 call of the hook library was" if known else "2 calls of the hook library were"
    assert last == f"Whether {counted} passed on is not known: calls in hook alone are recorded."
    assert sum("never forwarded" in line for line in shown) == known and bool(shown) == bool(known)


def test_what_repeats_is_told_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def alloc(number: int, size: int, passed: int) -> list[Call]:
        outer = call(number, "cuMemAlloc_v2", {"bytesize": size}, end=(number + 1.8) / 1000, caller=0x400)
        return [outer, call(number + 1, "cuMemAlloc_v2", {"bytesize": passed}, parent=number, layer="driver")]

    calls = [one for n in range(0, 40, 2) for one in alloc(n, 64, 96 if n % 4 else 128)]
    path = write(tmp_path / "log", calls, MAIN)
    text = run(capsys, "changes", path)
    assert [line.strip() for line in text.splitlines() if not line.startswith("#")] == [
        "argument bytesize: 64, passed on as 128", "x 10, #0 ... #36",
        "argument bytesize: 64, passed on as 96", "x 10, #2 ... #38",
        "20 of 20 calls of the hook library did more than pass the call on."]  # fmt: skip
    assert len(data_of(capsys, "changes", path)) == 20


def test_of_too_many_kinds_none_is_lost(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    calls = [call(n, "cuMemAlloc_v2", {"bytesize": n}, caller=n) for n in range(2500)]
    text = run(capsys, "changes", write(tmp_path / "log", calls))
    assert text.count("never forwarded") == 2500 and "2500 of 2500 calls" in text


def test_a_value_outside_of_an_enum_reads_as_at_a_stop(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    calls = [call(1, "cudaMemcpy", {"kind": 77}, status=-1, result=-1),
             call(2, "cuDeviceGetAttribute", {"attrib": "CU_DEVICE_ATTRIBUTE_CLOCK_RATE", "dev": 0},
                  out={"pi": {"address": "0x8", "value": 5}}),
             call(3, "cuPointerGetAttribute", {"attribute": 999})]  # fmt: skip
    text = run(capsys, "show", write(tmp_path / "log", calls))
    assert "kind=77 (not in cudaMemcpyKind)) = -1 (not in cudaError_t)  " in text
    assert "attribute=999 (not in CUpointer_attribute)" in text
    assert "dev=0, pi=0x8 -> 5) = CUDA_SUCCESS" in text


def test_timeline_fits_and_shows_failures(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    calls = [call(n, "cudaMalloc", {"size": 8}, end=(n + 10) / 1000) for n in range(0, 500, 10)]
    calls += [copy(1005, thread=2), failed(1500, "cudaMalloc", 2, "cudaErrorMemoryAllocation", thread=2)]
    first, second, legend = run(capsys, "timeline", write(tmp_path / "log", calls)).splitlines()
    assert max(map(len, (first, second))) <= 60 and len(first) > 40
    assert set(first.split()[1]) == {"A", "."} and set(second.split()[1]) == {".", "C", "!"}
    assert first.split()[1].rstrip(".") in "A" * 60
    assert "A=allocate" in legend and "!=failed" in legend


def test_each_letter_of_a_timeline_has_its_word(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A call a millisecond; the last one is of nobody's API."""
    names = ("cuMemAlloc_v2", "cuMemFree_v2", "cudaMemcpy", "cudaMemset", "cudaLaunchKernel", "cudaStreamCreate",
             "cudaEventCreate", "cuModuleLoad", "cuCtxCreate_v2", "cuInit", "cuDeviceGet", "cuMemGetInfo_v2",
             "mine")  # fmt: skip
    calls = [call(n, name, {}, end=(n + 1) / 1000) for n, name in enumerate(names)]
    lane, legend = run(capsys, "timeline", write(tmp_path / "log", calls)).splitlines()
    assert "".join(dict.fromkeys(lane.split()[1])) == "AFCSKsemcidqo"
    assert legend.partition("; ")[2] == (
        "A=allocate, F=free, C=copy, S=fill, K=launch, s=stream, e=event, m=module, c=context, i=init, d=device, "
        "q=memory query, o=other, .=nothing")  # fmt: skip


def test_memory_views(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = write(tmp_path / "log", [alloc_of(0, "0x1000", caller=0x400)], MAIN)
    assert "Not freed: 1 block: device 64 in 1" in run(capsys, "memory", log, "--view", "leaks")
    assert "#0" in run(capsys, "memory", log, "--view", "0x1010")
    assert cli.main(["log", "memory", str(log), "--view", "nonsense"]) == 2
    assert "or an address, not 'nonsense'" in capsys.readouterr().err


def data_of(capsys: pytest.CaptureFixture[str], *words: object) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(capsys, *words, "--json").splitlines()]


def test_every_view_as_data(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    calls = [*nested(), call(20, "cuMemAlloc_v2", {"bytesize": 64}, caller=0x400, out=pointer("0x7f00")),
             failed(30, "cuMemFree_v2", 1, "CUDA_ERROR_INVALID_VALUE", arguments={"dptr": "0x7f10"})]  # fmt: skip
    path = write(tmp_path / "log", calls, MAIN)
    shown = data_of(capsys, "show", path)
    assert [one["number"] for one in shown] == [0, 1, 2, 20, 30]
    assert shown[3]["caller"] == {"address": "0x400", "function": "main", "object": "/bin/a", "layer": "app",
                                  "source": "a.c:3"}  # fmt: skip
    assert shown[3]["seconds"] == 0.0005 and shown[3]["arguments"] == {"bytesize": 64}
    assert [(one["number"], one["depth"], one["parent"]) for one in data_of(capsys, "tree", path, "--last", 3)] == [
        (0, 0, None), (1, 1, 0), (2, 2, 1), (20, 0, None), (30, 0, None)]  # fmt: skip
    assert data_of(capsys, "changes", path)[0]["changes"] == [{"what": "never forwarded"}]
    (summary,) = data_of(capsys, "summary", path)
    assert summary["calls"] == 5 and summary["functions"][-1]["failures"] == {"CUDA_ERROR_INVALID_VALUE": 1}
    (memory,) = data_of(capsys, "memory", path)
    assert [(one["bytes"], one["site"]["source"]) for one in memory["live"]] == [(64, "a.c:3")]
    assert [one["kind"] for one in memory["problems"]] == ["interior pointer"]
    (lanes,) = data_of(capsys, "timeline", path)
    assert {kind for cell in lanes["threads"]["1"] for kind in cell} == {"copy", "allocate", "failed"}
    assert data_of(capsys, "diff", path, path)[0]["alike"] == 3


def test_data_of_several_logs_names_the_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    paths = [write(tmp_path / name, [call(0, "cuInit")]) for name in "ab"]
    assert [one["file"] for one in data_of(capsys, "show", *paths)] == [str(path) for path in paths]


def test_the_words_of_the_prompt(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(tmp_path / "log", nested(), MAIN)
    assert run(capsys, "show", path, "--tree") == run(capsys, "tree", path)
    assert run(capsys, "show", path, "--changed") == run(capsys, "changes", path)
    assert cli.main(["log", "show", str(path), "cuMemAlloc"]) == 2
    assert "a function is written --function cuMemAlloc here" in capsys.readouterr().err
    assert cli.main(["log", "memory", str(path), "leaks"]) == 2
    assert "a view is written --view leaks here" in capsys.readouterr().err


def test_the_last_calls(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(tmp_path / "log", [call(number, "cuInit") for number in range(5)])
    assert [line.split()[0] for line in run(capsys, "show", path, "--last", 2).splitlines()] == ["#3", "#4"]


@pytest.mark.parametrize(
    ("data", "text"),
    [(None, "(not known here)"), (True, "true"), (7, "7"), ("A|B", "A|B"), ([1, "x"], "[1, x]"),
     ({"x": 1, "p": None}, "{x=1, p=NULL}"), ({"address": "0x1", "unreadable": True}, "0x1 -> (unreadable)"),
     ({"address": "0x1", "value": None}, "0x1 -> NULL"), ({"address": "0x1"}, "0x1"), (1.5, "1.5")],
)  # fmt: skip
def test_values(data: Any, text: str) -> None:
    assert value(data) == text


def twice(number: int, size: int, passed_on: int, own: bool = False) -> list[Call]:
    """The program's allocation in the hook, and what the driver is asked for; perhaps the hook has one of its own."""
    outer = call(number, "cuMemAlloc_v2", {"bytesize": size}, end=(number + 8) / 1000, out=pointer("0x2000"))
    mine = call(
        number + 1, "cuMemAlloc_v2", {"bytesize": 64}, parent=number, depth=1, layer="driver", out=pointer("0x9000")
    )
    behind = call(number + 2, "cuMemAlloc_v2", {"bytesize": passed_on}, parent=number, depth=1, layer="driver",
                  out=pointer("0x2000"))  # fmt: skip
    return [outer, *([mine] if own else []), behind]


def test_a_layer_by_itself(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What the hook allocates for itself is seen by the driver alone; and is not taken for what it passed on."""
    one, other = write(tmp_path / "a", twice(0, 16, 16)), write(tmp_path / "b", twice(0, 16, 32, own=True))
    assert "1 block: device 16 in 1" in run(capsys, "memory", other)
    assert "2 blocks: device 96 in 2" in run(capsys, "memory", other, "--in", "driver")
    assert "No difference" in run(capsys, "diff", one, other)
    assert "bytesize is 16 in the first, 64 in the second" in run(capsys, "diff", one, other, "--in", "driver")
    changes = run(capsys, "changes", other)
    assert (
        "argument bytesize: 16, passed on as 32" in changes
        and "extra call: driver cuMemAlloc_v2(bytesize=64" in changes
    )


def test_memory_from_a_size_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is smaller is counted, and told of where nothing else is left."""
    log = str(write(tmp_path / "log", [alloc_of(0, "0x10000", 4096), alloc_of(1, "0x20000", 1 << 20)]))
    for view in ("live", "leaks", "by-site"):
        assert cli.main(["log", "memory", log, "--view", view, "--least", "0x1001"]) == 0
        shown = capsys.readouterr().out
        assert "1048576 [1.00 MiB]" in shown and "Left out: 1 block of less than 4097 [4.00 KiB]." in shown
        assert cli.main(["log", "memory", log, "--view", view, "--least", "1G"]) == 0
        assert capsys.readouterr().out == "Left out: 2 blocks of less than 1073741824 [1.00 GiB].\n"
    assert cli.main(["log", "memory", log, "--view", "peak", "--least", "1G"]) == 2
    assert "--least is for live, leaks, by-site" in capsys.readouterr().err
