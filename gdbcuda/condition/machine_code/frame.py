"""The registers and the stack while a condition's machine code runs: what is where, what is saved."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from gdbcuda.condition import typed
from gdbcuda.condition.arithmetic import DOUBLE
from gdbcuda.machine import abi
from gdbcuda.machine.x86.x86_write import NAMES, R10, RAX, RSP, At, Code, CodeConstant

XMM8, XMM9 = 8, 9
SAVED_DOUBLES = 40  # bytes: xmm8, xmm9 and mxcsr
DEFAULT_MXCSR = 0x1F80


class NoMachineCode(Exception):
    """There is no machine code for this condition; the text says why."""


class Frame:
    """``pushed`` bytes are on the stack since the entry at first, ``depth`` now; ``is_saved``: rax, r10 (and xmm8, xmm9
    where there are fractions) may be used. ``unknown``: the label, at ``saved_depth``, for a call whose condition needs
    what cannot be read."""

    def __init__(self, code: Code, locations: Sequence[abi.ValuePlace], pushed: int) -> None:
        self.code, self.locations = code, locations
        self.pushed = self.depth = pushed
        self.is_saved = False
        self.unknown, self.saved_depth = "", pushed

    def push(self, register: int) -> None:
        self.code.push(register)
        self.depth += 8

    def pop(self, register: int) -> None:
        self.code.pop(register)
        self.depth -= 8

    def save(self, doubles: bool) -> None:
        self.push(RAX)
        self.push(R10)
        if doubles:
            self.code.instruction(b"\x81", 5, RSP, immediate=struct.pack("<i", SAVED_DOUBLES))  # sub
            self.depth += SAVED_DOUBLES
            self.code.instruction(b"\x0f\x11", XMM8, At(RSP), wide=False)  # movups
            self.code.instruction(b"\x0f\x11", XMM9, At(RSP, 16), wide=False)
            self.code.instruction(b"\x0f\xae", 3, At(RSP, 32), wide=False)  # stmxcsr
            self.code.instruction(b"\x0f\xae", 2, CodeConstant(DEFAULT_MXCSR), wide=False)  # ldmxcsr
        self.is_saved, self.saved_depth = True, self.depth

    def restore(self, doubles: bool) -> None:
        """On one of the ways out; `leave` says that all of them are written."""
        if doubles:
            self.code.instruction(b"\x0f\x10", XMM8, At(RSP), wide=False)
            self.code.instruction(b"\x0f\x10", XMM9, At(RSP, 16), wide=False)
            self.code.instruction(b"\x0f\xae", 2, At(RSP, 32), wide=False)
            self.code.instruction(b"\x81", 0, RSP, immediate=struct.pack("<i", SAVED_DOUBLES))  # add
        self.code.pop(R10)
        self.code.pop(RAX)

    def leave(self) -> None:
        self.is_saved, self.depth = False, self.pushed

    def where(self, node: typed.Argument) -> tuple[int | At, int]:
        """The register of an argument, or its place on the stack as it is now, and by how many bits it is to be
        shifted down in a register."""
        piece, inside = self.locations[node.index].piece_at(node.offset, node.size) or (None, 0)
        if piece is None or piece.indirect:
            raise NoMachineCode(f"{node.name} is not in one place")
        if piece.register is None:
            assert piece.stack is not None
            return At(RSP, piece.stack + inside + self.depth), 0
        if inside and node.kind == DOUBLE:
            raise NoMachineCode(f"{node.name} is in the upper half of a register")
        return NAMES[piece.register], 8 * inside
