"""Which calls of a log are shown: by condition, by name, in which order."""

from __future__ import annotations

from pathlib import Path

import pytest
from log_files import MAIN, alloc_of, call, copy, nested, run, write

from gdbcuda import api
from gdbcuda.calls.reader import BEGIN, END
from gdbcuda.calls.record import Call
from gdbcuda.log.selecting import recorded
from gdbcuda.log.selecting.select import by_beginning
from gdbcuda.shell import cli

# -- conditions ----------------------------------------------------------------------------------------------------


def numbers(text: str) -> list[int]:
    return [int(line.split()[0][1:]) for line in text.splitlines() if line.startswith("#")]


def mixed() -> list[Call]:
    rectangle = {"address": "0x7ff0", "value": {"WidthInBytes": 640, "Height": 480}}
    return [
        alloc_of(0, "0x10", 3100, caller=0x400),
        alloc_of(1, "0x20", 4096, caller=0x500),
        copy(2, "cudaMemcpyDeviceToHost"),
        copy(3),
        call(4, "cuEventCreate", {"phEvent": {"address": "0x1"}, "Flags": "CU_EVENT_BLOCKING_SYNC|0x8"}),
        call(5, "cuModuleGetFunction", {"hmod": "0x5", "name": "saxpy"}),
        call(6, "cuMemcpy2D_v2", {"pCopy": rectangle}),
        call(7, "cuMemcpy2D_v2", {"pCopy": {"address": "0x7ff0", "unreadable": True}}),
        call(8, "cuLaunchKernel", {"f": None, "gridDimX": 3, "hStream": "0x77"}),
        call(9, "cudaLaunchKernel", {"func": "0x5", "gridDim": {"x": 4, "y": 1, "z": 2}}, thread=2),
    ]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("bytesize == 3100", [0]),
        ("bytesize >= 3K && caller in main", [0]),
        ("caller in hook", [1]),
        ("caller in libh*", [1]),
        ("kind == cudaMemcpyDeviceToHost && count >= 4K", [2]),
        ("(Flags & CU_EVENT_BLOCKING_SYNC) != 0 && Flags & 8", [4]),
        ('name == "sax*"', [5]),
        ("hStream == 0x77 && f == NULL", [8]),
        ("gridDim.x * gridDim.z == 8", [9]),
        ("thread == 2", [9]),
        ("every 4", [3, 7]),
        ("bytesize != 0 && nth == 2", [1]),
    ],
)
def test_a_condition_on_recorded_calls(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, condition: str, found: list[int]
) -> None:
    hook = {"function": "cuMemAlloc", "object": "/lib/libhook.so", "layer": "hook"}
    log = write(tmp_path / "log", mixed(), {**MAIN, 0x500: hook})
    assert numbers(run(capsys, "show", log, "--if", condition)) == found


@pytest.mark.parametrize("word", ["grow", "Pool::grow", "eng::(anonymous namespace)::Pool::grow",
                                  "grow(unsigned long)"])  # fmt: skip
def test_a_cplusplus_caller_is_called_as_at_a_breakpoint(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, word: str
) -> None:
    grow = {"function": "eng::(anonymous namespace)::Pool::grow(unsigned long)", "object": "/bin/app", "layer": "app"}
    log = write(tmp_path / "log", mixed(), {**MAIN, 0x500: grow})
    assert numbers(run(capsys, "show", log, "--if", f"bytesize > 1 && caller in {word}")) == [1]


def test_of_a_glob_and_of_versions_those_that_have_the_parameter(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    calls = [*mixed(), call(10, "cuGetProcAddress_v2", {"symbol": "cuInit", "symbolStatus": {"address": "0x1"}})]
    log = write(tmp_path / "log", calls)
    assert numbers(run(capsys, "show", log, "--function", "cuMem*", "--if", "bytesize > 1")) == [0, 1]
    assert numbers(run(capsys, "show", log, "--function", "cuGetProcAddress", "--if", "symbolStatus != NULL")) == [10]


@pytest.mark.parametrize(("condition", "found"), [
    ("symbol == 0x2000", [10]), ("symbol - 1 == 0x1fff", [10]), ("symbol != NULL", [10, 11]),
    ('symbol == "cuInit"', [10, 12]), ("symbol[2] == 73", [10]), ('symbol == "0x1"', [11])])
def test_a_string_has_its_address_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, condition: str, found: list[int]
) -> None:
    """As at the breakpoint. Of a log that does not say where it was, what asks for that is left out, and said."""
    calls = [call(10, "cuGetProcAddress_v2", {"symbol": "cuInit"}, addresses={"symbol": 0x2000}),
             call(11, "cuGetProcAddress_v2", {"symbol": "0x1"}, addresses={"symbol": 0x3000}),
             call(12, "cuGetProcAddress_v2", {"symbol": "cuInit"})]  # fmt: skip
    assert cli.main(["log", "show", str(write(tmp_path / "log", calls)), "--if", condition]) == 0
    shown = capsys.readouterr()
    assert numbers(shown.out) == found
    assert ("1 call is left out" in shown.err) is ('"' not in condition)


def test_what_a_condition_cannot_know_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = write(tmp_path / "log", mixed(), MAIN)
    assert cli.main(["log", "show", str(log), "--if", "pCopy->Height > 400"]) == 0
    shown = capsys.readouterr()
    assert numbers(shown.out) == [6]
    assert "1 call is left out: what the condition looks at was not recorded of them" in shown.err
    assert cli.main(["log", "show", str(log), "--if", "caller in maim"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "" and "no caller in the log is called maim; did you mean main?" in shown.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--if", "bytesiz == 3"], 'no function has a parameter "bytesiz"; did you mean bytesize?'),
        (["--if", "bytesize == 3 || kind == 1"], "no function has all of these parameters: bytesize, kind"),
        (["--if", "*pfn == 0"], "pfn of cuGetProcAddress is written by the function: nothing is there yet when it is"),
        (["--if", "bytesize >"], "a value is missing"),
        (["--if", "result == 2"], "--failed is for results"),
        (
            ["--function", "cuMemAlloc", "--if", "size > 3"],
            'cuMemAlloc_v2 has no parameter "size"; it has dptr, bytesize',
        ),
        (["--function", "cuMemAlloc", "--function", "cuInit", "--if", "bytesize > 3"], "cuInit has no parameter"),
        (["if", "bytesize > 3"], "a condition is written --if"),
        (["--function", "cuMemAlocc"], "no function 'cuMemAlocc'; did you mean cuMemAlloc?"),
    ],
)
def test_words_that_nobody_knows_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str], message: str
) -> None:
    log = write(tmp_path / "log", mixed())
    for view in ("show", "tree", "changes", "summary"):
        assert cli.main(["log", view, str(log), *words]) != 0
        shown = capsys.readouterr()
        assert shown.out == "" and message in shown.err and len(shown.err.splitlines()) == 1


def test_a_summary_of_some_calls(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Inner calls that are chosen too are not counted twice; those whose outer call is not chosen, are."""
    log = write(tmp_path / "log", nested(), MAIN)
    both = run(capsys, "summary", log, "--if", "ByteCount == 4K")
    assert both.startswith("2 calls of 1 function") and "host to device  4096" in both
    inner = run(capsys, "summary", log, "--in", "driver")
    assert inner.startswith("1 calls of 1 function") and "host to device  4096" in inner


# -- order, callers, what is open ----------------------------------------------------------------------------------


def test_calls_are_shown_in_the_order_in_which_they_began(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    calls = [
        *nested(),
        copy(20, thread=2, end=0.05),
        copy(30),
        call(40, "cuInit", end=None, ended="not over"),
        copy(41),
    ]
    assert numbers(run(capsys, "show", write(tmp_path / "log", calls))) == [0, 1, 2, 20, 30, 40, 41]


def test_one_call_that_takes_forever_does_not_hold_up_all_others() -> None:
    """What is held is bounded; everything comes once."""
    first, *others = [call(n, "cuInit") for n in range(100)]
    events = [(BEGIN, first), *((phase, one) for one in others for phase in (BEGIN, END))]
    shown = [one.number for one in by_beginning([*events, (END, first)], most=10)]
    assert shown[:10] == list(range(1, 11)) and sorted(shown) == list(range(100))


def test_a_call_that_is_not_over_has_not_failed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = write(tmp_path / "log", [copy(0), call(1, "cuInit", end=None, ended="not over")])
    text = run(capsys, "summary", log)
    assert text.splitlines()[0].endswith("; 1 not over") and "failed with" not in text


def test_callers_of_one_line_are_one_row(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    places = {**MAIN, 0x410: MAIN[0x400]}
    log = write(tmp_path / "log", [copy(0), copy(1, caller=0x410), copy(2, caller=0x410)], places)
    rows = [line.split() for line in run(capsys, "summary", log).splitlines() if "a.c:3" in line]
    assert rows == [["main", "at", "a.c:3", "3"]]


@pytest.mark.parametrize(("value", "raw"), [
    (-1, b"\xff\xff\xff\xff"), (258, b"\2\1\0\0"), (-2147483648, b"\0\0\0\x80")])
def test_a_recorded_number_is_what_was_in_memory(value: int, raw: bytes) -> None:
    """cuDeviceGet's ordinal, an int."""
    kind = api.load().functions["cuDeviceGet"].parameters[1].type
    assert list(recorded.scalar(kind, value, api.load())) == [(0, raw)]
