"""Detours planned over the bytes of real prologues, and run for real."""

from __future__ import annotations

import ctypes
import platform
import struct

import condition_cases
import pytest
from machine import SIZE, Machine

from gdbcuda import abi, condition, detour, islands, trampoline
from gdbcuda.condition import to_x86
from gdbcuda.islands import Surroundings
from gdbcuda.x86_decode import instructions

AT = 0x7F0000001000
NOP_HOOK = "0f1f440000 55 4889e5 4883ec30 48897dd8 488975d0 e8f6210000 89c1 c9 c3"  # ours, -O0
PLAIN_HOOK = "55 4889e5 4883ec30 48897dd8 488975d0 e8f6210000 89c1 c9 c3"  # gcc -O0
ENDBR_HOOK = "f30f1efa" + PLAIN_HOOK
VENDOR = "55 4889e5 4157 4156 4155 4154 53 4883ec28 c9 c3"  # no debug info: gdb breaks behind push and mov
OPTIMISED = "4154 55 53 4989fc 4889f5 e800000000 5b 5d 415c c3"
FILLED = bytes.fromhex("c3 662e0f1f840000000000 0f1f4000".replace(" ", ""))


def code(text: str) -> bytes:
    return bytes.fromhex(text.replace(" ", ""))


@pytest.mark.parametrize(
    ("text", "stop", "patch", "moved", "pushed"),
    [(NOP_HOOK, 21, 0, 1, 0), (PLAIN_HOOK, 16, 4, 2, 8), (ENDBR_HOOK, 20, 8, 2, 8), (OPTIMISED, 10, 0, 4, 0)],
)
def test_what_moves(text: str, stop: int, patch: int, moved: int, pushed: int) -> None:
    found = detour.plan(AT, code(text), AT + stop)
    assert (found.patch - AT, len(found.moved), found.pushed) == (patch, moved, pushed)
    assert found.resume <= AT + stop
    ((at, raw),) = found.writes(AT + 0x10000)
    assert at == found.patch and raw[0] == 0xE9 and len(raw) == len(found.original)
    assert found.restores() == [(at, code(text)[patch : patch + len(raw)])]


def test_two_bytes_are_enough_with_room_in_front() -> None:
    found = detour.plan(AT, code(VENDOR), AT + 4, Surroundings(FILLED))
    writes = found.writes(AT + 0x10000)
    assert writes[0][0] == AT - 5 and writes[0][1][0] == 0xE9
    assert writes[1] == (AT, b"\xeb\xf9" + code(VENDOR)[2:4])
    assert found.restores() == [(AT, code(VENDOR)[:4]), (AT - 5, FILLED[-5:])]
    assert list(found.changed) == [AT + 1, AT + 2, AT + 3]


@pytest.mark.parametrize(
    ("text", "after", "island"),
    [
        ("55 4889e5 4157 7407 c3 662e0f1f840000000000 c9 c3", "", 9),  # between two blocks
        ("55 4889e5 4157 c3", "0f1f00 6690 90", 7),  # behind the function
        ("55 4889e5 4157 eb05 6690 0f1f00 c9 c3", "", 8),
        ("55 4889e5 4157 7400 0f1f4000 90 c9 c3", "", None),  # nops that are executed
        ("55 4889e5 4157 7401 c3 0f1f4000 90 c9 c3", "", None),  # that are jumped to
        ("55 4889e5 4157 c3", "0f1f00 90", None),  # too few
        ("55 4889e5" + "90" * 130 + "c3", "9090909090", None),  # too far
    ],
)
def test_room_elsewhere(text: str, after: str, island: int | None) -> None:
    try:
        found = detour.plan(AT, code(text), AT + 4, Surroundings(after=code(after)))
    except detour.Refused:
        assert island is None
        return
    if island is None:  # then over gdb's breakpoint
        assert found.covers_stop and found.island is None
        return
    assert not found.covers_stop and found.island is not None and found.island[0] - AT == island
    assert found.writes(AT + 0x1000)[1][1][:2] == bytes([0xEB, island - 2])


def test_room_in_the_function_in_front() -> None:
    """As in the vendor's driver: entry functions of one shape, one byte of filling between them."""
    neighbour = (AT - 0x20, code("55 4889e5 750a c3 660f1f840000000000 4489e0 c9 c3" + "90" * 12))
    found = detour.plan(AT, code(VENDOR), AT + 4, Surroundings(b"\xc3\x90", neighbour=neighbour))
    assert found.island == (AT - 0x20 + 7, bytes.fromhex("660f1f8400"))
    again = Surroundings(neighbour=neighbour, taken=frozenset([AT - 0x20 + 7]))
    far = detour.plan(AT, code(VENDOR), AT + 4, Surroundings(neighbour=(AT - 0x1000, neighbour[1])))
    assert far.covers_stop and (far.patch - AT, len(far.original), far.pushed) == (4, 6, 8)
    assert detour.plan(AT, code(VENDOR), AT + 4, again).island == (AT - 0x20 + 21, b"\x90" * 5)


@pytest.mark.parametrize(
    ("text", "stop", "before", "reason"),
    [
        (OPTIMISED, 6, FILLED[:-1], "there is no room for a jump"),  # a nop cut short is no nop
        ("31c0 c3", 0, b"", "there is no room for a jump"),
        ("e800000000 c3", 0, FILLED, "a call is among the function's first instructions"),
        ("4883e4f0 4883ec30 c9 c3", 0, b"", "do more to the stack than push"),
        ("e310 909090" + "90" * 16 + "c3", 0, b"", "a branch is among the function's first instructions"),
        ("ff2500000000 c3", 0, b"", "a jump is among the function's first instructions"),
        ("55 4889e5 e800000000 c9 c3", 12, b"", "a call is among the function's first instructions"),
        ("55 4889e5 7400 9090 9090 9090 c9 c3", 10, b"", "a branch at 0x7f0000001004 leads into the first bytes"),
        ("55 4889e5 4883ec30 4889c7 ebf8 c9 c3", 14, b"", "a jump at 0x7f000000100b leads into the first bytes"),
        ("55 4889e5 06 9090 9090 c3", 9, b"", "not every instruction of the function is understood"),
        ("55 4889e5 4883", 4, b"", "not every instruction of the function is understood"),
    ],
)
def test_refused(text: str, stop: int, before: bytes, reason: str) -> None:
    with pytest.raises(detour.Refused) as caught:
        detour.plan(AT, code(text), AT + stop, Surroundings(before))
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("text", "before", "size", "depths"),
    [
        (OPTIMISED, "", 7, {0: 0, 2: 8, 3: 16, 4: 24, 7: 24}),
        ("f30f1efa 4883ec18 31c0 c3", "", 8, {0: 0, 4: 0, 8: 24}),
        ("4885ff 740b e990909090" + "90" * 6 + "31c0 c3", "", 5, {0: 0, 3: 0, 5: 0, 16: 0}),
        ("53 4889fb e800000000 5b c3", "c3" + "90" * 8, 4, {0: 0, 1: 8, 4: 8}),  # two bytes and an island
        ("e9fb0f0000", "", 5, {0: 0, 0x1000: 0}),
    ],
)
def test_over_the_breakpoint(text: str, before: str, size: int, depths: dict[int, int]) -> None:
    """Optimised code: gdb breaks at the first instruction."""
    found = detour.plan(AT, code(text), AT, Surroundings(code(before)))
    assert found.covers_stop and found.patch == AT and len(found.original) == size
    assert {at - AT: depth for at, depth in found.depths().items()} == depths
    assert sorted(found.exits()) == [AT + at for at in depths if at >= size]


@pytest.mark.parametrize(
    ("text", "pushed"),
    [
        ("50", 8), ("4154", 8), ("6a05", 8), ("5d", -8), ("415c", -8), ("5c", None), ("4883ec18", 24),
        ("4881ec00010000", 256), ("4883c408", -8), ("4883e4f0", None), ("488d642408", None), ("4889e5", 0),
        ("488be5", None), ("4889ec", None), ("c9", None), ("4885ff", 0), ("4d8be0", 0), ("660f6fc4", 0),
        ("ff7508", None),
    ],
)  # fmt: skip
def test_what_an_instruction_does_to_the_stack(text: str, pushed: int | None) -> None:
    assert detour.pushed_by(next(i for _, i in instructions(code(text)))) == pushed


def test_a_jump_back_to_the_entry_is_fine() -> None:
    assert detour.plan(AT, code("55 4889e5 4883ec30 4889c7 ebf7 c9 c3"), AT + 11).patch == AT + 4


def test_padding() -> None:
    assert islands.padding_size(FILLED) == 14
    assert islands.padding_size(code("c3 6666662e0f1f840000000000")) == 12
    assert islands.padding_size(b"\xc3\x90\x90\xcc") == 3
    assert islands.padding_size(b"") == 0


def test_merged_ranges() -> None:
    assert trampoline.merged([(5, 6), (1, 2), (3, 4)], [(20, 30)]) == [(1, 6)]
    assert trampoline.merged([(1, 2), (5, 6)], [(3, 4)]) == [(1, 2), (5, 6)]


# A function of two arguments: a + b * 256 + a word next to it, read relative to the instruction pointer.
RUN = {
    "frame": "55 4889e5 488b05{word} 4801f8 48c1e608 4801f0 5d c3",
    "nop": "0f1f440000 55 4889e5 488b05{word} 4801f8 48c1e608 4801f0 5d c3",
    "endbr": "f30f1efa 55 4889e5 488b05{word} 4801f8 48c1e608 4801f0 5d c3",
    "no frame": "488b05{word} 4801f8 48c1e608 4801f0 c3",
    "branch": "4885ff 7400 488b05{word} 4801f8 48c1e608 4801f0 c3",
    "long branch": "4885ff 0f8401000000 90 488b05{word} 4801f8 48c1e608 4801f0 c3",
    "short": "55 4889e5 4801f8 31c0 4801f8 48c1e608 4801f0 480305{word} 5d c3",
}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="runs x86-64 machine code")
@pytest.mark.parametrize("kind", RUN)
@pytest.mark.parametrize("counted", [False, True])
def test_runs_as_before(kind: str, counted: bool) -> None:
    machine = Machine()
    base, hits, calls, far = 0x1000, SIZE - 16, SIZE - 32, 0x4000
    machine.write(base - len(FILLED), FILLED)
    raw = code(RUN[kind].format(word="00000000"))
    at, size = next((a, len(i.raw)) for a, i in instructions(raw) if i.relative and not i.kind)
    raw = raw[: at + 3] + struct.pack("<i", 0x800 - at - size) + raw[at + 7 :]
    entry = machine.write(base, raw)
    machine.write(base + 0x800, struct.pack("<Q", 1 << 20))
    stop = base + {"short": 4, "branch": 0, "long branch": 0}.get(kind, len(raw) - 2)
    found = detour.plan(entry, raw, machine.address + stop, Surroundings(FILLED))
    assert (found.island is not None) == (kind == "short")
    tests = [guard(machine, "z > 3", hits), guard(machine, "z == 1", hits)]
    made = trampoline.build(found, tests, machine.address + far, machine.address + calls if counted else None)
    machine.write(far, made.raw)
    for where, bytes_ in found.writes(machine.address + far):
        machine.write(where - machine.address, bytes_)
    function = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64)(entry)
    assert [function(a, 5) for a in range(8)] == [a + 5 * 256 + (1 << 20) for a in range(8)]
    assert struct.unpack("<Q", machine.memory[hits : hits + 8]) == (5,)
    assert struct.unpack("<Q", machine.memory[calls : calls + 8]) == (8 * counted,)
    for where, bytes_ in found.restores():
        machine.write(where - machine.address, bytes_)
    assert machine.memory[base : base + len(raw)] == raw
    assert machine.memory[base - len(FILLED) : base] == FILLED


def guard(machine: Machine, text: str, hits: int) -> trampoline.Test:
    """A test on the first argument that counts where it holds."""
    function = condition_cases.function("size_t z")
    tree = condition.parse(text, condition_cases.TABLE, [function]).trees["made"]

    def test(code, true, false, pushed):
        to_x86.branch(code, tree, abi.locate(function), true, false, pushed)

    def counting(code, true, false, pushed):
        trampoline.count(code, machine.address + hits)
        code.jump("", true)

    return trampoline.all_of([test, counting])


@pytest.mark.skipif(platform.machine() != "x86_64", reason="runs x86-64 machine code")
@pytest.mark.parametrize("pushed", [0, 8])
def test_who_calls(pushed: int) -> None:
    machine = Machine()
    for wanted in (True, False):
        for ranges in ([(0, 1)], [(0, 1), (machine.address, machine.address + SIZE)]):
            inside = len(ranges) == 2
            entry = machine.write(0, caller_test(ranges, wanted, pushed))
            assert machine.call(entry, {})[0] is (inside == wanted)


def caller_test(ranges: list[trampoline.Range], wanted: bool, pushed: int) -> bytes:
    made = trampoline.Code()
    made.emit(b"\x55" if pushed else b"")
    trampoline.returns_into(ranges, wanted)(made, "true", "false", pushed)
    for label, carry in (("true", b"\xf9"), ("false", b"\xf8")):
        made.label(label)
        made.emit((b"\x5d" if pushed else b"") + carry + b"\xc3")
    return made.assemble(0)
