"""Which entries can become a jump for the recorder: whoever comes to their first bytes another way must find them."""

from __future__ import annotations

import pytest

from gdbcuda.machine import entry_detour
from gdbcuda.machine.detour import NoDetour
from gdbcuda.machine.x86.x86_write import Code

FUNCTION = 0x7F0000001000
PROLOGUE = "55 4889e5 53"  # push %rbp; mov %rsp, %rbp; push %rbx: five bytes
MOVE = "4889f2 488b07"  # mov %rsi, %rdx; a second entry behind it


def plan(code: str) -> int:
    """How many bytes are moved."""
    return entry_detour.plan(FUNCTION, bytes.fromhex(code.replace(" ", "")), ()).resume - FUNCTION


@pytest.mark.parametrize(
    ("code", "moved"),
    [
        (f"{PROLOGUE} 5b c9 c3", 5),
        (f"{MOVE} c3", 6),
        (f"{PROLOGUE} e8 f6ffffff 5b c9 c3", 5),  # calls itself
        (f"{PROLOGUE} ebfe 5b c9 c3", 5),  # a loop behind them
        (f"{PROLOGUE} b8 ebf80000 5b c9 c3 06", 5),  # a number that could be a jump, and data behind the function's end
        (f"{PROLOGUE} eb01 06 488d85 f2ffffff 5b c9 c3", 5),  # data, and a local variable at a distance like a branch's
    ],
)
def test_an_entry_that_can_jump(code: str, moved: int) -> None:
    assert plan(code) == moved


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (f"{MOVE} e8 f8ffffff c3", r"jumps back into its first bytes \(\+3\)"),  # calls its second entry
        (f"{MOVE} e9 f8ffffff", r"jumps back into its first bytes \(\+3\)"),
        (f"{PROLOGUE} ebf9 c3", r"jumps back into its first bytes \(\+0\)"),
        (f"{PROLOGUE} 75fa c3", r"jumps back into its first bytes \(\+1\)"),
        (f"{PROLOGUE} 0f84 f6ffffff c3", r"jumps back into its first bytes \(\+1\)"),
        (f"{PROLOGUE} ffe0", "a jump through a table or a register"),
        ("31c0 c3", "no room for a jump"),
        ("5b c3 90 90 90 90", "no room for a jump"),
    ],
)
def test_an_entry_that_cannot(code: str, why: str) -> None:
    with pytest.raises(NoDetour, match=why):
        plan(code)


@pytest.mark.parametrize(
    "code", [f"{PROLOGUE} c3", f"{MOVE} c3", "488d0500100000 c3", "0f8400010000 c3", "4889f2 90 c3"]
)
def test_what_is_copied_is_what_would_be_written(code: str) -> None:
    """Most entries are copied as they are; all others are written anew."""
    found = entry_detour.plan(FUNCTION, bytes.fromhex(code.replace(" ", "")))
    written, address = Code(), FUNCTION + 0x100000
    found.pass_by(written)
    made = entry_detour.onward(found, (), 0, address)
    assert made.raw == written.assemble(address) and made.onward == address and made.hit == address + len(made.raw)
