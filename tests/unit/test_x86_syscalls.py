"""Which system calls of a function may be prctl or seccomp."""

from __future__ import annotations

import pytest

from gdbcuda.machine.x86 import x86_syscalls
from gdbcuda.machine.x86.x86_syscalls import (
    CLONING,
    CONFINING,
    ENDING,
    NO_CALL,
    behind_number,
    is_marked,
    is_wanted,
    number_at,
)  # fmt: skip


def raw(text: str) -> bytes:
    return bytes.fromhex(text.replace(" ", ""))


@pytest.mark.parametrize(
    ("before", "may"),
    [
        ("b83d010000", True),
        ("48c7c09d000000", True),
        ("b83d010000 bf01000000 31f6 4889e2", True),
        ("b8ca000000", False),  # futex, as libgomp makes it
        ("b8ca000000 4889e2 31f6", False),
        ("31c0", False),  # read
        ("488b45e8", True),  # from a variable: anything
        ("b8ca000000 89f8", True),
        ("b8ca000000 e800000000", True),
        ("", True),
        ("41b8ca000000 4489c0", False),  # the same futex, kept in r8d for the calls that follow
        ("bdca000000 89e8 be01000000", False),
        ("bbca000000 e800000000 89d8", False),
        ("41b8ca000000 e800000000 4489c0", True),  # r8 is lost in a call
        ("41b8ca000000 eb07 e800000000 ebf2 4489c0", False),  # behind a part that jumps back
        ("41b83d010000 4489c0", True),
        ("41b8ca000000 4589c8 4489c0", True),
        ("bdca000000 89e8 0f05 5d c3 89e8", False),  # behind a return in the middle
        ("4489c0", True),  # what the caller wants
    ],
)
def test_by_the_number(before: str, may: bool) -> None:
    code = raw("55 4889e5" + before)
    assert (number_at(code + raw("0f05 c3"), len(code)) in (None, *CONFINING.numbers)) == may


@pytest.mark.parametrize(
    ("before", "behind", "number"),
    [
        ("85ff 7407 b83d010000 eb05 b86e000000", "c3", None),  # as gcc -Os merges two calls
        ("b86e000000 4889d6", "c3 b83d010000 ebf6", None),  # jumps back: -O2
        ("b86e000000 4889d6", "c3 b83d010000 ebf3", None),  # in front of the last instruction
        ("85ff 7407 b83d010000 eb05 b86e000000 7403 4889d6", "c3", None),
        ("b86e000000 85d2 7403 4889d6", "c3", 110),  # whoever jumps has loaded it too
        ("b86e000000 4889d6", "75f4 c3", 110),  # a loop loads it each time
        ("b86e000000 4889d6", "c3 06", 110),
        ("b86e000000 ba3d010000 85ff 0f45c2", "c3", None),  # cmovne %edx,%eax: one of two
    ],
)
def test_a_number_that_is_jumped_past(before: str, behind: str, number: int | None) -> None:
    code = raw(before)
    assert number_at(code + raw("0f05" + behind), len(code)) == number


def test_a_number_that_the_cold_part_jumps_past() -> None:
    code = raw("b86e000000 4889d6 0f05 c3")
    assert [number_at(code, 8, [reached]) for reached in (0, 5, 8, 10)] == [110, None, None, 110]


def test_bytes_that_are_no_instruction() -> None:
    code = raw("b80f050000 c3")
    assert list(x86_syscalls.offsets(code)) == [1] and number_at(code, 1) == NO_CALL
    assert is_marked(CONFINING, raw("b83d010000 4889e2 0f05"), 8) and not is_marked(CONFINING, code, 1)


def test_where_the_number_is_loaded_begins_an_instruction() -> None:
    code = raw("ff 48c7c03d010000 4889e2 0f05 c3")
    assert behind_number(CONFINING, code, 11)
    in_a_number = raw("b83d010000 b9 0f050000 c3")
    assert is_marked(CONFINING, in_a_number, 6) and not behind_number(CONFINING, in_a_number, 6)
    assert not behind_number(CONFINING, raw("b83d010000 06 0f05"), 6)


@pytest.mark.parametrize(
    ("before", "may"),
    [("b838000000 be00100000", True), ("b8b3010000", True), ("48c7c03a000000", True), ("b83d010000", False),
     ("", True)],
)
def test_who_makes_children(before: str, may: bool) -> None:
    code = raw("55 4889e5" + before)
    assert (number_at(code + raw("0f05"), len(code)) in (None, *CLONING.numbers)) == may
    is_told_by_number = may and before != ""
    assert bool(behind_number(CLONING, code + raw("0f05"), len(code))) == is_told_by_number


@pytest.mark.parametrize(
    ("in_front", "of_function", "is_sure"),
    [
        ("b83c000000 0f05 ebf2 cc", 131, None),  # exit's number is loaded in the function before, as in Go
        ("b83c000000 0f05 ebf2 cc 48c7c083000000", NO_CALL, None),  # without symbols: the last number counts
        ("b83c000000 eb05 b86e000000", NO_CALL, True),  # of two calls that share it
        ("b83c000000 4889df", NO_CALL, True),
        ("b83c000000 06", NO_CALL, False),
        ("4889df", None, True),
        ("4889df", NO_CALL, None),
        ("", 60, True),
    ],
)
def test_of_which_number_a_call_is(in_front: str, of_function: int | None, is_sure: bool | None) -> None:
    assert is_wanted(ENDING, raw(in_front + "0f05"), of_function) is is_sure
