"""Arithmetic in machine code: rax OP r10 to rax, integers or the bits of doubles, as `numbers` says."""

from __future__ import annotations

import struct

from gdbcuda.condition.arithmetic import DOUBLE, SIGNED
from gdbcuda.condition.machine_code.frame import XMM8, XMM9, Frame
from gdbcuda.machine.x86.x86_write import R10, RAX, RCX, RDX, Code

ON_INTEGERS = {"+": b"\x03", "-": b"\x2b", "&": b"\x23", "|": b"\x0b", "^": b"\x33", "*": b"\x0f\xaf"}
ON_DOUBLES = {"+": b"\x58", "-": b"\x5c", "*": b"\x59", "/": b"\x5e"}


def to_double(code: Code, vector: int, register: int) -> None:
    code.instruction(b"\x0f\x6e", vector, register, prefix=b"\x66")  # movq


def from_double(code: Code) -> None:
    """xmm8 to rax"""
    code.instruction(b"\x0f\x7e", XMM8, RAX, prefix=b"\x66")


def operate(frame: Frame, op: str, kind: str) -> None:
    code = frame.code
    if kind == DOUBLE:
        to_double(code, XMM8, RAX)
        to_double(code, XMM9, R10)
        code.emit(b"\xf2\x45\x0f" + ON_DOUBLES[op] + b"\xc1")  # OPsd xmm8, xmm9
        from_double(code)
    elif op in ON_INTEGERS:
        code.instruction(ON_INTEGERS[op], RAX, R10)
    elif op in ("<<", ">>"):
        shift(frame, 4 if op == "<<" else 7 if kind == SIGNED else 5)
    else:
        divide(frame, op, kind == SIGNED)


def shift(frame: Frame, extension: int) -> None:
    frame.push(RCX)
    frame.code.instruction(b"\x8b", RCX, R10)
    frame.code.instruction(b"\xd3", extension, RAX)
    frame.pop(RCX)


def divide(frame: Frame, op: str, signed: bool) -> None:
    """x / 0 and x % 0 are 0; x / -1 is -x, which the processor would trap for the lowest x."""
    code = frame.code
    zero, ordinary, end = (code.new_label() for _ in range(3))
    code.instruction(b"\x85", R10, R10)
    code.jump("e", zero)
    if signed:
        code.instruction(b"\x83", 7, R10, immediate=b"\xff")  # cmp r10, -1
        code.jump("ne", ordinary)
        code.instruction(b"\xf7", 3, RAX)  # neg
        if op == "/":
            code.jump("", end)
        code.label(zero)
    else:
        code.jump("", ordinary)
        code.label(zero)
    load(code, 0)
    code.jump("", end)
    code.label(ordinary)
    divide_registers(frame, op, signed)
    code.label(end)


def divide_registers(frame: Frame, op: str, signed: bool) -> None:
    frame.push(RDX)
    frame.code.emit(b"\x48\x99" if signed else b"\x31\xd2")  # cqo, or xor edx, edx
    frame.code.instruction(b"\xf7", 7 if signed else 6, R10)
    if op == "%":
        frame.code.instruction(b"\x8b", RAX, RDX)
    frame.pop(RDX)


def load(code: Code, value: int) -> None:
    code.emit(b"\x48\xb8" + struct.pack("<Q", value & (1 << 64) - 1))  # mov rax, imm64


# -- integers to doubles


def signed_to_double(frame: Frame) -> None:
    frame.code.instruction(b"\x0f\x2a", XMM8, RAX, prefix=b"\xf2")  # cvtsi2sd
    from_double(frame.code)


def unsigned_to_double(frame: Frame) -> None:
    """The upper half of the range: halve it, with the lost bit kept for the rounding, and double the result."""
    code = frame.code
    large, end = code.new_label(), code.new_label()
    code.instruction(b"\x85", RAX, RAX)
    code.jump("l", large)
    code.instruction(b"\x0f\x2a", XMM8, RAX, prefix=b"\xf2")
    code.jump("", end)
    code.label(large)
    code.instruction(b"\x8b", R10, RAX)
    code.instruction(b"\xd1", 5, RAX)  # shr
    code.instruction(b"\x81", 4, R10, immediate=struct.pack("<i", 1))  # and
    code.instruction(b"\x0b", RAX, R10)
    code.instruction(b"\x0f\x2a", XMM8, RAX, prefix=b"\xf2")
    code.emit(b"\xf2\x45\x0f\x58\xc0")  # addsd xmm8, xmm8
    code.label(end)
    from_double(code)
