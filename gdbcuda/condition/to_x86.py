"""The back end that writes x86-64 machine code, to run at a function's first instruction.

It jumps to one label where the condition holds and to another where it does not, and leaves every register and the
stack as they were (flags aside, which mean nothing at an entry). Comparisons of a parameter with a constant, and
strings, are tested in place; everything else is computed in rax, r10 and xmm8, xmm9, which are saved around it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from gdbcuda import abi
from gdbcuda.condition import typed
from gdbcuda.condition.numbers import DOUBLE, SIGNED, UNSIGNED
from gdbcuda.condition.place import Place
from gdbcuda.condition.typed import Typed
from gdbcuda.x86 import NAMES, R10, RAX, RCX, RDX, RSP, At, Code, Word

SIGNED_TESTS = {"==": "e", "!=": "ne", "<": "l", "<=": "le", ">": "g", ">=": "ge"}
UNSIGNED_TESTS = {"==": "e", "!=": "ne", "<": "b", "<=": "be", ">": "a", ">=": "ae"}
MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
ON_INTEGERS = {"+": b"\x03", "-": b"\x2b", "&": b"\x23", "|": b"\x0b", "^": b"\x33", "*": b"\x0f\xaf"}
ON_DOUBLES = {"+": b"\x58", "-": b"\x5c", "*": b"\x59", "/": b"\x5e"}
# mov or movsx to 64 bits, from a register or memory; movzx of 4 bytes is a 32-bit mov
LOADS = {(1, True): b"\x0f\xbe", (1, False): b"\x0f\xb6", (2, True): b"\x0f\xbf", (2, False): b"\x0f\xb7",
         (4, True): b"\x63", (4, False): b"\x8b", (8, True): b"\x8b", (8, False): b"\x8b"}  # fmt: skip
XMM8, XMM9 = 8, 9
SAVED_DOUBLES = 40  # bytes: xmm8, xmm9 and mxcsr
DEFAULT_MXCSR = 0x1F80


class Refused(Exception):
    """There is no machine code for this condition; the text says why."""


def branch(
    code: Code,
    tree: Typed,
    locations: Sequence[abi.Location],
    true: str,
    false: str,
    pushed: int = 0,
    place: Place | None = None,
) -> None:
    """Appends the test: it jumps to label ``true`` or ``false``. ``locations`` are ``abi.locate(function)``;
    ``pushed`` bytes are on the stack since the entry; ``place`` knows the process, for the terms that ask for the
    caller, the thread or a count. `Refused` for what machine code cannot see."""
    Writer(code, locations, pushed).test(tree, true, false)


def against_constant(node: Typed) -> tuple[typed.Argument, int, str] | None:
    """The argument, the constant and the operator as seen from the argument, where one instruction compares them."""
    if not isinstance(node, typed.Compare):
        return None
    left, right, op = node.left, node.right, node.op
    if isinstance(left, typed.Constant):
        left, right, op = right, left, MIRRORED[op]
    if not isinstance(left, typed.Argument) or not isinstance(right, typed.Constant) or left.kind == DOUBLE:
        return None
    value = int(right.value)
    low, high = (-(1 << 31), 1 << 31) if left.is_signed else (0, 1 << 32)
    fits = left.size == 8 or (left.size == 4 and low <= value < high)
    return (left, value, op) if fits else None


def as_immediate(value: int, size: int) -> int:
    """The number that a signed immediate has to be to mean ``value`` among numbers of ``size`` bytes."""
    half = 1 << 8 * size - 1
    return (value + half) % (2 * half) - half


def fits_immediate(value: int) -> bool:
    return -(1 << 31) <= value < 1 << 31


class Writer:
    """Methods ``test`` end in jumps, methods ``value`` leave 64 bits in rax: an integer, or the bits of a double."""

    def __init__(self, code: Code, locations: Sequence[abi.Location], pushed: int) -> None:
        self.code, self.locations = code, locations
        self.pushed = self.depth = pushed  # bytes on the stack since the entry: at first, and now
        self.is_saved = False
        self.values: dict[type, Callable[..., None]] = {
            typed.Constant: self.constant,
            typed.Argument: self.argument,
            typed.Convert: self.convert,
            typed.Unary: self.unary,
            typed.Arithmetic: self.arithmetic,
        }

    # -- truth

    def test(self, node: Typed, true: str, false: str) -> None:
        if isinstance(node, typed.Not):
            self.test(node.operand, false, true)
        elif isinstance(node, typed.Logic):
            self.logic(node, true, false)
        elif isinstance(node, typed.Matches):
            self.matches(node, true, false)
        elif self.in_place(node, true, false):
            pass
        elif self.is_saved:
            self.compare(node, true, false)
        else:
            self.saved(node, true, false)

    def logic(self, node: typed.Logic, true: str, false: str) -> None:
        middle = self.code.new_label()
        first = (middle, false) if node.op == "&&" else (true, middle)
        self.test(node.left, *first)
        self.code.label(middle)
        self.test(node.right, true, false)

    def decide(self, condition: str, true: str, false: str) -> None:
        self.code.jump(condition, true)
        self.code.jump("", false)

    def in_place(self, node: Typed, true: str, false: str) -> bool:
        """A comparison that needs no register; False where the node is something else."""
        found = against_constant(node)
        if found is None:
            return False
        argument, value, op = found
        place, wide = self.place(argument), argument.size == 8
        immediate = as_immediate(value, argument.size)
        if fits_immediate(immediate):
            self.code.instruction(b"\x81", 7, place, wide=wide, immediate=struct.pack("<i", immediate))
        elif isinstance(place, At):
            return False
        else:
            self.code.instruction(b"\x3b", place, Word(value))
        tests = SIGNED_TESTS if argument.is_signed and argument.kind == SIGNED else UNSIGNED_TESTS
        self.decide(tests[op], true, false)
        return True

    def matches(self, node: typed.Matches, true: str, false: str) -> None:
        """Byte by byte up to the first difference: never a byte behind the string's end."""
        place = self.place(node)
        if isinstance(place, At):
            raise Refused(f"{node.name} is passed on the stack")
        self.code.instruction(b"\x85", place, place)  # test
        self.code.jump("e", false)
        for index, byte in enumerate(node.text + (b"" if node.prefix else b"\0")):
            self.code.instruction(b"\x80", 7, At(place, index), wide=False, immediate=bytes([byte]))
            self.code.jump("ne", false)
        self.code.jump("", true)

    def saved(self, node: Typed, true: str, false: str) -> None:
        """Runs a test that needs registers, and gives them back on both ways out."""
        doubles = any(part.kind == DOUBLE for part in typed.nodes(node))
        yes, no = self.code.new_label(), self.code.new_label()
        self.save(doubles)
        self.compare(node, yes, no)
        for here, there in ((yes, true), (no, false)):
            self.code.label(here)
            self.restore(doubles)
            self.code.jump("", there)
        self.is_saved, self.depth = False, self.pushed

    def save(self, doubles: bool) -> None:
        self.push(RAX)
        self.push(R10)
        if doubles:
            self.code.instruction(b"\x81", 5, RSP, immediate=struct.pack("<i", SAVED_DOUBLES))  # sub
            self.depth += SAVED_DOUBLES
            self.code.instruction(b"\x0f\x11", XMM8, At(RSP), wide=False)  # movups
            self.code.instruction(b"\x0f\x11", XMM9, At(RSP, 16), wide=False)
            self.code.instruction(b"\x0f\xae", 3, At(RSP, 32), wide=False)  # stmxcsr
            self.code.instruction(b"\x0f\xae", 2, Word(DEFAULT_MXCSR), wide=False)  # ldmxcsr
        self.is_saved = True

    def restore(self, doubles: bool) -> None:
        if doubles:
            self.code.instruction(b"\x0f\x10", XMM8, At(RSP), wide=False)
            self.code.instruction(b"\x0f\x10", XMM9, At(RSP, 16), wide=False)
            self.code.instruction(b"\x0f\xae", 2, At(RSP, 32), wide=False)
            self.code.instruction(b"\x81", 0, RSP, immediate=struct.pack("<i", SAVED_DOUBLES))  # add
        self.code.pop(R10)
        self.code.pop(RAX)

    def push(self, register: int) -> None:
        self.code.push(register)
        self.depth += 8

    def pop(self, register: int) -> None:
        self.code.pop(register)
        self.depth -= 8

    # -- comparisons, with registers to spare

    def compare(self, node: Typed, true: str, false: str) -> None:
        if not isinstance(node, typed.Compare):
            self.value(node)
            if node.kind == DOUBLE:
                self.code.instruction(b"\x03", RAX, RAX)  # shifts the sign out: -0.0 is zero too
            self.code.instruction(b"\x85", RAX, RAX)
            self.decide("ne", true, false)
            return
        left, right, op = node.left, node.right, node.op
        if left.kind == DOUBLE:
            self.compare_doubles(left, right, op, true, false)
            return
        self.operands(left, right)
        self.code.instruction(b"\x3b", RAX, R10)
        self.decide((UNSIGNED_TESTS if left.kind == UNSIGNED else SIGNED_TESTS)[op], true, false)

    def compare_doubles(self, left: Typed, right: Typed, op: str, true: str, false: str) -> None:
        """ucomisd is "below" for a NaN, so only "above" is asked."""
        self.operands(left, right)
        first, second = (XMM9, XMM8) if op in ("<", "<=") else (XMM8, XMM9)
        self.to_double(XMM8, RAX)
        self.to_double(XMM9, R10)
        self.code.instruction(b"\x0f\x2e", first, second, wide=False, prefix=b"\x66")  # ucomisd
        if op in ("==", "!="):
            self.code.jump("p", false if op == "==" else true)
        self.decide({"==": "e", "!=": "ne", "<": "a", ">": "a", "<=": "ae", ">=": "ae"}[op], true, false)

    def to_double(self, vector: int, register: int) -> None:
        self.code.instruction(b"\x0f\x6e", vector, register, prefix=b"\x66")  # movq

    def from_double(self, vector: int = XMM8) -> None:
        self.code.instruction(b"\x0f\x7e", vector, RAX, prefix=b"\x66")

    # -- values

    def value(self, node: Typed) -> None:
        write = self.values.get(type(node))
        if write is not None:
            write(node)
        else:
            self.truth(node)

    def truth(self, node: Typed) -> None:
        """A comparison as a number."""
        yes, no, end = (self.code.new_label() for _ in range(3))
        self.test(node, yes, no)
        self.code.label(yes)
        self.load_constant(1)
        self.code.jump("", end)
        self.code.label(no)
        self.load_constant(0)
        self.code.label(end)

    def operands(self, left: Typed, right: Typed) -> None:
        """Left in rax, right in r10."""
        self.value(left)
        self.push(RAX)
        self.value(right)
        self.code.instruction(b"\x8b", R10, RAX)
        self.pop(RAX)

    def constant(self, node: typed.Constant) -> None:
        if node.kind == DOUBLE:
            self.load_constant(struct.unpack("<Q", struct.pack("<d", float(node.value)))[0])
        else:
            self.load_constant(int(node.value))

    def load_constant(self, value: int) -> None:
        self.code.emit(b"\x48\xb8" + struct.pack("<Q", value & (1 << 64) - 1))  # mov rax, imm64

    def place(self, node: typed.Argument | typed.Matches) -> int | At:
        """The register of an argument, or its place on the stack as it is now."""
        pieces = self.locations[node.index].pieces
        if len(pieces) != 1 or pieces[0].indirect:
            raise Refused(f"{node.name} is not in one place")
        piece = pieces[0]
        if piece.register is not None:
            return NAMES[piece.register]
        assert piece.stack is not None
        return At(RSP, piece.stack + self.depth)

    def argument(self, node: typed.Argument) -> None:
        place = self.place(node)
        if node.kind == DOUBLE:
            name = b"\x0f\x5a" if node.size == 4 else b"\x0f\x10"  # cvtss2sd, movsd
            self.code.instruction(name, XMM8, place, wide=False, prefix=b"\xf3" if node.size == 4 else b"\xf2")
            self.from_double()
        else:
            is_signed = node.is_signed and node.size < 8
            self.code.instruction(LOADS[node.size, is_signed], RAX, place, wide=is_signed or node.size != 4)

    def convert(self, node: typed.Convert) -> None:
        self.value(node.operand)
        if node.kind == DOUBLE and node.operand.kind == SIGNED:
            self.code.instruction(b"\x0f\x2a", XMM8, RAX, prefix=b"\xf2")  # cvtsi2sd
            self.from_double()
        elif node.kind == DOUBLE and node.operand.kind == UNSIGNED:
            self.unsigned_to_double()

    def unsigned_to_double(self) -> None:
        """The upper half of the range: halve it, with the lost bit kept for the rounding, and double the result."""
        large, end = self.code.new_label(), self.code.new_label()
        self.code.instruction(b"\x85", RAX, RAX)
        self.code.jump("l", large)
        self.code.instruction(b"\x0f\x2a", XMM8, RAX, prefix=b"\xf2")
        self.code.jump("", end)
        self.code.label(large)
        self.code.instruction(b"\x8b", R10, RAX)
        self.code.instruction(b"\xd1", 5, RAX)  # shr
        self.code.instruction(b"\x81", 4, R10, immediate=struct.pack("<i", 1))  # and
        self.code.instruction(b"\x0b", RAX, R10)
        self.code.instruction(b"\x0f\x2a", XMM8, RAX, prefix=b"\xf2")
        self.code.emit(b"\xf2\x45\x0f\x58\xc0")  # addsd xmm8, xmm8
        self.code.label(end)
        self.from_double()

    def unary(self, node: typed.Unary) -> None:
        self.value(node.operand)
        if node.kind == DOUBLE:
            self.code.instruction(b"\x0f\xba", 7, RAX, immediate=b"\x3f")  # btc rax, 63
        else:
            self.code.instruction(b"\xf7", 3 if node.op == "-" else 2, RAX)  # neg, not

    def arithmetic(self, node: typed.Arithmetic) -> None:
        self.operands(node.left, node.right)
        if node.kind == DOUBLE:
            self.to_double(XMM8, RAX)
            self.to_double(XMM9, R10)
            self.code.emit(b"\xf2\x45\x0f" + ON_DOUBLES[node.op] + b"\xc1")  # OPsd xmm8, xmm9
            self.from_double()
        elif node.op in ON_INTEGERS:
            self.code.instruction(ON_INTEGERS[node.op], RAX, R10)
        elif node.op in ("<<", ">>"):
            self.shift(4 if node.op == "<<" else 7 if node.kind == SIGNED else 5)
        else:
            self.divide(node.op, node.kind == SIGNED)

    def shift(self, extension: int) -> None:
        self.push(RCX)
        self.code.instruction(b"\x8b", RCX, R10)
        self.code.instruction(b"\xd3", extension, RAX)
        self.pop(RCX)

    def divide(self, op: str, signed: bool) -> None:
        """x / 0 and x % 0 are 0; x / -1 is -x, which the processor would trap for the lowest x."""
        zero, ordinary, end = (self.code.new_label() for _ in range(3))
        self.code.instruction(b"\x85", R10, R10)
        self.code.jump("e", zero)
        if signed:
            self.code.instruction(b"\x83", 7, R10, immediate=b"\xff")  # cmp r10, -1
            self.code.jump("ne", ordinary)
            self.code.instruction(b"\xf7", 3, RAX)  # neg
            if op == "/":
                self.code.jump("", end)
            self.code.label(zero)
        else:
            self.code.jump("", ordinary)
            self.code.label(zero)
        self.load_constant(0)
        self.code.jump("", end)
        self.code.label(ordinary)
        self.divide_registers(op, signed)
        self.code.label(end)

    def divide_registers(self, op: str, signed: bool) -> None:
        self.push(RDX)
        self.code.emit(b"\x48\x99" if signed else b"\x31\xd2")  # cqo, or xor edx, edx
        self.code.instruction(b"\xf7", 7 if signed else 6, R10)
        if op == "%":
            self.code.instruction(b"\x8b", RAX, RDX)
        self.pop(RDX)
