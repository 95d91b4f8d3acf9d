"""Where an overwritten entry leads: each form of a jump, through islands, and what is none."""

from __future__ import annotations

import struct

import pytest

from gdbcuda.errors import Unreadable
from gdbcuda.machine import entry_jump
from gdbcuda.memory import DictMemory

ENTRY, THERE = 0x7F0000001000, 0x7F1234567890
NEAR = ENTRY + 0x5000
RAW = struct.pack("<Q", THERE)
FORMS = {
    "near": b"\xe9" + struct.pack("<i", NEAR - ENTRY - 5),
    "through": b"\xff\x25" + struct.pack("<i", 0) + RAW,
    "rax": b"\x48\xb8" + RAW + b"\xff\xe0",
    "rax, pushed": b"\x48\xb8" + RAW + b"\x50\xc3",
    "r10": b"\x49\xba" + RAW + b"\x41\xff\xe2",
    "r11": b"\x49\xbb" + RAW + b"\x41\xff\xe3",
    "pushed": b"\x68" + RAW[:4] + b"\xc7\x44\x24\x04" + RAW[4:] + b"\xc3",
}


PLAIN = b"\x55".ljust(64, b"\x90")


def memory(code: bytes) -> DictMemory:
    return DictMemory({ENTRY: code.ljust(64, b"\x90"), NEAR: PLAIN, THERE: PLAIN})


@pytest.mark.parametrize("form", FORMS)
def test_each_form(form: str) -> None:
    expected = NEAR if form == "near" else THERE
    assert entry_jump.target(memory(FORMS[form]).read, ENTRY) == expected


def test_behind_endbr64() -> None:
    code = b"\xf3\x0f\x1e\xfa\xe9" + struct.pack("<i", NEAR - ENTRY - 9)
    assert entry_jump.target(memory(code).read, ENTRY) == NEAR


def test_through_an_island() -> None:
    island = DictMemory({ENTRY: FORMS["near"].ljust(64, b"\x90"), NEAR: FORMS["r11"].ljust(64, b"\x90"), THERE: PLAIN})
    assert entry_jump.target(island.read, ENTRY) == THERE


def test_a_jump_in_a_circle_ends() -> None:
    assert entry_jump.target(DictMemory({ENTRY: b"\xe9" + struct.pack("<i", -5) + bytes(64)}).read, ENTRY) is None


CALLS = [b"\xe8\0\0\0\0", b"\xff\x15\0\0\0\0"]


@pytest.mark.parametrize("code", [b"\x55\x48\x89\xe5", b"\xeb\x10", *CALLS, b"\x48\xb8" + RAW])
def test_what_is_no_jump_of_a_hook(code: bytes) -> None:
    assert entry_jump.target(memory(code).read, ENTRY) is None


def test_what_cannot_be_read_is_the_callers() -> None:
    with pytest.raises(Unreadable):
        entry_jump.target(memory(b"").read, ENTRY + 0x100000)


@pytest.mark.parametrize("form", ["rax", "rax, pushed", "r11", "pushed"])
def test_a_form_is_one_with_its_last_byte(form: str) -> None:
    assert entry_jump.target(memory(FORMS[form][:-1] + b"\x90").read, ENTRY) is None


@pytest.mark.parametrize("form", FORMS)
def test_what_many_entries_are_asked_first_says_yes_to_each_form(form: str) -> None:
    for code in (FORMS[form], b"\xf3\x0f\x1e\xfa" + FORMS[form], b"\xcc" + FORMS[form][1:]):
        assert entry_jump.may_be(PLAIN + code, len(PLAIN)), "also where a breakpoint hides it"
    assert not entry_jump.may_be(PLAIN, 0) and not entry_jump.may_be(b"\xeb\x10", 0)
    assert not entry_jump.may_be(CALLS[0], 0) and not entry_jump.may_be(b"\xf3\x0f\x1e\xfa\x55", 0)
