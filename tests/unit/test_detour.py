"""Detours planned over the bytes of real prologues, and run for real."""

from __future__ import annotations

import ctypes
import platform
import struct
from collections.abc import Iterable

import condition_cases
import pytest
from machine import SIZE, Machine

from gdbcuda import condition
from gdbcuda.condition.machine_code import translate
from gdbcuda.elf.code.x86_read import instructions
from gdbcuda.machine import abi, detour, trampoline, unexecuted
from gdbcuda.machine.unexecuted import NearbyBytes
from gdbcuda.machine.x86.x86_write import jump

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
    ("text", "stop", "moved", "boundaries", "leaving"),
    [
        (NOP_HOOK, 21, 7, [], [6]),  # gdb breaks at the call
        (PLAIN_HOOK, 16, 6, [1, 4], [12]),
        ("55 53 4883ec08 4889fd e800000000 4883c408 5b 5d ffe0", 6, 4, [1, 2], [6]),  # a tail call
        (ENDBR_HOOK, 20, 7, [4], [8]),
        (OPTIMISED, 10, 6, [2, 3, 4], [10]),
    ],
)
def test_what_moves(text: str, stop: int, moved: int, boundaries: list[int], leaving: list[int]) -> None:
    """All up to gdb's breakpoint, and what gdb steps a thread through that is taken the function's own way."""
    found = detour.plan(AT, code(text), AT + stop)
    assert (found.replaced, len(found.moved), found.stops_inside) == (range(AT, AT + 5), moved, False)
    assert [at - AT for at in found.boundaries] == boundaries and [at - AT for at in found.leaving] == leaving
    assert found.resume > AT + stop and not found.hidden and found.original == code(text)[:5]
    assert found.jump_to(AT + 0x10000) == b"\xe9\xfb\xff\x00\x00"


def test_two_bytes_are_enough_with_room_in_front() -> None:
    """Over gdb's breakpoint is the worse way."""
    found = detour.plan(AT, code(VENDOR), AT + 4, NearbyBytes(FILLED))
    assert found.island == (AT - 5, FILLED[-5:]) and found.jump_to(AT + 0x10000) == b"\xeb\xf9"
    assert found.original == code(VENDOR)[:2] and not found.stops_inside
    assert detour.plan(AT, code(VENDOR), AT + 4).stops_inside


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
    found = detour.plan(AT, code(text), AT + 4, NearbyBytes(after=code(after)))
    if island is None:  # then over gdb's breakpoint
        assert found.stops_inside and found.island is None
        return
    assert not found.stops_inside and found.island is not None and found.island[0] - AT == island
    assert found.jump_to(AT + 0x1000) == bytes([0xEB, island - 2])


@pytest.mark.parametrize("taken", [[AT - 5], [AT - 1], range(AT - 8, AT - 3)])
def test_room_in_front_that_another_one_has_taken(taken: Iterable[int]) -> None:
    """Its neighbour's island may be behind that."""
    found = detour.plan(AT, code(VENDOR), AT + 4, NearbyBytes(FILLED, taken=frozenset(taken)))
    assert found.island is None and found.stops_inside
    assert detour.plan(AT, code(VENDOR), AT + 4, NearbyBytes(FILLED, taken=frozenset([AT - 6, AT]))).island


@pytest.mark.parametrize("branch", ["e303", "e203", "e103", "e003", "3e7403"])
def test_what_reaches_no_further_than_a_byte_says_stays(branch: str) -> None:
    """jrcxz, loop, loope, loopne; a branch with a prefix."""
    found = detour.plan(AT, code("89f1" + branch + "83e107 ffc1 c3"), AT, NearbyBytes(FILLED))
    assert [one.raw for _, one in found.moved] == [b"\x89\xf1"] and found.resume == AT + 2


def test_room_in_the_function_in_front() -> None:
    """As in the vendor's driver: entry functions of one shape, one byte of filling between them."""
    neighbour = (AT - 0x20, code("55 4889e5 750a c3 660f1f840000000000 4489e0 c9 c3" + "90" * 12))
    found = detour.plan(AT, code(VENDOR), AT + 4, NearbyBytes(b"\xc3\x90", neighbour=neighbour))
    assert found.island == (AT - 0x20 + 7, bytes.fromhex("660f1f8400"))
    again = NearbyBytes(neighbour=neighbour, taken=frozenset([AT - 0x20 + 7]))
    assert detour.plan(AT, code(VENDOR), AT + 4, again).island == (AT - 0x20 + 21, b"\x90" * 5)
    far = detour.plan(AT, code(VENDOR), AT + 4, NearbyBytes(neighbour=(AT - 0x1000, neighbour[1])))
    assert far.stops_inside and far.island is None


def test_no_room_where_a_function_without_a_symbol_may_begin() -> None:
    """In the neighbour's bytes, behind its end: at an aligned address, with nops that somebody may patch."""
    unknown = code("55 4889e5 31c0 83c001 83c002 c9 c3 90" + "90" * 8 + "31c0 c3" + "c3" * 6)
    assert unknown.index(b"\xc3\x90") == 13 and len(unknown) == 0x20
    found = detour.plan(AT, code(VENDOR), AT + 4, NearbyBytes(neighbour=(AT - 0x20, unknown)))
    assert found.stops_inside and found.island is None


def test_a_function_of_nops_leads_into_the_next_one() -> None:
    assert unexecuted.is_all_filling(code("90 6690 0f1f00")) and not unexecuted.is_all_filling(code("c3 90"))
    assert not unexecuted.is_all_filling(b"") and not unexecuted.is_all_filling(b"\x90" * 16)
    assert unexecuted.begins_with_nop(code("0f1f440000 55")) and not unexecuted.begins_with_nop(code("55 90"))


INDIRECT = "a jump through a table or a register may lead back"


@pytest.mark.parametrize(
    ("text", "stop", "before", "reason"),
    [
        ("31c0 c3", 0, b"", "there is no room for a jump"),
        ("55 31c0 c3", 0, FILLED[:-1], "there is no room for a jump"),  # a nop cut short is no nop
        ("e800000000 c3", 0, FILLED, "a call is among the function's first instructions"),
        ("e310 909090" + "90" * 16 + "c3", 0, b"", "a branch is among the function's first instructions"),
        ("55 4889e5 e800000000 c9 c3", 12, b"", "a call is among the function's first instructions"),
        ("4885ff 4883ec30 e800000000 4889c7 c9 c3", 12, b"", "a call is among the function's first instructions"),
        ("55 4889e5 4883ec30 4889c7 ebf8 c9 c3", 14, b"", "its own code jumps back into its first bytes (+5)"),
        ("55 4889e5 4883ec30 4889c7 ebf7 c9 c3", 11, b"", "its own code jumps back into its first bytes (+4)"),
        ("53 9c 4889f0 488d0440 9d 5b c3", 0, b"", "keep the flags"),
        ("9c 4889f0 488d0440 9d 58 c3", 4, b"", "keep the flags"),
        ("53 4889f0 90 90 669d 5b c3", 0, b"", "keep the flags"),  # where who was inside comes out
        ("55 4889e5 4883ec30 ffe0 c9 c3", 4, b"", INDIRECT),  # a computed goto
        ("55 4889e5 4883ec30 58 ffe0 c9 c3", 4, b"", INDIRECT),  # to where the stack says
        ("55 4889e5 4883ec30 ff24c500000000 c9 c3", 4, b"", INDIRECT),  # a table
        ("4889f8 4883ec30 ff24c500000000 c9 c3", 0, b"", INDIRECT),
        ("55 4889e5 06 9090 9090 c3", 9, b"", "not every instruction of the function is understood"),
        ("55 4889e5 4883", 4, b"", "not every instruction of the function is understood"),
    ],
)
def test_refused(text: str, stop: int, before: bytes, reason: str) -> None:
    with pytest.raises(detour.NoDetour) as caught:
        detour.plan(AT, code(text), AT + stop, NearbyBytes(before))
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("text", "before", "size", "leaving", "hidden"),
    [
        (OPTIMISED, "", 5, [7], []),
        ("f30f1efa 4883ec18 31c0 c3", "", 5, [10], []),
        ("4885ff 740b e990909090" + "90" * 6 + "31c0 c3", "c3" + "90" * 8, 2, [5], []),
        ("53 4889fb e800000000 5b c3", "c3" + "90" * 8, 2, [4], [4]),  # a call follows, which is not moved
        ("4889f8 4883ec30 ff24c500000000 c9 c3", "c3" + "90" * 8, 2, [], []),  # a table may follow one, and lead there
        ("4889f2 488b07 4801d0 e8f5ffffff c3", "c3" + "90" * 8, 2, [], []),  # it calls itself behind its first
        ("55 4889e5 90 31c0 ffc0 75fa c3", "", 5, [7], [7]),  # a loop begins in front of the second of two
        ("55 4889e5 90 31c0 ffc0 75fc c3", "", 5, [7], [7]),  # and there
        ("e9fb0f0000", "", 5, [], []),  # nobody is ever between two of its instructions
        ("ff2500000000", "", 5, [], []),
    ],
)
def test_over_the_breakpoint(text: str, before: str, size: int, leaving: list[int], hidden: list[int]) -> None:
    """Optimised code: gdb breaks at the first instruction."""
    found = detour.plan(AT, code(text), AT, NearbyBytes(code(before)))
    assert found.stops_inside and found.function == AT and len(found.original) == size
    assert [at - AT for at in found.leaving] == leaving and [at - AT for at in found.hidden] == hidden
    assert found.claimed >= {*found.replaced, *found.hidden}


def test_a_jump_back_to_the_entry_is_fine() -> None:
    assert not detour.plan(AT, code("55 4889e5 4883ec30 4889c7 ebf3 c9 c3"), AT + 8).stops_inside


def test_a_part_of_the_function_elsewhere_jumps_too() -> None:
    cold = [(AT + 0x100 + at, one) for at, one in instructions(code("e9fcfeffff"))]
    with pytest.raises(detour.NoDetour, match=r"jumps back into its first bytes \(\+1\)"):
        detour.plan(AT, code(PLAIN_HOOK), AT + 16, elsewhere=cold)


def test_a_debugger_that_steps_in_place() -> None:
    assert detour.plan(AT, code(PLAIN_HOOK), AT + 16, steps_in_place=True).leaving == (AT + 12,)
    with pytest.raises(detour.NoDetour, match="steps in place"):
        detour.plan(AT, code("53 4889fb 9090 e800000000 5b c3"), AT, steps_in_place=True)


def test_padding() -> None:
    assert unexecuted.padding_size(FILLED) == 14
    assert unexecuted.padding_size(code("c3 6666662e0f1f840000000000")) == 12
    assert unexecuted.padding_size(b"\xc3\x90\x90\xcc") == 3
    assert unexecuted.padding_size(b"") == 0


# A function of two arguments: a + b * 256 + a word next to it, read relative to the instruction pointer; gdb's place.
RUN = {
    "frame": ("55 4889e5 488b05{word} 4801f8 48c1e608 4801f0 5d c3", 4),
    "behind": ("55 4889e5 488b05{word} 4801f8 48c1e608 4801f0 5d c3", 14),
    "nop": ("0f1f440000 55 4889e5 488b05{word} 4801f8 48c1e608 4801f0 5d c3", 9),
    "endbr": ("f30f1efa 55 4889e5 488b05{word} 4801f8 48c1e608 4801f0 5d c3", 8),
    "no frame": ("488b05{word} 4801f8 48c1e608 4801f0 c3", 0),
    "branch": ("4885ff 7400 488b05{word} 4801f8 48c1e608 4801f0 c3", 0),
    "long branch": ("4885ff 0f8401000000 90 488b05{word} 4801f8 48c1e608 4801f0 c3", 0),
    "short": ("55 4889e5 4801f8 31c0 4801f8 48c1e608 4801f0 480305{word} 5d c3", 4),
    "call": ("55 4889e5 48c1e608 e813000000 4801f0 480305{word} 5d c3 909090909090 488d07 c3", 8),
}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="runs x86-64 machine code")
@pytest.mark.parametrize("kind", RUN)
@pytest.mark.parametrize("counted", [False, True])
def test_runs_as_before(kind: str, counted: bool) -> None:
    """Whether a call matches or not. Nobody changes the function at `hit` here, and so every call passes by."""
    machine = Machine()
    base, hits, calls, far = 0x1000, 0, 1, 0x4000
    machine.write(base - len(FILLED), FILLED)
    text, stop = RUN[kind]
    raw = code(text.format(word="00000000"))
    at, size = next((a, len(i.raw)) for a, i in instructions(raw) if i.relative and not i.kind)
    raw = raw[: at + 3] + struct.pack("<i", 0x800 - at - size) + raw[at + 7 :]
    entry = machine.write(base, raw)
    machine.write(base + 0x800, struct.pack("<Q", 1 << 20))
    found = detour.plan(entry, raw, entry + stop, NearbyBytes(FILLED))
    assert (found.island is not None) == (kind in ("short", "frame", "branch", "long branch"))
    tests = [guard(machine, "z > 3", hits), guard(machine, "z == 1", hits)]
    made = trampoline.build(found, tests, machine.address + far, machine.words.address(calls) if counted else None)
    machine.write(far, made.raw)
    if found.island is not None:
        machine.write(found.island[0] - machine.address, jump(found.island[0], made.address))
    machine.write(base, found.jump_to(made.address))
    function = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64)(entry)
    assert [function(a, 5) for a in range(8)] == [a + 5 * 256 + (1 << 20) for a in range(8)]
    assert (machine.words[hits], machine.words[calls]) == (5, 8 * counted)
    machine.write(base, found.original)  # as whoever looks at `hit` does
    matching = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64)(made.hit)
    assert [matching(a, 5) for a in range(8)] == [a + 5 * 256 + (1 << 20) for a in range(8)]
    machine.write(made.hit - machine.address, made.passing_on())
    assert matching(7, 5) == 7 + 5 * 256 + (1 << 20)


def guard(machine: Machine, text: str, hits: int) -> trampoline.Test:
    """A test on the first argument that counts where it holds."""
    function = condition_cases.function("size_t z")
    tree = condition.parse(text, condition_cases.TABLE, [function]).trees["made"]

    def test(code, true, false, pushed):
        translate.branch(code, tree, abi.locate(function), true, false, pushed)

    def counting(code, true, false, pushed):
        trampoline.count(code, machine.words.address(hits))
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
