"""x86-64 instructions, as gcc and clang write them (Intel SDM, volume 2)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

_BRANCH = re.compile(rb"(?=([\xe8\xe9]|\xff[\x15\x25])(.{4}))", re.DOTALL)
_STUB = re.compile(rb"(?:\xf3\x0f\x1e\xfa)?\xf2?\xff\x25(.{4})", re.DOTALL)
# mov $-1,%eax; or $-1,%eax
_MINUS_ONE = re.compile(rb"\xb8\xff{4}|\x83\xc8\xff")
_KEPT_MINUS_ONE = re.compile(rb"\xc7\x45(.)\xff{4}", re.DOTALL)  # movl $-1,disp8(%rbp)
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
        if _EPILOGUE.match(code, max(0, _after_jump(code, found.end()))):
            return found.start()
    for found in _KEPT_MINUS_ONE.finditer(code):
        at = max(0, _after_jump(code, found.end()))
        if code.startswith(_FETCHED + found[1], at) and _is_returned(code, at + 3):
            return found.start()
    return None


def _after_jump(code: bytes, at: int) -> int:
    """Where an unconditional jump at ``at`` leads, else ``at``."""
    if code[at : at + 1] == b"\xeb":
        return at + 2 + _signed(code[at + 1 : at + 2])
    if code[at : at + 1] == b"\xe9":
        return at + 5 + _signed(code[at + 1 : at + 5])
    return at


def passes_minus_one(code: bytes) -> bool:
    return _FIRST_MINUS_ONE.search(code) is not None


def compares_with_null(code: bytes) -> bool:
    return _NULL_TEST.search(code) is not None


# call rel32, and what keeps its result in the frame: mov %eax,disp8(%rbp); a byte e8 may stand in front of it
_CALL = re.compile(rb"(?=\xe8(.{4})(?:\x89\x45(.))?)", re.DOTALL)
_FETCHED = b"\x8b\x45"  # mov disp8(%rbp),%eax
_NOT_ZERO = re.compile(rb"\x83\x7d(.)\0(?:\x75(.)|\x0f\x85(.{4}))", re.DOTALL)  # cmpl $0,disp8(%rbp); jne


def returned_calls(code: bytes, at: int) -> Iterator[int]:
    for found in _CALL.finditer(code):
        operand, kept = found.groups()
        if _is_returned(code, found.start() + 5) or (kept and _is_fetched_at_end(code, kept, found.start() + 8)):
            yield at + found.start() + 5 + _signed(operand)
    for length in (2, 5):  # it ends with a jump to elsewhere
        last = max(0, len(code) - length)
        target = _after_jump(code, last)
        if code[last : last + 1] == (b"\xeb" if length == 2 else b"\xe9") and not 0 <= target < len(code):
            yield at + target


def _is_returned(code: bytes, end: int) -> bool:
    """At once, or where it is not 0: test %eax,%eax, then jne to the return, or je over it."""
    place = _after_jump(code, end)
    if code[end : end + 3] in (b"\x85\xc0\x74", b"\x85\xc0\x75"):
        place = end + 4 + (_signed(code[end + 3 : end + 4]) if code[end + 2] == 0x75 else 0)
    return _EPILOGUE.match(code, max(0, place)) is not None


def _is_fetched_at_end(code: bytes, place: bytes, start: int) -> bool:
    """From there on, or from where a jump for anything but 0 leads, and before something else is put there."""
    jump = _NOT_ZERO.match(code, start)
    starts = [start]
    if jump and jump[1] == place:
        starts.append(jump.end() + _signed(jump[2] or jump[3]))
    return any(_is_fetched(code, place, max(0, one)) for one in starts)


def _is_fetched(code: bytes, place: bytes, start: int) -> bool:
    """By the code as it stands, in order: mov %eax,disp8(%rbp) and movl $...,disp8(%rbp) put something there."""
    stores = [at for at in (code.find(store + place, start) for store in (b"\x89\x45", b"\xc7\x45")) if at >= 0]
    end = min(stores, default=len(code))
    at = code.find(_FETCHED + place, start, end)
    while at >= 0 and not _is_returned(code, at + 3):
        at = code.find(_FETCHED + place, at + 1, end)
    return at >= 0


# mov disp(%rbp),%reg: REX.W 8b modrm disp; perhaps a load of what is written; then a store to (%reg)
_LOAD = re.compile(rb"\x48\x8b(?:([\x45\x4d\x55\x75\x7d])(.)|([\x85\x8d\x95\xb5\xbd])(.{4}))", re.DOTALL)
_VALUE = rb"(?:[\x48\x4c]?(?:\x0f[\xb6\xb7])?\x8b?[\x45\x4d\x55\x75\x7d].)?"
_STATUS_TEST = re.compile(rb"(?<!\x48)\x83\x7d.\0|\x85\xc0", re.DOTALL)  # cmpl $0,disp8(%rbp); test %eax,%eax


def unchecked_writes(code: bytes) -> set[int]:
    if b"\x55\x48\x89\xe5" not in code[:32]:  # push %rbp; mov %rsp,%rbp
        return set()
    tested = _STATUS_TEST.search(code)
    seen = code[: tested.start()] if tested else code
    return {number for number, place, end in _stored(code[:_PROLOGUE]) if _is_written_through(seen, place, end)}


def _is_written_through(code: bytes, place: bytes, start: int) -> bool:
    """Before any test of the pointer: cmpq $0,disp(%rbp), or test %reg,%reg behind a load."""
    for found in _LOAD.finditer(code, start):
        near, short, far, wide = found.groups()
        if (short or wide) != place:
            continue
        register = (near or far)[0] >> 3 & 7
        if code.startswith(bytes([0x48, 0x85, 0xC0 | register << 3 | register]), found.end()):  # test %reg,%reg
            return False
        if _store_to(register).match(code, found.end()):
            compared = b"\x48\x83" + (b"\x7d" if short else b"\xbd") + place + b"\0"
            return compared not in code[: found.start()]
    return False


@cache
def _store_to(register: int) -> re.Pattern[bytes]:
    """mov %any,(%reg) of 1 to 8 bytes, or an immediate: modrm without displacement."""
    sources = b"".join(re.escape(bytes([source << 3 | register])) for source in range(8))
    stores = rb"(?:[\x88\x89][" + sources + rb"]|[\xc6\xc7]" + re.escape(bytes([register])) + rb")"
    return re.compile(_VALUE + rb"\x66?[\x44\x48\x4c]?" + stores, re.DOTALL)


_NEAR_FRAME = frozenset(b"\x45\x4d\x55\x5d\x65\x6d\x75\x7d")  # modrm: disp8(%rbp) with any register
_FAR_FRAME = frozenset(b"\x85\x8d\x95\x9d\xa5\xad\xb5\xbd")  # disp32(%rbp)


def unused_arguments(code: bytes) -> set[int]:
    """An argument whose place in the frame no instruction but the storing one names (as disp(%rbp))."""
    if b"\x55\x48\x89\xe5" not in code[:32]:  # push %rbp; mov %rsp,%rbp
        return set()
    return {number for number, place, end in _stored(code[:_PROLOGUE]) if not _is_named(code, place, end)}


@lru_cache(maxsize=4096)  # two checks ask it of each function
def _stored(prologue: bytes) -> tuple[tuple[int, bytes, int], ...]:
    """(argument, displacement, end of the instruction) of what the prologue puts on the stack."""
    stored: dict[int, tuple[int, bytes, int]] = {}
    for found in _STORE.finditer(prologue):
        prefix, short, near, wide, far = found.groups()
        extended = int(prefix in (b"\x44", b"\x4c"))
        number = _ARGUMENTS.get((extended, (short or wide)[0] >> 3 & 7))
        if number is not None and number not in stored:
            stored[number] = number, near or far, found.end()
    return tuple(stored.values())


def _is_named(code: bytes, place: bytes, start: int) -> bool:
    modrm = _NEAR_FRAME if len(place) == 1 else _FAR_FRAME
    at = code.find(place, start + 1)
    while at >= 0 and code[at - 1] not in modrm:
        at = code.find(place, at + 1)
    return at >= 0


def _signed(operand: bytes) -> int:
    return int.from_bytes(operand, "little", signed=True)
