"""The back end that writes x86-64 machine code, to run at a function's first instruction.

It jumps to one label where the condition holds and to another where it does not, and leaves every register and the
stack as they were (flags aside, which mean nothing at an entry). Comparisons of an argument with a constant are tested
in place; everything else is computed in rax, r10 and xmm8, xmm9, which are saved around it. What it needs of the
process beside the call may be anywhere in it: those addresses are absolute.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from gdbcuda.condition import typed
from gdbcuda.condition.arithmetic import DOUBLE, MIRRORED, SIGNED, UNSIGNED
from gdbcuda.condition.machine_code.arithmetic_code import load, to_double
from gdbcuda.condition.machine_code.frame import XMM8, XMM9, Frame, NoMachineCode
from gdbcuda.condition.machine_code.value_code import Values
from gdbcuda.condition.place import ProcessPlaces
from gdbcuda.condition.typed import Typed
from gdbcuda.machine import abi, trampoline
from gdbcuda.machine.x86.x86_write import LOCK, R10, RAX, At, Code, CodeConstant
from gdbcuda.memory import PAGE

__all__ = ["NoMachineCode", "branch"]

SIGNED_TESTS = {"==": "e", "!=": "ne", "<": "l", "<=": "le", ">": "g", ">=": "ge"}
UNSIGNED_TESTS = {"==": "e", "!=": "ne", "<": "b", "<=": "be", ">": "a", ">=": "ae"}
DOUBLE_TESTS = {"==": "e", "!=": "ne", "<": "a", ">": "a", "<=": "ae", ">=": "ae"}
TAG = b"\x64"  # fs:, where a thread's control block is


def branch(
    code: Code,
    tree: Typed,
    locations: Sequence[abi.ValuePlace],
    true: str,
    false: str,
    pushed: int = 0,
    place: ProcessPlaces | None = None,
    unknown: str = "",
) -> None:
    """Appends the test: it jumps to label ``true`` or ``false``, and to ``unknown`` (without one to ``true``) where it
    would have to read memory that cannot be read. ``locations`` are ``abi.locate(function)``; ``pushed`` bytes are on
    the stack since the entry; ``place`` knows the process, for the terms that ask for the caller, the thread or a
    count. Where it does not know all callers, ``true`` means: the condition may hold, and the debugger has to look.
    `NoMachineCode` for what machine code cannot see."""
    tests = Tests(Frame(code, locations, pushed), place, unknown or true)
    tests.test(tree, true, false)
    tests.values.reads.finish()


class Tests:
    """Every method ends in jumps to one of two labels."""

    def __init__(self, frame: Frame, place: ProcessPlaces | None, unknown: str) -> None:
        self.frame, self.code = frame, frame.code
        self._place, self.unknown = place, unknown
        self.is_negated = False
        self.values = Values(frame, self.test)
        self.in_place: dict[type, Callable[..., None]] = {
            typed.Not: self.negation,
            typed.Logic: self.logic,
            typed.CallerIn: self.caller_in,
            typed.Thread: self.thread,
        }

    def place(self, what: str) -> ProcessPlaces:
        if self._place is None:
            raise NoMachineCode(f"{what} is not known here")
        return self._place

    def test(self, node: Typed, true: str, false: str) -> None:
        write = self.in_place.get(type(node))
        if write is not None:
            write(node, true, false)
        elif not self.against_constant(node, true, false):
            self.computed(node, true, false)

    def decide(self, condition: str, true: str, false: str) -> None:
        self.code.jump(condition, true)
        self.code.jump("", false)

    def negation(self, node: typed.Not, true: str, false: str) -> None:
        self.is_negated = not self.is_negated
        self.test(node.operand, false, true)
        self.is_negated = not self.is_negated

    def logic(self, node: typed.Logic, true: str, false: str) -> None:
        middle = self.code.new_label()
        first = (middle, false) if node.op == "&&" else (true, middle)
        self.test(node.left, *first)
        self.code.label(middle)
        self.test(node.right, true, false)

    # -- in place

    def against_constant(self, node: Typed, true: str, false: str) -> bool:
        """A comparison that needs no register; False where the node is something else."""
        found = compared_with_constant(node)
        where, shift = self.frame.where(found[0]) if found else (RAX, 0)
        if found is None or shift:
            return False
        value, constant, op = found
        immediate = as_immediate(constant, value.size)
        if fits_immediate(immediate):
            wide, raw = value.size == 8, struct.pack("<i", immediate)
            self.code.instruction(b"\x81", 7, where, wide=wide, immediate=raw)
        elif isinstance(where, At):
            return False
        else:
            self.code.instruction(b"\x3b", where, CodeConstant(constant))
        tests = SIGNED_TESTS if value.is_signed and value.kind == SIGNED else UNSIGNED_TESTS
        self.decide(tests[op], true, false)
        return True

    def caller_in(self, node: typed.CallerIn, true: str, false: str) -> None:
        place = self.place("the caller")
        ranges = place.caller_ranges(node)
        is_certain = place.knows_all_callers(node)
        if not is_certain and self.frame.is_saved:
            raise NoMachineCode("who calls is compared with something, and not known here")
        otherwise = false if is_certain or self.is_negated else true  # whichever leads to a look by the debugger
        trampoline.returns_into(ranges, wanted=True)(self.code, true, otherwise, self.frame.depth)

    def thread(self, node: typed.Thread, true: str, false: str) -> None:
        """Flags stay as they are where rax is put back."""
        word = self.place("the thread").thread(node)
        self.code.push(RAX)
        self.code.constant(RAX, word)
        self.code.instruction(b"\x8b", RAX, At(RAX))
        self.code.emit(TAG + b"\x48\x3b\x04\x25" + bytes(4))  # cmp rax, fs:[0]
        self.code.pop(RAX)
        self.decide("e", true, false)

    # -- with registers to spare

    def computed(self, node: Typed, true: str, false: str) -> None:
        if self.frame.is_saved:
            self.compute(node, true, false)
            return
        doubles = any(part.kind == DOUBLE for part in typed.nodes(node))
        yes, no, unknown = (self.code.new_label() for _ in range(3))
        self.frame.save(doubles)
        self.frame.unknown = unknown
        self.compute(node, yes, no)
        ways = [(yes, true), (no, false)] + [(unknown, self.unknown)] * may_read(node)
        for here, there in ways:
            self.code.label(here)
            self.frame.restore(doubles)
            self.code.jump("", there)
        self.frame.leave()

    def compute(self, node: Typed, true: str, false: str) -> None:
        if isinstance(node, typed.Count):
            self.count(node, true, false)
        elif isinstance(node, typed.Matches):
            self.matches(node, true, false)
        elif isinstance(node, typed.Compare):
            self.compare(node, true, false)
        else:
            self.values.value(node)
            if node.kind == DOUBLE:
                self.code.instruction(b"\x03", RAX, RAX)  # shifts the sign out: -0.0 is zero too
            self.code.instruction(b"\x85", RAX, RAX)
            self.decide("ne", true, false)

    def matches(self, node: typed.Matches, true: str, false: str) -> None:
        """Byte by byte up to the first difference."""
        text = node.text + (b"" if node.prefix else b"\0")
        if len(text) > PAGE:
            raise NoMachineCode(f"the string {node.name} is compared with is too long")
        self.values.value(typed.Argument(node.name, node.index, abi.WORD, False, UNSIGNED))
        self.code.instruction(b"\x85", RAX, RAX)  # test
        self.code.jump("e", false)
        self.values.reads.ask()
        self.code.jump("ne", false)
        if len(text) > 1:
            self.values.reads.check_all(len(text))
        for index, byte in enumerate(text):
            self.code.instruction(b"\x80", 7, At(RAX, index), wide=False, immediate=bytes([byte]))
            self.code.jump("ne", false)
        self.code.jump("", true)

    def compare(self, node: typed.Compare, true: str, false: str) -> None:
        left, right, op = node.left, node.right, node.op
        self.values.operands(left, right)
        if left.kind == DOUBLE:
            self.compare_doubles(op, true, false)
            return
        self.code.instruction(b"\x3b", RAX, R10)
        self.decide((UNSIGNED_TESTS if left.kind == UNSIGNED else SIGNED_TESTS)[op], true, false)

    def compare_doubles(self, op: str, true: str, false: str) -> None:
        """ucomisd is "below" for a NaN, so only "above" is asked."""
        first, second = (XMM9, XMM8) if op in ("<", "<=") else (XMM8, XMM9)
        to_double(self.code, XMM8, RAX)
        to_double(self.code, XMM9, R10)
        self.code.instruction(b"\x0f\x2e", first, second, wide=False, prefix=b"\x66")  # ucomisd
        if op in ("==", "!="):
            self.code.jump("p", false if op == "==" else true)
        self.decide(DOUBLE_TESTS[op], true, false)

    def count(self, node: typed.Count, true: str, false: str) -> None:
        """One more, in one step for all threads; what was there before, plus one, is this call's number."""
        counter = self.place("the count").counter(node)
        load(self.code, 1)
        self.code.constant(R10, counter)
        self.code.instruction(b"\x0f\xc1", RAX, At(R10), prefix=LOCK)  # lock xadd [r10], rax
        self.code.instruction(b"\x83", 0, RAX, immediate=b"\x01")  # add
        self.frame.push(RAX)
        self.values.ordinal_depth = self.frame.depth
        yes, no = self.code.new_label(), self.code.new_label()
        self.test(node.test, yes, no)
        for here, there in ((yes, true), (no, false)):
            self.code.label(here)
            self.code.pop(RAX)
            self.code.jump("", there)
        self.frame.depth -= 8


def may_read(node: Typed) -> bool:
    """Memory that a pointer leads to."""
    return any(isinstance(part, (typed.Pointee, typed.Matches)) for part in typed.nodes(node))


def compared_with_constant(node: Typed) -> tuple[typed.Argument, int, str] | None:
    """The value, the constant and the operator as seen from the value, where one instruction compares them."""
    if not isinstance(node, typed.Compare):
        return None
    left, right, op = node.left, node.right, node.op
    if isinstance(left, typed.Constant):
        left, right, op = right, left, MIRRORED[op]
    if not isinstance(left, typed.Argument) or not isinstance(right, typed.Constant):
        return None
    if left.kind == DOUBLE:
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
