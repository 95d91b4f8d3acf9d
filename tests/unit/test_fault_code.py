"""What faults do to calls, in machine code: executed here, by all the ways that a call has arguments."""

from __future__ import annotations

import ctypes
import platform
import signal
import struct
import threading
import time
from collections.abc import Callable, Sequence

import condition_cases
import pytest
from machine import Machine

from gdbcuda import condition
from gdbcuda.condition.machine_code import translate
from gdbcuda.faults import effects
from gdbcuda.faults.effects import Delay, Fail, Fault, Replace, Written
from gdbcuda.faults.fault_code import Faults
from gdbcuda.machine import abi, detour, trampoline, unwinding
from gdbcuda.machine.x86.x86_write import Code

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="runs x86-64 machine code")

ENTRY, TRAMPOLINE, STOPS, DONE = 0x1000, 0x4000, 7, 1
NAMES = "abcdefghi"  # six in registers, three on the stack
FUNCTION = condition_cases.function(";".join(f"size_t {name}" for name in NAMES))
PLACES = abi.locate(FUNCTION)
OUT, STACK_OUT = PLACES[1].pieces[0], PLACES[8].pieces[0]
# a + b * 2 + i * 4 + its own calls, and *b = 7 where b is no NULL: push %rbp; mov %rsp, %rbp; ...
ORIGINAL = bytes.fromhex(
    "55 4889e5 488d0477 4885f6 7403 c60607 488b4d20 488d0488 5d c3".replace(" ", "")
)
Call = Callable[..., int]


def meaning(text: str) -> trampoline.Test:
    tree = condition.parse(text, condition_cases.TABLE, [FUNCTION]).trees["made"]

    def test(code: Code, true: str, false: str, pushed: int) -> None:
        translate.branch(code, tree, PLACES, true, false, pushed, unknown=false)

    return test


def made(machine: Machine, faults: Sequence[Fault], stops: Sequence[str] = ()) -> Call:
    """The function with these faults. A call that one of ``stops`` means is counted, and goes on."""
    entry = machine.write(ENTRY, ORIGINAL)
    found = detour.plan(entry, ORIGINAL, entry + 4)

    def counting(code: Code, true: str, false: str, pushed: int) -> None:
        trampoline.count(code, machine.words.address(STOPS))
        code.jump("", true)

    tests = [trampoline.all_of([meaning(text), counting]) for text in stops]
    built = trampoline.build(found, tests, machine.address + TRAMPOLINE, faults=Faults(faults, 3))
    unwinding.tables(built.raw, [0, built.onward - built.address, built.hit - built.address])
    machine.write(TRAMPOLINE, built.raw)
    machine.write(ENTRY, found.jump_to(built.address))
    return ctypes.CFUNCTYPE(ctypes.c_uint32, *[ctypes.c_uint64] * len(NAMES))(entry)


def fault(machine: Machine, text: str, effect: effects.Effect, index: int = 0, most: int | None = None) -> Fault:
    return Fault(meaning(text), effect, machine.words.address(DONE + index), most)


def arguments(first: int, out: int = 0, last: int = 0) -> list[int]:
    return [first, out, *range(30, 36), last]


def test_a_failed_call_is_not_made() -> None:
    machine, there = Machine(), ctypes.c_uint64(5)
    call = made(machine, [fault(machine, "a == 1 && i == 40", Fail(0xFFFFFFFE))])
    address = ctypes.addressof(there)
    assert call(*arguments(1, address, 40)) == 0xFFFFFFFE and there.value == 5
    assert call(*arguments(2, 0, 40)) == 2 + 160 and call(*arguments(1, address, 41)) == (1 + 2 * address + 164) % 2**32
    assert there.value == 7 and machine.words[DONE] == 1


def test_at_most_so_many_times_in_all_threads_together() -> None:
    machine = Machine()
    call, failed = made(machine, [fault(machine, "a == 1", Fail(99), most=1000)]), []

    def work() -> None:
        failed.append(sum(call(*arguments(1)) == 99 for _ in range(5000)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sum(failed) == 1000 and machine.words[DONE] == 1000


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize("is_on_stack", [False, True])
def test_what_a_call_wrote_is_replaced(size: int, is_on_stack: bool) -> None:
    machine, there = Machine(), (ctypes.c_ubyte * 24)(*[0xEE] * 24)
    raw = bytes(range(1, size + 1))
    address = ctypes.addressof(there)
    effect = Replace((Written(STACK_OUT if is_on_stack else OUT, 8, raw),))
    call = made(machine, [fault(machine, "c == 30", effect)])
    first = (-2 * (0 if is_on_stack else address) - 4 * (address if is_on_stack else 0)) % 2**64  # the result is zero
    assert call(*arguments(first, 0 if is_on_stack else address, address if is_on_stack else 0)) == 0
    expected = bytearray(b"\xee" * 24)
    expected[8 : 8 + size] = raw
    expected[0] = 0xEE if is_on_stack else 7
    assert bytes(there) == bytes(expected) and machine.words[DONE] == 1


def test_nothing_is_written_where_the_call_failed_or_there_is_no_place() -> None:
    machine, there = Machine(), ctypes.c_uint64(5)
    effect = Replace((Written(STACK_OUT, 0, b"\x01" * 8),))
    call = made(machine, [fault(machine, "c == 30", effect)])
    assert call(*arguments(1, 0, ctypes.addressof(there))) != 0 and there.value == 5 and machine.words[DONE] == 0
    assert call(*arguments(0, 0, 0)) == 0 and machine.words[DONE] == 1


def test_the_result_is_replaced_behind_the_call() -> None:
    machine, there = Machine(), ctypes.c_uint64(5)
    call = made(machine, [fault(machine, "a == 3", Replace((), 46))])
    assert call(*arguments(3, ctypes.addressof(there))) == 46 and there.value == 7
    assert call(*arguments(4)) == 4


def test_several_of_one_function() -> None:
    """Each is asked by itself, also where the frame is there already and for arguments on the stack."""
    machine, there = Machine(), (ctypes.c_uint64 * 3)(1, 2, 3)
    one = fault(machine, "a % 2 == 0 && i == 0", Replace((Written(OUT, 8, b"\x55" * 8),)), 0)
    two = fault(machine, "a % 3 == 0", Replace((Written(OUT, 16, b"\x66" * 8),)), 1)
    three = fault(machine, "i == 9", Replace((), 77), 2, 2)
    address = ctypes.addressof(there)
    call = made(machine, [one, two, three, fault(machine, "a == 5", Fail(5), 3)], ["h == 35 && a != 4"])

    def seen(first: int, last: int = 0) -> tuple[int, list[int]]:
        there[:] = [1, 2, 3]
        result = call(*arguments((first - 2 * address - 4 * last) % 2**64 if first > 9 else first, address, last))
        return result, list(there)

    assert seen(5) == (5, [1, 2, 3])
    assert [seen(4, 9)[0] for _ in range(3)] == [77, 77, (4 + 2 * address + 36) % 2**32]
    assert [machine.words[DONE + n] for n in range(4)] == [0, 0, 2, 1]
    assert machine.words[STOPS] == 0
    assert call(*arguments(6, address, 9)) != 0 and machine.words[STOPS] == 1
    assert [machine.words[DONE + n] for n in range(2)] == [0, 0], "it has failed"
    last = next(n for n in (1, 2, 3) if (-2 * address - 4 * n) % 2**64 % 3 == 0)
    assert call(*arguments((-2 * address - 4 * last) % 2**64, address, last)) == 0 and there[2] == 0x6666666666666666
    assert [machine.words[DONE + n] for n in range(2)] == [0, 1]


def test_a_breakpoint_sees_the_call_that_is_made() -> None:
    machine = Machine()
    call = made(machine, [fault(machine, "a == 3", Replace((), 46))], ["i == 11"])
    assert [call(*arguments(3, 0, last)) for last in (11, 12)] == [46, 46] and machine.words[STOPS] == 1
    assert call(*arguments(1, 0, 11)) == 45 and machine.words[STOPS] == 2


@pytest.mark.parametrize(
    ("effect", "result"), [(Fail(46), 46), (Replace((), 46), 46), (Delay(1), 3), (Replace((Written(OUT, 0, b"7"),)), 3)]
)
def test_beside_a_recorder(effect: effects.Effect, result: int) -> None:
    """Which calls every call of its slots: one for those that the fault means, one for the others."""
    machine = Machine()
    entry = machine.write(ENTRY, ORIGINAL)
    found = detour.plan(entry, ORIGINAL, entry + 4)
    at = machine.address + TRAMPOLINE
    slots = (machine.address + 0x5000, machine.address + 0x5100)
    faults = Faults([fault(machine, "a == 3", effect)], 3)
    built = trampoline.build(found, [], at, slots=slots, faults=faults)
    unwinding.tables(built.raw, [0, built.onward - at, built.hit - at, built.matching - at])
    machine.write(TRAMPOLINE, built.raw)
    machine.write(ENTRY, found.jump_to(at))
    for index, (slot, target) in enumerate(zip(slots, (built.onward, built.matching))):
        code = Code()
        trampoline.count(code, machine.words.address(STOPS + index))
        code.jump("", target)
        machine.write(slot - machine.address, code.assemble(slot))
    call = ctypes.CFUNCTYPE(ctypes.c_uint32, *[ctypes.c_uint64] * len(NAMES))(entry)
    assert [call(*arguments(first)) for first in (3, 4, 3)] == [result, 4, result]
    assert [machine.words[STOPS + index] for index in range(2)] == [1, 2]
    has_failed = isinstance(effect, Replace) and bool(effect.written)
    assert machine.words[DONE] == (0 if has_failed else 2)


def test_a_delay_is_slept_whole_whatever_signals_come() -> None:
    machine = Machine()
    call = made(machine, [fault(machine, "a == 3", Delay(200_000_000))])
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    try:
        began = time.monotonic()
        assert call(*arguments(3, 0, 2)) == 11
        taken = time.monotonic() - began
        assert call(*arguments(4)) == 4
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    assert taken > 0.2 and machine.words[DONE] == 1


@pytest.mark.parametrize("effect", [Delay(1), Replace(), Replace((Written(OUT, 0, b"\x08"),)), Replace((), 0)])
def test_registers_are_what_they_were(effect: effects.Effect) -> None:
    """All of them, for compilers know what a function of their own leaves alone (gcc's -fipa-ra)."""
    machine, code = Machine(), Code()
    code.emit(b"\x55\x48\x89\xe5")
    code.emit(b"\x31\xc0" if effect != Delay(1) and isinstance(effect, Replace) else b"\x90")
    code.emit(b"\x90\x90\x5d\xc3")
    raw = bytes(code.bytes)
    entry = machine.write(ENTRY, raw)
    found = detour.plan(entry, raw, entry + 4)
    faults = Faults([fault(machine, "a != 0", effect)], 3)
    built = trampoline.build(found, [], machine.address + TRAMPOLINE, faults=faults)
    machine.write(TRAMPOLINE, built.raw)
    machine.write(ENTRY, found.jump_to(built.address))
    there = ctypes.c_uint64(0)
    stack = struct.pack("<3Q", 1, 2, 3)
    machine.call(entry, {"rax": 0, "rsi": ctypes.addressof(there)}, stack)
    assert machine.words[DONE] == 1
