"""Every location against what gcc does: for all functions of the table, and for types made up at random."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import abi_capture
import pytest

from gdbcuda import api
from gdbcuda.api.functions import Function
from gdbcuda.api.notes import ApiNotes
from gdbcuda.api.spelling import BASE_TYPES, Types
from gdbcuda.machine import abi

MACHINES = [
    pytest.param(
        machine,
        marks=pytest.mark.skipif(not abi_capture.has_compiler(machine), reason=f"no compiler for {machine}"),
    )
    for machine in abi.MACHINES
]
SCALARS = ("char", "short", "int", "unsigned int", "long", "float", "double", "void *")


def round_up(size: int, align: int) -> int:
    return (size + align - 1) // align * align


def meaningful(kind: api.Type, raw: bytes) -> list[bytes]:
    """The bytes of each scalar: a compiler need not copy padding."""
    return [raw[offset : offset + size] for offset, size, _ in abi.shape(kind).scalars]


def check_arguments(functions: list[Function], machine: str, header: str, folder: Path) -> None:
    captures = abi_capture.arguments(functions, machine, header, folder)
    for function, seen in zip(functions, captures):
        locations = abi.locate(function, machine)
        assert len(locations) == len(function.parameters)
        for parameter, location, sent in zip(function.parameters, locations, seen.sent):
            found = location.read(seen.registers.__getitem__, seen.stack_pointer, seen.memory)
            wanted = meaningful(parameter.type, sent)
            assert meaningful(parameter.type, found) == wanted, (function, parameter.name)


@pytest.mark.parametrize("machine", MACHINES)
def test_arguments_of_every_api_function(machine: str, tmp_path: Path) -> None:
    write_header = [sys.executable, "-m", "gdbcuda.api.header"]
    header = subprocess.run(write_header, stdout=subprocess.PIPE, text=True, check=True).stdout
    check_arguments(list(api.load().functions.values()), machine, header, tmp_path)


class Made:
    """Structs and functions that no vendor would write; the C text and the types of them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.texts: dict[str, str] = {}
        self.types = Types(self.texts)
        self.header = ""
        for i in range(60):
            self.add_record(f"s{i}")

    def spelling(self) -> str:
        return self.random.choice([*SCALARS, *self.texts, *self.texts])

    def add_record(self, name: str) -> None:
        keyword = self.random.choice(["struct", "struct", "struct", "union"])
        choices = self.random.choice([["float"], ["double"], [*SCALARS, *list(self.texts)[-5:]]])
        size, align, members, body = 0, 1, [], ""
        for i in range(self.random.randint(1, 4)):
            spelling = self.random.choice(choices)
            count = self.random.choice([0, 0, 0, 1, 2, 3])
            brackets, element = f"[{count}]" * bool(count), self.types[spelling]
            offset = round_up(size, element.align) if keyword == "struct" else 0
            members.append(f"{offset} m{i} {spelling}{brackets}")
            body += f" {spelling} m{i}{brackets};"
            size, align = max(size, offset + element.size * (count or 1)), max(align, element.align)
        if self.random.random() < 0.3 and round_up(size, 8) == round_up(size, 16):  # no word is all padding
            align, body = 16, " _Alignas(16)" + body
        self.texts[f"{keyword} {name}"] = ";".join([f"{round_up(size, align)} {align}", *members])
        check = f'_Static_assert(sizeof({keyword} {name}) == {round_up(size, align)}, "");'
        self.header += f"{keyword} {name} {{{body} }};\n{check}\n"

    def function(self, symbol: str, parameters: int) -> Function:
        result = self.spelling()
        arguments = [self.spelling() for _ in range(parameters)]
        named = ", ".join(f"{spelling} p{i}" for i, spelling in enumerate(arguments)) or "void"
        self.header += f"{result} {symbol}({named});\n"
        text = ";".join([result, *(f"p{i} {spelling}" for i, spelling in enumerate(arguments))])
        return Function(symbol, "driver", text, self.types, ApiNotes())


@pytest.mark.parametrize("machine", MACHINES)
def test_arguments_of_made_up_types(machine: str, tmp_path: Path) -> None:
    made = Made(seed=1)
    functions = [made.function(f"made_{i}", made.random.randint(1, 12)) for i in range(400)]
    check_arguments(functions, machine, made.header, tmp_path)


@pytest.mark.parametrize("machine", MACHINES)
def test_results_of_made_up_types(machine: str, tmp_path: Path) -> None:
    made = Made(seed=2)
    functions = [made.function(f"made_{i}", 0) for i in range(200)]
    captures = abi_capture.results(functions, machine, made.header, tmp_path)
    for function, seen in zip(functions, captures):
        location = abi.result(function, machine)
        assert location is not None
        found = location.read(seen.registers.__getitem__, None, seen.memory)
        assert meaningful(function.result, found) == meaningful(function.result, seen.sent[0]), function


def test_every_base_type_is_known_to_the_convention() -> None:
    types = Types({})
    for name, (kind, size) in BASE_TYPES.items():
        if kind != "void":
            assert abi.shape(types[name]).scalars == ((0, size, kind == "float"),)
