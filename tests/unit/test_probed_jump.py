"""An int3 of somebody's among the bytes of our jump, as of a uprobe."""

from __future__ import annotations

import pytest

from gdbcuda.elf.code.probed_jump import is_int3_in_jump, is_one_int3, without_jump

OWN, JUMP = bytes.fromhex("f30f1efa55"), bytes.fromhex("e911cc3344")  # endbr64; push %rbp


def with_bytes(**changed: int) -> bytes:
    there = bytearray(JUMP)
    for name, byte in changed.items():
        there[int(name[1:])] = byte
    return bytes(there)


@pytest.mark.parametrize(("there", "left"), [
    (with_bytes(_0=0xCC), "cc0f1efa55"),
    (with_bytes(_4=0xCC), "f30f1efacc"),
    (with_bytes(_0=0xCC, _4=0xCC), "cc0f1efacc"),
    (with_bytes(_4=OWN[4]), "f30f1efa55"),  # it was taken away
])  # fmt: skip
def test_the_function_has_its_own_bytes_back_but_for_the_int3(there: bytes, left: str) -> None:
    assert is_int3_in_jump(there, JUMP, OWN) and without_jump(there, JUMP, OWN) == bytes.fromhex(left)


@pytest.mark.parametrize("there", [JUMP, OWN, with_bytes(_1=0x22), bytes(5), b"\xcc" * 5])
def test_nothing_else_is_taken_for_one(there: bytes) -> None:
    assert not is_int3_in_jump(there, JUMP, OWN)


def test_one_int3_in_a_function_does_no_harm() -> None:
    assert is_one_int3(OWN[:4] + b"\xcc", OWN) and is_one_int3(b"\xcc" + OWN[1:], OWN)
    assert not any(is_one_int3(one, OWN) for one in (OWN, JUMP, b"\xcc" + OWN[1:4] + b"\xcc"))
