"""Random conditions on random arguments: the machine code, run for real, says what the Python predicate says."""

from __future__ import annotations

import platform
import re
import struct

import condition_cases
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machine import SIZE, Machine

from gdbcuda import abi, condition
from gdbcuda.condition import to_x86
from gdbcuda.errors import UserError
from gdbcuda.memory import DictMemory
from gdbcuda.x86 import Code

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="runs x86-64 machine code")
STACKED = condition_cases.function(
    "int i;size_t z;void * p;long long l;unsigned int u;size_t y;int a;size_t b;unsigned int c;float f;double d;short s"
)


@pytest.fixture(scope="module")
def machine() -> Machine:
    return Machine()


def compiled(parsed: condition.Condition, function) -> Code:
    code = Code()
    to_x86.branch(code, parsed.trees[function.symbol], abi.locate(function), "true", "false")
    code.label("true")
    code.emit(b"\xf9\xc3")  # stc; ret
    code.label("false")
    code.emit(b"\xf8\xc3")  # clc; ret
    return code


def answer(machine: Machine, parsed: condition.Condition, function, registers, stack: bytes = b"") -> bool:
    entry = machine.write(0, compiled(parsed, function).assemble(machine.address))
    return machine.call(entry, registers, stack)[0]


def arguments(made: condition_cases.Conditions, function) -> tuple[dict[str, int], bytes, list[bytes]]:
    """Registers, the stack above the return address, and the bytes of each argument."""
    registers: dict[str, int] = {}
    stack = bytearray(96)
    for parameter, location in zip(function.parameters, abi.locate(function)):
        (piece,) = location.pieces
        size = parameter.type.size
        raw = (
            made.float_register(size).ljust(8, b"\0")
            if parameter.type.kind == "float"
            else struct.pack("<Q", made.register())
        )
        if piece.register is not None:
            registers[piece.register] = int.from_bytes(raw, "little")
        else:
            stack[piece.stack - 8 : piece.stack] = raw
    memory = DictMemory({0x1000: bytes(8) + bytes(stack)})
    raws = [location.read(lambda n: registers[n], 0x1000, memory) for location in abi.locate(function)]
    return registers, bytes(stack), raws


@pytest.mark.parametrize("function", [condition_cases.WIDE, condition_cases.NARROW, STACKED])
@settings(max_examples=400, deadline=None)
@given(seed=st.integers(0, 1 << 40), depth=st.integers(0, 4))
def test_the_machine_agrees_with_the_predicate(machine: Machine, function, seed: int, depth: int) -> None:
    made = condition_cases.Conditions(seed, function)
    text = made.condition(depth)
    try:
        parsed = condition.parse(text, condition_cases.TABLE, [function])
    except UserError as reason:
        assert re.search("is never|no finite|fraction", str(reason)), (text, reason)
        return
    for _ in range(4):
        registers, stack, raws = arguments(made, function)
        expected = parsed.holds(function, raws, DictMemory({}))
        assert answer(machine, parsed, function, registers, stack) == expected, (text, registers, stack)


@pytest.mark.parametrize(
    ("text", "name", "holds"),
    [
        ('symbol == "cuInit"', b"cuInit", True),
        ('symbol == "cuInit"', b"cuInit_v2", False),
        ('symbol == "cuInit"', b"cuIni", False),
        ('symbol == "cuMem*"', b"cuMem", True),
        ('symbol == "cuMem*"', b"cuMe", False),
        ('symbol != "cuMem*"', b"cuMemAlloc", False),
        ('symbol == "*"', b"", True),
        ('symbol == "*"', None, False),
        ('symbol != "x" && cudaVersion == 12000', b"y", True),
        ('(symbol == "y") + (cudaVersion / 2 == 6000) == 2', b"y", True),
    ],
)
def test_strings(machine: Machine, text: str, name: bytes | None, holds: bool) -> None:
    function = condition_cases.TABLE.functions["cuGetProcAddress_v2"]
    parsed = condition.parse(text, condition_cases.TABLE, [function])
    at = machine.write(SIZE - 4096, name + b"\0") if name is not None else 0
    assert answer(machine, parsed, function, {"rdi": at, "rdx": 12000}) is holds


def test_one_comparison_is_two_instructions() -> None:
    """The price of a false guard: nothing is saved, nothing loaded."""
    function = condition_cases.TABLE.functions["cuMemAlloc_v2"]
    parsed = condition.parse("bytesize > 1G", condition_cases.TABLE, [function])
    assert bytes(compiled(parsed, function).bytes[:9]) == b"\x48\x81\xfe\x00\x00\x00\x40\x0f\x86"


def test_no_code_for_a_struct_in_two_places() -> None:
    function = condition_cases.TABLE.functions["cudaLaunchKernel"]
    parsed = condition.parse("sharedMem > 1", condition_cases.TABLE, [function])
    assert compiled(parsed, function).bytes  # a stack argument is as good as a register
