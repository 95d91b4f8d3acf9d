"""x86-64 instructions, as gcc and clang write them (Intel SDM, volume 2)."""

from __future__ import annotations

import re
from collections.abc import Iterator

_BRANCH = re.compile(rb"(?=([\xe8\xe9]|\xff[\x15\x25])(.{4}))", re.DOTALL)
_STUB = re.compile(rb"(?:\xf3\x0f\x1e\xfa)?\xf2?\xff\x25(.{4})", re.DOTALL)
# mov $-1,%eax; or $-1,%eax
_MINUS_ONE = re.compile(rb"\xb8\xff{4}|\x83\xc8\xff")
# mov $-1,%rdi; or $-1,%rdi
_FIRST_MINUS_ONE = re.compile(rb"\x48\xc7\xc7\xff{4}|\x48\x83\xcf\xff")
# test %r,%r; cmpq $0,disp(%rbp or %rip)
_NULL_TEST = re.compile(
    rb"\x48\x85[\xc0\xc9\xd2\xdb\xf6\xff]|\x4d\x85[\xc0\xc9\xd2\xdb\xe4\xed\xf6\xff]"
    rb"|\x48\x83(?:\x7d.|[\xbd\x3d].{4})\0",
    re.DOTALL,
)
# what may stand between the result and the return: the stack protector's test, saved registers, the frame
_EPILOGUE = re.compile(
    rb"(?:\x48\x8b[\x4d\x55]\xf8\x64\x48[\x2b\x33][\x0c\x14]\x25\x28\0\0\0\x74\x05\xe8.{4})?"
    rb"(?:\x48\x8b\x5d.)?(?:\x48\x83\xc4.|\x48\x81\xc4.{4})?(?:\x41?[\x58-\x5f])*\xc9?\xf3?\xc3",
    re.DOTALL,
)
# mov ARGUMENT,disp(%rbp): [prefix] 89 modrm disp8 or disp32
_STORE = re.compile(rb"([\x44\x48\x4c]?)\x89(?:([\x45\x4d\x55\x75\x7d])(.)|([\x85\x8d\x95\xb5\xbd])(.{4}))", re.DOTALL)
_ARGUMENTS = {(0, 7): 0, (0, 6): 1, (0, 2): 2, (0, 1): 3, (1, 0): 4, (1, 1): 5}  # (REX.R, register): number
_PROLOGUE = 160  # bytes in which arguments are put on the stack


def calls(code: bytes, at: int) -> Iterator[tuple[int, bool]]:
    """call/jmp rel32 (e8, e9) and call/jmp *disp32(%rip) (ff 15, ff 25)."""
    for found in _BRANCH.finditer(code):
        opcode, operand = found.groups()
        yield at + found.start() + len(opcode) + 4 + _signed(operand), opcode[0] == 0xFF


def stub_slot(code: bytes, at: int) -> int | None:
    """[endbr64] [bnd] jmp *disp32(%rip)"""
    found = _STUB.match(code)
    return at + found.end() + _signed(found[1]) if found else None


def minus_one_returned(code: bytes) -> int | None:
    for found in _MINUS_ONE.finditer(code):
        if _EPILOGUE.match(code, _after_jump(code, found.end())):
            return found.start()
    return None


def _after_jump(code: bytes, at: int) -> int:
    """Where an unconditional jump at ``at`` leads, else ``at``."""
    if code[at : at + 1] == b"\xeb":
        return max(0, at + 2 + _signed(code[at + 1 : at + 2]))
    if code[at : at + 1] == b"\xe9":
        return max(0, at + 5 + _signed(code[at + 1 : at + 5]))
    return at


def passes_minus_one(code: bytes) -> bool:
    return _FIRST_MINUS_ONE.search(code) is not None


def compares_with_null(code: bytes) -> bool:
    return _NULL_TEST.search(code) is not None


_NEAR_FRAME = frozenset(b"\x45\x4d\x55\x5d\x65\x6d\x75\x7d")  # modrm: disp8(%rbp) with any register
_FAR_FRAME = frozenset(b"\x85\x8d\x95\x9d\xa5\xad\xb5\xbd")  # disp32(%rbp)


def unused_arguments(code: bytes) -> set[int]:
    """An argument whose place in the frame no instruction but the storing one names (as disp(%rbp))."""
    if b"\x55\x48\x89\xe5" not in code[:32]:  # push %rbp; mov %rsp,%rbp
        return set()
    return {number for number, place, end in _stored(code) if not _is_named(code, place, end)}


def _stored(code: bytes) -> Iterator[tuple[int, bytes, int]]:
    """(argument, displacement, end of the instruction) of what the prologue puts on the stack."""
    seen = set()
    for found in _STORE.finditer(code, 0, _PROLOGUE):
        prefix, short, near, wide, far = found.groups()
        extended = int(prefix in (b"\x44", b"\x4c"))
        number = _ARGUMENTS.get((extended, (short or wide)[0] >> 3 & 7))
        if number is not None and number not in seen:
            seen.add(number)
            yield number, near or far, found.end()


def _is_named(code: bytes, place: bytes, start: int) -> bool:
    modrm = _NEAR_FRAME if len(place) == 1 else _FAR_FRAME
    at = code.find(place, start + 1)
    while at >= 0 and code[at - 1] not in modrm:
        at = code.find(place, at + 1)
    return at >= 0


def _signed(operand: bytes) -> int:
    return int.from_bytes(operand, "little", signed=True)
