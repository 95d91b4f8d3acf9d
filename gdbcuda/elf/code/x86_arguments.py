"""What x86-64 code does with its arguments, and which it passes on (System V ABI: rdi, rsi, rdx, rcx, r8, r9)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from gdbcuda.elf.code.x86_results import (
    MINUS_ONE,
    KeptValue,
    after_jump,
    in_frame,
    in_register,
    is_kept_to_return,
    is_returned,
    next_store,
)

# mov ARGUMENT,disp(%rbp): [prefix] 89 modrm disp8 or disp32
_STORE = re.compile(rb"([\x44\x48\x4c]?)\x89(?:([\x45\x4d\x55\x75\x7d])(.)|([\x85\x8d\x95\xb5\xbd])(.{4}))", re.DOTALL)
_ARGUMENTS = {(0, 7): 0, (0, 6): 1, (0, 2): 2, (0, 1): 3, (1, 0): 4, (1, 1): 5}  # (REX.R, register): number
_REGISTERS = {number: register for register, number in _ARGUMENTS.items()}
_PROLOGUE = 160  # bytes in which arguments are put on the stack
_NEAR_FRAME = frozenset(b"\x45\x4d\x55\x5d\x65\x6d\x75\x7d")  # modrm: disp8(%rbp) with any register
_FAR_FRAME = frozenset(b"\x85\x8d\x95\x9d\xa5\xad\xb5\xbd")  # disp32(%rbp)
_PUSHES = re.compile(rb"(?:\xf3\x0f\x1e\xfa)?(?:\x41?[\x50-\x57])*(?:\x48\x89\xe5)?(?:\x48\x83\xec.)?", re.DOTALL)
_SAVED = re.compile(rb"(?<![\x48\x49\x4c\x4d])([\x41\x44\x45]?)\x89([\xc0-\xff])")  # mov %REG,%REG
_LASTING = (3, 5, 12, 13, 14, 15)  # %ebx, %ebp, %r12d to %r15d: calls leave them as they are
_OTHER_OUTCOME = rb"(?![\x74\x75]|\x0f[\x84\x85\x44\x45])"  # than equal, or not: no such jump or cmov follows
_FRAME_MINUS_ONE = re.compile(rb"\xc7\x45(.)\xff{4}", re.DOTALL)  # movl $-1,disp8(%rbp)
_LEA = re.compile(rb"(\x8d[\x05\x0d\x15\x35\x3d]).{4}", re.DOTALL)  # lea disp(%rip),%REG: any byte is in its number
_NEAR_CALL = 80  # bytes in which the arguments of a call are made


def has_frame(code: bytes) -> bool:
    return b"\x55\x48\x89\xe5" in code[:32]  # push %rbp; mov %rsp,%rbp


def stored(code: bytes) -> tuple[tuple[int, bytes, int], ...]:
    """(argument, displacement, end of the instruction) of what the prologue puts on the stack."""
    return _stored(code[:_PROLOGUE])


@lru_cache(maxsize=4096)  # several checks ask it of each function
def _stored(prologue: bytes) -> tuple[tuple[int, bytes, int], ...]:
    found: dict[int, tuple[int, bytes, int]] = {}
    for store in _STORE.finditer(prologue):
        prefix, short, near, wide, far = store.groups()
        extended = int(prefix in (b"\x44", b"\x4c"))
        number = _ARGUMENTS.get((extended, (short or wide)[0] >> 3 & 7))
        if number is not None and number not in found:
            found[number] = number, near or far, store.end()
    return tuple(found.values())


def unused_arguments(code: bytes) -> set[int]:
    """An argument whose place in the frame no instruction but the storing one names (as disp(%rbp))."""
    if not has_frame(code):
        return set()
    return {number for number, place, end in stored(code) if not _is_named(code, place, end)}


def _is_named(code: bytes, place: bytes, start: int) -> bool:
    modrm = _NEAR_FRAME if len(place) == 1 else _FAR_FRAME
    at = code.find(place, start + 1)
    while at >= 0 and code[at - 1] not in modrm:
        at = code.find(place, at + 1)
    return at >= 0


# -- arguments that are returned -----------------------------------------------------------------------------------


def arguments_returned(code: bytes) -> set[int]:
    """32-bit arguments that the function may return as they came. One that is compared with more than 0 is none: what
    is returned may be something else just then."""
    return {number for number, kept, start, compared in _kept_arguments(code)
            if not compared.search(code) and is_kept_to_return(code, kept, start)} | _passed_through(code)  # fmt: skip


def _kept_arguments(code: bytes) -> Iterator[tuple[int, KeptValue, int, re.Pattern[bytes]]]:
    """(argument, where it is kept, from where on, what compares it with more than 0)"""
    if has_frame(code):
        for number, place, end in stored(code):
            at = (b"\x7d" if len(place) == 1 else b"\xbd") + place
            yield number, in_frame(place), end, _compared(rb"\x83" + re.escape(at))
        return
    for found in _SAVED.finditer(code):
        prefix, modrm = found[1][0] if found[1] else 0, found[2][0]
        low = modrm >> 3 & 7
        argument, keeper = _ARGUMENTS.get((prefix >> 2 & 1, low)), modrm & 7 | (prefix & 1) << 3
        if argument is not None and keeper in _LASTING and _reaches(code, 0, found.start(), low):
            yield argument, in_register(keeper), found.end(), _compared_registers(low, keeper & 7)


@cache
def _compared(instruction: bytes) -> re.Pattern[bytes]:
    """The instruction with a number other than 0, or with 0 and then a jump on another outcome than (un)equal."""
    return re.compile(instruction + rb"(?:[^\0]|\0" + _OTHER_OUTCOME + rb")", re.DOTALL)


@cache
def _compared_registers(*registers: int) -> re.Pattern[bytes]:
    """cmp $...,%REG; test %REG,%REG and then such a jump."""
    cmps = b"".join(re.escape(bytes([0xF8 | one])) for one in registers)
    tests = b"".join(re.escape(bytes([0xC0 | one << 3 | one])) for one in registers)
    return re.compile(rb"\x83[" + cmps + rb"]|\x85[" + tests + rb"]" + _OTHER_OUTCOME, re.DOTALL)


def _passed_through(code: bytes) -> set[int]:
    """mov ARGUMENT,%eax right at the start, and the return."""
    found = _PUSHES.match(code)
    at = found.end() if found else 0
    if code[at : at + 1] == b"\x89" and code[at + 1] & 0xC7 == 0xC0 and is_returned(code, at + 2):
        return {number for number in [_ARGUMENTS.get((0, code[at + 1] >> 3 & 7))] if number is not None}
    return set()


# -- arguments that are -1 -----------------------------------------------------------------------------------------


def minus_ones_passed(code: bytes, call: int) -> set[int]:
    """Numbers of the 32-bit arguments that are -1, or may be, of the call that stands there."""
    return {number for number in _REGISTERS if _is_passed(code, call, number)}


def _is_passed(code: bytes, call: int, number: int) -> bool:
    start = max(0, call - _NEAR_CALL)
    extended, low = _REGISTERS[number]
    rex = b"\x41" if extended else b""
    direct = re.escape(rex + bytes([0xB8 | low])) + rb"\xff{4}|" + re.escape(rex + bytes([0x83, 0xC8 | low])) + rb"\xff"
    ends = [found.end() for found in re.compile(direct).finditer(code, start, call)]
    move = rex + bytes([0x89, 0xC0 | low])  # mov %eax,ARGUMENT
    moves = [found.start() for found in re.compile(re.escape(move)).finditer(code, start, call)]
    if moves:
        in_eax = [*_minus_ones_in_eax(code, call)]
        ends += [move_at + len(move) for move_at in moves if any(_reaches(code, at, move_at, 0) for at in in_eax)]
    return any(_reaches(code, after_jump(code, end), call, low) for end in ends)


def _minus_ones_in_eax(code: bytes, call: int) -> Iterator[int]:
    """Offsets at which %eax is -1, or may be: made there, or fetched from the frame."""
    for found in MINUS_ONE.finditer(code, 0, call):
        place = after_jump(code, found.end())
        yield place
        if code[place : place + 2] == b"\x89\x45":
            yield from _fetches(code, code[place + 2 : place + 3], after_jump(code, place + 3), call)
    for found in _FRAME_MINUS_ONE.finditer(code, 0, call):
        yield from _fetches(code, found[1], after_jump(code, found.end()), call)


def _fetches(code: bytes, place: bytes, start: int, call: int) -> Iterator[int]:
    kept = in_frame(place)
    end = min(call, next_store(code, kept, start))
    at = code.find(kept.fetch, start, end)
    while at >= 0:
        yield at + len(kept.fetch)
        at = code.find(kept.fetch, at + 1, end)


def _reaches(code: bytes, start: int, end: int, register: int) -> bool:
    """The register is as it was: no call and nothing that is put into it is on the way."""
    return 0 <= start <= end and not _written(register).search(_LEA.sub(rb"\1", code[start:end]))


@cache
def _written(register: int) -> re.Pattern[bytes]:
    """call; mov $..., mov and xor, lea into the register (or that with the same low bits), of 32 or 64 bits."""
    targets = b"".join(re.escape(bytes([0xC0 | source << 3 | register])) for source in range(8))
    sources = b"".join(re.escape(bytes([mode << 6 | register << 3 | base])) for mode in range(4) for base in range(8))
    return re.compile(rb"\xe8.{3}[\x00\xff]|" + re.escape(bytes([0xB8 | register])) + rb"|[\x89\x31][" + targets
                      + rb"]|[\x8b\x8d][" + sources + rb"]", re.DOTALL)  # fmt: skip
