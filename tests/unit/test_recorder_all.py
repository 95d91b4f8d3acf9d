"""Every function of the API called once through the recorder, with other bytes in every argument: what arrives is what
was sent, and what is recorded too, bit for bit."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import abi_capture
import pytest
from ring_memory import reader

from gdbcuda import api
from gdbcuda.machine import abi
from gdbcuda.rings import ring_functions
from gdbcuda.rings.ring import Record

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the recorder is made for x86-64")
FUNCTIONS = list(api.load().functions.values())


@pytest.fixture(scope="module")
def called(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[abi_capture.Capture], list[Record]]:
    header = subprocess.run([sys.executable, "-m", "gdbcuda.api.header"], stdout=subprocess.PIPE, text=True, check=True)
    captures, rings = abi_capture.through_recorder(FUNCTIONS, header.stdout, tmp_path_factory.mktemp("all"), shim)
    ((thread, records),) = reader(rings).read()
    assert thread.lost == 0
    return captures, records


def meaningful(kind: api.Type, raw: bytes) -> list[bytes]:
    """The bytes of each scalar: a compiler need not copy padding."""
    return [raw[offset : offset + size] for offset, size, _ in abi.shape(kind).scalars]


def test_each_is_one_record(called: tuple[list[abi_capture.Capture], list[Record]]) -> None:
    captures, records = called
    assert [one.function for one in records] == list(range(len(FUNCTIONS))) and len(captures) == len(FUNCTIONS)
    assert all(one.left is not None and one.left >= one.entered for one in records)


def test_what_arrives(called: tuple[list[abi_capture.Capture], list[Record]]) -> None:
    for function, seen in zip(FUNCTIONS, called[0]):
        for parameter, location, sent in zip(function.parameters, abi.locate(function), seen.sent):
            found = location.read(seen.registers.__getitem__, seen.stack_pointer, seen.memory)
            assert meaningful(parameter.type, found) == meaningful(parameter.type, sent), (function, parameter.name)


def test_what_is_recorded(called: tuple[list[abi_capture.Capture], list[Record]]) -> None:
    captures, records = called
    for function, seen, one in zip(FUNCTIONS, captures, records):
        for parameter, found, sent in zip(function.parameters, ring_functions.arguments(function, one), seen.sent):
            assert found is not None, (function, parameter.name)
            assert meaningful(parameter.type, found) == meaningful(parameter.type, sent), (function, parameter.name)


def test_the_result(called: tuple[list[abi_capture.Capture], list[Record]]) -> None:
    """The function that all of them stand for gives back its first argument's register."""
    assert [one.result for one in called[1]] == [seen.registers["rdi"] for seen in called[0]]
