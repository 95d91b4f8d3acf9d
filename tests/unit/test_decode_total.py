"""Decoding never fails, whatever is in registers and memory."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from decode_calls import FUNCTIONS, TABLE
from hypothesis import given
from hypothesis import strategies as st

from gdbcuda import api, decode
from gdbcuda.errors import Unreadable


class Noise:
    """Memory with random contents, some of it unreadable; says how much was read at most."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.readable = self.random.choice([0.0, 0.5, 0.95, 1.0])
        self.largest = 0

    def read(self, address: int, size: int) -> bytes:
        self.largest = max(self.largest, size)
        assert size >= 0 and 0 <= address < 1 << 64
        if self.random.random() >= self.readable:
            raise Unreadable(address, size)
        if self.random.random() < 0.3:
            return bytes(self.random.choice([0, 0, 1, 2, 0x41, 0xFF]) for _ in range(size))
        return self.random.getrandbits(8 * size).to_bytes(size, "little")


def argument_bytes(kind: api.Type) -> st.SearchStrategy[bytes | None]:
    size = kind.size
    edges = st.sampled_from([b"\0" * size, b"\xff" * size, b"\1" + b"\0" * (size - 1)])
    return st.one_of(st.binary(min_size=size, max_size=size), edges, st.none())


@given(st.data(), st.sampled_from(FUNCTIONS), st.integers(0, 1 << 30), st.booleans(), st.booleans())
def test_nothing_in_memory_can_make_it_fail(
    data: st.DataObject, function: api.Function, seed: int, is_return: bool, succeeded: bool
) -> None:
    raw = [data.draw(argument_bytes(parameter.type)) for parameter in function.parameters]
    check(function, raw, Noise(seed), phase="return" if is_return else "enter", succeeded=succeeded)


def check(function: api.Function, raw: list[bytes | None], memory: Noise, **how: Any) -> None:
    found = decode.arguments(function, raw, memory, TABLE, **how)
    assert [argument.name for argument in found] == [parameter.name for parameter in function.parameters]
    json.dumps([argument.data for argument in found], allow_nan=False)
    text = decode.call_text(function, found)
    assert text.isprintable() and len(text) < 10000
    assert memory.largest <= 16 << 10


@pytest.mark.parametrize("versions", [("11.8", "12.9"), ("12.9", "12.9"), ("13.0", "13.5")])
def test_every_function_of_every_version(versions: tuple[str, str]) -> None:
    table = api.load(*versions)
    noise = random.Random(7)
    for function in table.functions.values():
        sizes = [parameter.type.size for parameter in function.parameters]
        raw: list[bytes | None] = [noise.getrandbits(8 * size).to_bytes(size, "little") for size in sizes]
        for phase in ("enter", "return"):
            check(function, raw, Noise(noise.randint(0, 1 << 30)), phase=phase)
        decode.result(function, noise.getrandbits(64), table, Noise(1))
