"""Where a function goes on whose entry was overwritten, and what its first instructions have done by then."""

from __future__ import annotations

import pytest

from gdbcuda.machine import behind_jump, entry_jump
from gdbcuda.machine.behind_jump import Behind

FRAME = bytes.fromhex("55 4889e5 4883ec50 48897db8 488975b0 488d059b0f0400 0fb600")  # push, mov, sub, two stores, lea
SAVED = bytes.fromhex("4157 4156 4155 4154 55 53 4883ec18 4989f4 488b2d00000000")  # six pushes, sub, mov %rsi, %r12
GUARDED = bytes.fromhex("f30f1efa 4883ec18 64488b042528000000 4889442408 31c0 0f1f440000")
THROUGH = b"\xff\x25\0\0\0\0" + bytes(range(1, 7)) + b"\0\0"
NEAR = b"\xe9\1\2\3\4"
RAX = b"\x48\xb8" + bytes(range(1, 9)) + b"\xff\xe0"


def over(own: bytes, patch: bytes) -> tuple[bytes, bytes]:
    own = own.ljust(behind_jump.NEEDED, b"\x90")
    return own, patch + own[len(patch) :]


@pytest.mark.parametrize(("own", "patch", "expected"), [
    (FRAME, NEAR, Behind(8, 0x58)), (FRAME, THROUGH, Behind(16, 0x58)), (FRAME, RAX, Behind(12, 0x58)),
    (SAVED, NEAR, Behind(6, 24)), (SAVED, THROUGH, Behind(14, 0x48)), (GUARDED, NEAR, Behind(8, 0x18)),
    (GUARDED, GUARDED[:4] + NEAR, Behind(17, 0x18)), (FRAME, NEAR + b"\xcc" * 3, Behind(8, 0x58)),
    (FRAME, NEAR + b"\xcc" * 4, Behind(12, 0x58)),
])  # fmt: skip
def test_the_first_instruction_behind_the_jump(own: bytes, patch: bytes, expected: Behind) -> None:
    assert behind_jump.place(*over(own, patch)) == expected


@pytest.mark.parametrize("first", [
    "4889f7",  # mov %rsi, %rdi
    "31d2", "ba01000000", "5a", "41b801000000", "488b0f", "f7e1", "99", "8a16",  # other arguments
    "e800000000", "7400", "eb00", "c3", "06",  # calls, jumps, what is no instruction
    "4883e4c0",  # and $-64, %rsp: nobody knows by how much
])  # fmt: skip
def test_where_nobody_can_look(first: str) -> None:
    assert behind_jump.place(*over(bytes.fromhex(first), NEAR)) is None


def test_a_pointer_whose_last_bytes_are_those_of_the_function_is_all_of_the_jump() -> None:
    own = (b"\x90" * 12 + b"\0\0" + b"\x90" * 4).ljust(behind_jump.NEEDED, b"\x90")
    assert entry_jump.size(THROUGH) == 14
    assert behind_jump.overwritten(own, THROUGH + own[14:]) == 14


@pytest.mark.parametrize(("code", "size"), [
    (NEAR, 5), (RAX, 12), (b"\xf3\x0f\x1e\xfa" + NEAR, 9), (b"\xff\x25\2\0\0\0", 16), (b"\xff\x25\0\0\1\0", 6),
    (b"\x55\x48\x89\xe5", 0),
])  # fmt: skip
def test_how_much_of_the_function_a_jump_takes(code: bytes, size: int) -> None:
    assert entry_jump.size(code.ljust(entry_jump.SIZE, b"\x90")) == size
