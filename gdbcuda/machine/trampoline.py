"""The code that a patched entry jumps to: tests, then the function; a call that passes one goes by `hit` first.

Registers and stack are what they were when the patch was reached. (x86-64.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Callable, NamedTuple, Protocol

from gdbcuda.data_classes import dataclass
from gdbcuda.machine.detour import Detour
from gdbcuda.machine.x86.x86_write import LOCK, RAX, RSP, At, Code, CodeConstant, Target, jump

NOP = b"\x90"
LONG_JUMP = b"\xe9"
Test = Callable[[Code, str, str, int], None]  # (code, label if true, label if false, bytes pushed since the entry)
Range = tuple[int, int]  # addresses, the second one is behind the end


@dataclass(frozen=True)
class Trampoline:
    """``raw`` is to be written at ``address``; every call that passes a test executes the one-byte nop at ``hit``, on
    its way to gdb's breakpoint. ``onward``: what the others execute. ``is_recorded``: the recorder hears of all.
    ``matching``: what the recorder calls for those that pass. ``is_returned_to``: calls of the function come back."""

    address: int
    raw: bytes
    hit: int
    onward: int
    is_recorded: bool = False
    is_returned_to: bool = False
    matching: int = 0

    def passing_on(self) -> bytes:
        """For ``hit``: the call goes on as one that does not match, whatever is in the function now."""
        return NOP + jump(self.hit + len(NOP), self.onward)


@dataclass(frozen=True)
class FailingCalls:
    """Those that pass one of the tests, and none of the others, go by `call_through` at ``address``."""

    tests: Sequence[Test]
    address: int


class Diverted(NamedTuple):
    """Calls that pass one of the tests go to the target."""

    tests: Sequence[Test]
    target: Target


class InFront(Protocol):
    """What is done to calls in front of the tests (`faults.fault_code`)."""

    @property
    def is_returned_to(self) -> bool: ...
    @property
    def tests(self) -> Sequence[Test]: ...
    def write_meant(self, code: Code) -> None:
        """Of the only one, for a call that it means."""

    def write(self, code: Code, stops: Sequence[Diverted]) -> None: ...


Slots = tuple[int, int]  # addresses in the recorder, for calls that match none of the tests and for those that do


def build(
    detour: Detour, tests: Sequence[Test], address: int, counter: int | None = None, slots: Slots | None = None,
    failing: FailingCalls | None = None, faults: InFront | None = None,
) -> Trampoline:  # fmt: skip
    """For any of the tests. ``counter``: address of 64 bits that count the calls. ``slots``: each call goes by one of
    them, which then calls ``onward`` or ``matching``: that is ``hit``, or what the fault does. ``failing``, and
    ``faults`` where there are tests: not together with these."""
    code = Code()
    if counter is not None:
        count(code, counter)
    meant = list(faults.tests) if faults is not None and slots is not None else []
    if faults is not None and slots is None:
        write_faults(code, faults, tests, failing)
    branch(code, [*meant, *tests], "match")
    branch(code, failing.tests if failing is not None else (), "failing")
    write_onward(code, detour, failing, slots)
    write_hit(code, detour, address, slots)
    if faults is not None and meant:
        code.label("matching")
        faults.write_meant(code)
        code.jump("", "onward")
    raw = code.assemble(address)
    hit, onward = address + code.labels["hit"], address + code.labels["onward"]
    is_returned_to = faults is not None and faults.is_returned_to
    matching = address + code.labels.get("matching", code.labels["hit"])
    return Trampoline(address, raw, hit, onward, slots is not None, is_returned_to, matching)


def write_faults(code: Code, faults: InFront, tests: Sequence[Test], failing: FailingCalls | None) -> None:
    waiting = [Diverted(failing.tests, failing.address)] if failing is not None else []
    faults.write(code, [Diverted(tests, "hit"), *waiting] if tests else waiting)


def write_onward(code: Code, detour: Detour, failing: FailingCalls | None, slots: Slots | None) -> None:
    """Calls that match nothing."""
    if slots is not None:
        code.jump("", slots[0])
    code.label("onward")
    detour.pass_by(code)
    if failing is not None:
        code.label("failing")
        code.jump("", failing.address)


def write_hit(code: Code, detour: Detour, address: int, slots: Slots | None) -> None:
    """Calls that match."""
    code.label("match")
    if slots is not None:
        code.jump("", slots[1])
    code.label("hit")
    code.emit(NOP)
    if detour.stops_inside:  # the way there leads here again, unless whoever looks at `hit` has changed it
        compare(code, detour.function, detour.jump_to(address))
        code.jump("e", "onward")
    detour.go_to_stop(code)


def branch(code: Code, tests: Sequence[Test], label: str) -> None:
    following = code.new_label()
    any_of(code, tests, label, following, 0)
    code.label(following)


def any_of(code: Code, tests: Sequence[Test], true: str, false: str, pushed: int) -> None:
    for test in tests:
        following = code.new_label()
        test(code, true, following, pushed)
        code.label(following)
    code.jump("", false)


def compare(code: Code, address: int, raw: bytes) -> None:
    """cmpl $raw, address(%rip), or cmpw where it is the two bytes of a short jump"""
    size = 4 if raw[:1] == LONG_JUMP else 2
    code.emit(b"\x81\x3d" if size == 4 else b"\x66\x81\x3d")
    code.distance(address, size)
    code.emit(raw[:size])


def count(code: Code, counter: int) -> None:
    """One more, in one step for all threads. The counter may be anywhere; flags mean nothing at an entry."""
    code.push(RAX)
    code.constant(RAX, counter)
    code.instruction(b"\xff", 0, At(RAX), prefix=LOCK)  # lock incq (%rax)
    code.pop(RAX)


def all_of(tests: Sequence[Test]) -> Test:
    def write(code: Code, true: str, false: str, pushed: int) -> None:
        for test in tests:
            following = code.new_label()
            test(code, following, false, pushed)
            code.label(following)
        code.jump("", true)

    return write


def returns_into(ranges: Sequence[Range], wanted: bool) -> Test:
    """Whether the return address is in one of the ranges (``wanted``), or in none of them.

    It is the address behind the call, which may be the last instruction of its object: low < address <= high."""

    def write(code: Code, true: str, false: str, pushed: int) -> None:
        inside, outside = code.new_label(), code.new_label()
        code.push(RAX)
        code.instruction(b"\x8b", RAX, At(RSP, pushed + 8))
        for low, high in ranges:
            following = code.new_label()
            code.instruction(b"\x3b", RAX, CodeConstant(low))
            code.jump("be", following)
            code.instruction(b"\x3b", RAX, CodeConstant(high))
            code.jump("be", inside)
            code.label(following)
        code.jump("", outside)
        for label, target in ((inside, true if wanted else false), (outside, false if wanted else true)):
            code.label(label)
            code.pop(RAX)
            code.jump("", target)

    return write
