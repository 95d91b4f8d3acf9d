"""A trace's JSON, read event by event."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gdbcuda.errors import UserError
from gdbcuda.log.foreign.json_stream import EVENTS, JsonStream

EVENT = {"name": "kernel ü \\ \" ]}", "ts": 12345.5, "args": {"grid": [1, 2, 3], "deep": [[{}]]}}
HEAD = {"schemaVersion": 1, "text": "x", "numbers": [1, 2.5e3, None, True]}


def read(text: str, size: int) -> list[tuple[str, Any]]:
    raw = text.encode()
    return [*JsonStream(raw[at : at + size] for at in range(0, len(raw), size)).members()]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 4096])
def test_it_does_not_matter_where_pieces_end(size: int) -> None:
    text = json.dumps({**HEAD, EVENTS: [EVENT, 12, "x", EVENT], "end": 123456}, ensure_ascii=False, indent=1)
    events = [(EVENTS, EVENT), (EVENTS, 12), (EVENTS, "x"), (EVENTS, EVENT)]
    assert read(f"\ufeff {text}\n", size) == [*HEAD.items(), *events, ("end", 123456)]
    assert read(json.dumps([EVENT, EVENT]), size) == [(EVENTS, EVENT)] * 2


@pytest.mark.parametrize("text", ["[]", "[ {} ", "[{},", '{"traceEvents": []}', "[{}]", "[{},\n{}\n,\n"])
def test_what_is_taken(text: str) -> None:
    assert {key for key, _ in read(text, 3)} <= {EVENTS}


@pytest.mark.parametrize("text", [
    "", "x", "{", '{"traceEvents": [{}', '{"traceEvents": [{}]', '{"traceEvents": [NaN]}', '{"traceEvents" []}',
    "[{} {}]", "[{}] x", '{"a": 1}', '{"traceEvents": 1}', "12", '"text"', "[" * 100_000, '[{"a": tru}]'])  # fmt: skip
def test_what_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"neither JSON of a trace|no list of traceEvents"):
        read(text, 4096)
