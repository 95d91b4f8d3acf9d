"""cuda-log start --fast: the process itself notes its calls, and they are those that stops see."""

from __future__ import annotations

import json
import platform
import re
from pathlib import Path
from typing import Any

import pytest
from scenario import Scenario
from test_log import START, by_thread, calls_of_sample, events

pytestmark = [
    pytest.mark.files_here,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the recorder is made for x86-64"),
]
FAST = START.replace("start", "start --fast")


def renamed(data: Any) -> Any:
    """Each address by its first place in the log: the kernel hands out others where a ring is mapped."""
    seen: dict[str, str] = {}
    text = re.sub(r"0x[0-9a-f]{9,}", lambda found: seen.setdefault(found[0], f"address {len(seen)}"), json.dumps(data))
    return json.loads(text)


def told(path: Path) -> Any:
    """Of each call what both recorders have to say, in the order of the begins."""
    found = events(path)
    ends = {event["op_id"]: event["details"] for event in found if event["phase"] == "E"}
    places = {event["details"]["address"]: event["details"] for event in found if event.get("name") == "place"}
    rows = [
        (one["op_id"], one["parent"], one["layer"], one["object"], one["name"], one["depth"], one["details"],
         ends[one["op_id"]]["result"], ends[one["op_id"]].get("out"), places[one["caller"]]["function"],
         places[one["caller"]]["source"])
        for one in found if one["phase"] == "B"
    ]  # fmt: skip
    return renamed(rows)


@pytest.mark.parametrize("program", ["test_alloc", "runtime_alloc", "stream_alloc", "nvml_info"])
def test_the_same_log_as_by_stops(local: Scenario, tmp_path: Path, program: str) -> None:
    stops, fast = tmp_path / "stops", tmp_path / "fast"
    by_stops = local.run(program, f"cuda-log start --to {stops}", "RUN")
    by_rings = local.run(program, f"cuda-log start --fast --to {fast}", "RUN", "cuda-log")
    assert len(told(stops)) >= 10
    assert told(fast) == told(stops)
    assert after_start(by_stops) == after_start(by_rings).split("Recording")[0].rstrip("\n"), by_rings


def after_start(text: str) -> str:
    """What the program and gdb say, without our answer."""
    return re.sub(r"process \d+|0x\w+", "", text[text.index("from the next run on.") :].rstrip("\n"))


def test_every_call_of_every_thread(local: Scenario, tmp_path: Path) -> None:
    log, arguments = tmp_path / "log", ("8", "2500")
    text = local.run("threads", f"{FAST} --to {log}", "RUN", "cuda-log", arguments=arguments)
    assert [[event["name"] for event in thread] for thread in by_thread(events(log))] == [
        calls_of_sample(number, 2500) for number in range(8)
    ]
    assert "20000 calls kept" in text and "exited normally" in text, text


def test_at_a_stop_all_is_as_without(local: Scenario) -> None:
    """The functions have their own bytes, frames and callers are the program's, and stepping goes where it would."""
    words = (
        "set breakpoint pending on", "break cuMemAlloc_v2", "RUN", "bt", "x/6i cuMemAlloc_v2", "x/6i cuMemFree_v2",
        "next", "step", "finish", "next", "info symbol $pc", "tbreak cuMemFree_v2", "continue", "cuda-call",
        "x/3i $pc-8", "delete", "continue",
    )  # fmt: skip
    alone = local.run("test_alloc", "cuda-memory", *words)
    fast = local.run("test_alloc", "cuda-log start --fast", *words, "cuda-log")
    begin = "cuMemAlloc_v2 (dptr="
    assert "exited normally" in alone
    assert unnumbered(fast[fast.index(begin) :]).startswith(unnumbered(alone[alone.index(begin) :]).rstrip("\n")), fast
    assert re.search(r"[34]\d calls kept", fast), fast


def unnumbered(text: str) -> str:
    """`bt` leaves the recorder's frames out, and gdb goes on counting; stacks are deeper."""
    return re.sub(r"^#\d+ ", "# ", re.sub(r"0x7f\w+|process \d+", "", text), flags=re.MULTILINE)


def test_a_stop_between_loses_nothing(local: Scenario, tmp_path: Path) -> None:
    """What is open at a stop is told its end by a later one; the tree is that of a run without stops."""
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    local.run("test_alloc", f"cuda-log start --fast --to {whole}", "RUN")
    goes_on = ["continue"] * 20
    local.run("test_alloc", f"cuda-log start --fast --to {parts}", "break ledger.c:47", "RUN", *goes_on)
    assert told(parts) == told(whole)


def test_recorded_from_a_stop_on_and_again(local: Scenario) -> None:
    text = local.run(
        "test_alloc", "cuda-load", "tbreak main", "RUN", "next", "cuda-log start --fast cuMemAlloc --in hook,driver",
        "tbreak copy_there_and_back", "continue", "cuda-log show", "cuda-log stop", "cuda-log clear",
        "cuda-log start --fast cuMemFree --in driver", "tbreak show_memory", "continue", "cuda-log show",
    )  # fmt: skip
    assert "This process has not libgdbcuda.so" not in text, text
    first, second = text.split("calls forgotten")
    assert len(re.findall(r"#\d+ .* hook +cuMemAlloc_v2", first)) == 3, text
    assert len(re.findall(r"#\d+ .* driver +cuMemAlloc_v2", first)) == 3, text
    assert len(re.findall(r"#\d+ .* driver +cuMemFree_v2.*SUCCESS", second)) == 3 and "cuMemAlloc" not in second, text


def test_a_condition_is_asked_in_the_process(local: Scenario) -> None:
    start = "cuda-log start --fast cuMemAlloc --in hook if bytesize > 1G"
    text = local.run("test_alloc", start, "RUN", "cuda-log show")
    found = re.findall(r"#\d+ .*bytesize=(\d+)", text)
    assert found == ["1073741825", "3221225472"], text


def test_only_what_some_layer_calls(local: Scenario) -> None:
    text = local.run("test_alloc", "cuda-log start --fast cuCtxGetDevice --from hook", "RUN", "cuda-log show")
    assert re.search(r"#0 .* by current_device at limit.c", text), text
    assert "use_first_device" not in text


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("cuda-log start --fast --stack 3", "--stack needs the debugger at each call"),
        ("cuda-log start --fast cuMemAlloc if nth == 2", "a condition is on the arguments alone"),
        ("cuda-log start --fast cuMemAlloc if caller in app", "a condition is on the arguments alone"),
    ],
)
def test_what_it_cannot_do_is_one_line(local: Scenario, words: str, answer: str) -> None:
    text = local.run("test_alloc", words, "cuda-log")
    assert answer in text and "The recorder is off" in text, text


def test_through_gdbserver_it_says_why_not(shim: Path) -> None:
    text = Scenario(shim, "gdbserver", fetches=False).run("test_alloc", "tbreak main", "RUN", "cuda-log start --fast")
    assert "the recorder cannot be in this process" in text and "without --fast it works by stops" in text, text


def test_a_program_without_a_hook_library(local: Scenario) -> None:
    """Our library is preloaded alone."""
    text = local.run("test_alloc", "cuda-log start --fast", "RUN", "cuda-log show --tree", hook=None)
    assert re.search(r"driver +cuMemAlloc_v2\(.* by allocate_buffer at test_alloc.c", text), text
    assert "hook" not in text.replace("cuda-load", ""), text


def test_calls_that_were_overwritten_are_counted(local: Scenario) -> None:
    text = local.run("threads", FAST, "RUN", "cuda-log", arguments=("1", "20000"))
    assert "8192 calls kept" in text and "11808 calls were overwritten before they were read" in text, text
