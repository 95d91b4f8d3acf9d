"""Small logs for tests: what a recorder would have written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gdbcuda.calls import reader, record, sinks
from gdbcuda.calls.record import Call
from gdbcuda.shell import cli

HEADER = {**record.header("13.0", "13.5", "/bin/program", "0"), "started": 0.0}


def call(number: int, name: str, arguments: dict[str, Any] | None = None, **fields: Any) -> Call:
    """A call that returned success; it begins at its number, in milliseconds, and takes half of one."""
    made = Call(number, name, number / 1000, fields.pop("thread", 1))
    made.arguments, made.end, made.ended = arguments or {}, number / 1000 + 0.0005, ""
    made.status, made.result, made.layer = 0, "CUDA_SUCCESS", "hook"
    for field, value in fields.items():
        setattr(made, field, value)
    return made


def failed(number: int, name: str, status: int, result: str, **fields: Any) -> Call:
    return call(number, name, status=status, result=result, **fields)


def write(path: Path, calls: list[Call], places: dict[int, dict[str, Any]] | None = None) -> Path:
    file = sinks.JsonLines(str(path), HEADER)
    for address, details in (places or {}).items():
        file.note(0, "place", {"address": address, "pid": 0, **details})
    for is_end, one in sinks.in_order(calls):
        (file.exit if is_end else file.entry)(one)
    file.close()
    return path


def append(path: Path, text: str) -> Path:
    path.write_text(path.read_text() + text)
    return path


def read(path: Path) -> tuple[list[Call], reader.Log]:
    log = reader.Log()
    events = reader.file_events(reader.LogFile(path), log)
    return [call for phase, call in events if phase == reader.END], log


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def alloc_of(number: int, pointer: str, size: int = 64, **fields: Any) -> Call:
    return call(number, "cuMemAlloc_v2", {"dptr": {"address": "0x7f"}, "bytesize": size},
                out={"dptr": {"address": "0x7f", "value": pointer}}, **fields)  # fmt: skip


def free_of(number: int, pointer: str, **fields: Any) -> Call:
    return call(number, "cuMemFree_v2", {"dptr": pointer}, **fields)


def run(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert cli.main(["log", *map(str, words)]) == 0
    return capsys.readouterr().out


def pointer(address: str) -> dict[str, Any]:
    return {"dptr": {"address": "0x1", "value": address}}


MAIN = {0x400: {"function": "main", "source": "a.c:3", "object": "/bin/a", "layer": "app"}}


def copy(number: int, kind: str = "cudaMemcpyHostToDevice", **fields: Any) -> Call:
    return call(number, "cudaMemcpy", {"dst": "0x10", "src": "0x20", "count": 4096, "kind": kind},
                **{"result": "cudaSuccess", "caller": 0x400, **fields})  # fmt: skip


def nested() -> list[Call]:
    """The runtime's copy, which the hook and the driver copy again: 4 KiB, once."""
    return [copy(0, end=0.009, layer="runtime"),
            call(1, "cuMemcpyHtoD_v2", {"ByteCount": 4096}, parent=0, depth=1, end=0.006),
            call(2, "cuMemcpyHtoD_v2", {"ByteCount": 4096}, parent=1, depth=2, end=0.004, layer="driver")]  # fmt: skip
