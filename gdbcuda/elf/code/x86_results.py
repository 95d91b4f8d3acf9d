"""What x86-64 code returns: -1, or what another function has returned (Intel SDM, volume 2).

Instructions are known by their bytes, as gcc and clang write them, without disassembling: jumps are followed where a
comparison stands in front of them, and a result is found again in the register or the place of the frame that keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

# mov $-1,%eax; or $-1,%eax
MINUS_ONE = re.compile(rb"\xb8\xff{4}|\x83\xc8\xff")
# -1 or something else by arithmetic: set%cc %al, perhaps and $1,%al and movzbl %al,%eax, then neg %eax or one less
# (sub, add $-1, lea, dec); 0 - %ecx (or %edx) of movzbl %al,%ecx; lea -1(,%rax,4); sbb %eax,%eax, perhaps not %eax;
# cmov of a register with -1 into %eax, or of another one over the -1 in it
_COMPUTED_MINUS_ONE = re.compile(
    rb"\x0f[\x90-\x9f]\xc0(?:\x24\x01)?(?:\x0f\xb6\xc0)?(?:\xf7\xd8|\x83\xe8\x01|\x83\xc0\xff|\x8d\x40\xff|\xff\xc8)"
    rb"|\x0f[\x90-\x9f]\xc0(?:\x24\x01)?\x0f\xb6(?:\xc8\x31\xc0\x29\xc8|\xd0\x31\xc0\x29\xd0)"
    rb"|\x0f[\x90-\x9f]\xc0[^\xe8]{0,12}?\x8d\x04[\x45\x85\xc5]\xff{4}(?:\x0f[\x40-\x4f][\xc0-\xc7])?"
    rb"|\x19\xc0(?:\xf7\xd0)?"
    rb"|\xb8\xff{4}[^\xe8]{0,24}?\x0f[\x40-\x4f][\xc1-\xc7]"
    + b"".join(b"|[%c]\xff{4}[^\xe8]{0,24}?\x0f[\x40-\x4f][%c]" % (0xB8 + one, 0xC0 + one) for one in (1, 2, 6, 7)),
    re.DOTALL,
)
# movl $-1,disp8(%rbp); mov $-1,%REG and or $-1,%REG with %ebx, %ebp, %r12d to %r15d, which calls leave as they are
_KEPT_MINUS_ONE = re.compile(
    rb"\xc7\x45(?P<frame>.)\xff{4}|(?P<low>[\xbb\xbd])\xff{4}|\x83(?P<low_or>[\xcb\xcd])\xff"
    rb"|\x41(?P<high>[\xbc-\xbf])\xff{4}|\x41\x83(?P<high_or>[\xcc-\xcf])\xff",
    re.DOTALL,
)
# one less: subl $1 or addl $-1,disp8(%rbp); mov disp8(%rbp),%eax and sub $1, add $-1, dec or lea -1
_ONE_LESS = re.compile(
    rb"\x83(?:\x6d(?P<less>.)\x01|\x45(?P<more>.)\xff)"
    rb"|\x8b\x45(?P<loaded>.)(?:\x83\xe8\x01|\x83\xc0\xff|\xff\xc8|\x8d\x40\xff)",
    re.DOTALL,
)
# what may stand between the result and the return: the stack protector's test, saved registers, the frame
_EPILOGUE = re.compile(
    rb"(?:\x48\x8b(?:[\x4d\x55].|[\x8d\x95].{4}|[\x4c\x54]\x24.|[\x8c\x94]\x24.{4})"
    rb"\x64\x48[\x2b\x33][\x0c\x14]\x25\x28\0\0\0(?:\x74\x05\xe8.{4}|\x75.|\x0f\x85.{4}))?"
    rb"(?:\x48\x8b\x5d.)?(?:\x48\x83\xc4.|\x48\x81\xc4.{4}|\x48\x8d\x65.)?(?:\x41?[\x58-\x5f])*\xc9?\xf3?\xc3",
    re.DOTALL,
)
# cmp or test of registers, of the frame and of numbers, then a jump on the outcome
_CONDITIONAL = re.compile(
    rb"(?:[\x40-\x4f]?(?:[\x38-\x3b\x84\x85](?:[\xc0-\xff]|[\x45\x4d\x55\x5d\x65\x6d\x75\x7d].)"
    rb"|[\x80\x83](?:[\xf8-\xff]|\x7d.).|\x81(?:[\xf8-\xff]|\x7d.).{4}|\x3d.{4}|\x3c.|\xa8.))"
    rb"(?:[\x70-\x7f](?P<near>.)|\x0f[\x80-\x8f](?P<far>.{4}))(?P<jump>\xeb.|\xe9.{4})?",
    re.DOTALL,
)
_TO_FRAME = b"\x89\x45"  # mov %eax,disp8(%rbp)
_MOST_PLACES = 200  # that one value is looked for at
# call rel32, and what keeps its result in the frame: mov %eax,disp8(%rbp); a byte e8 may stand in front of it
_CALL = re.compile(rb"(?=\xe8(.{4})(?:\x89\x45(.))?)", re.DOTALL)
_NOT_ZERO = re.compile(rb"\x83\x7d(.)\0(?:\x75(.)|\x0f\x85(.{4}))", re.DOTALL)  # cmpl $0,disp8(%rbp); jne


class KeptValue(NamedTuple):
    """Where a value is kept. ``fetch`` makes it the result, the ``stores`` put something else there."""

    fetch: bytes
    stores: tuple[bytes, ...]


def in_frame(place: bytes) -> KeptValue:
    """mov disp(%rbp),%eax; mov %eax,disp(%rbp) and movl $...,disp(%rbp), of 8 or 32 bits"""
    at = (b"\x45" if len(place) == 1 else b"\x85") + place
    return KeptValue(b"\x8b" + at, (b"\x89" + at, b"\xc7" + at))


def in_register(number: int) -> KeptValue:
    """mov %REG,%eax; mov %eax,%REG, mov $...,%REG and xor %REG,%REG"""
    low, bit = number & 7, number >> 3
    source, target, both = (bytes([0x40 | bits]) if bit else b"" for bits in (4, 1, 5))
    fetch = source + bytes([0x89, 0xC0 | low << 3])
    clear = both + bytes([0x31, 0xC0 | low << 3 | low])
    return KeptValue(fetch, (target + bytes([0x89, 0xC0 | low]), target + bytes([0xB8 | low]), clear))


def minus_one_returned(code: bytes) -> int | None:
    """Offset of what makes the -1; None where none is seen to be returned."""
    for found in MINUS_ONE.finditer(code):
        if _is_result(code, found.end()) or _is_jump_to_return(code, found.end()):
            return found.start()
    for found in _COMPUTED_MINUS_ONE.finditer(code):
        if _is_result(code, found.end()):
            return found.start()
    for found in _KEPT_MINUS_ONE.finditer(code):
        if is_kept_to_return(code, _keeper(found), after_jump(code, found.end())):
            return found.start()
    return next((found.start() for found in _ONE_LESS.finditer(code) if _is_less_than_zero(code, found)), None)


def _is_less_than_zero(code: bytes, found: re.Match[bytes]) -> bool:
    """It makes a -1 of a 0, which is returned."""
    place = found["less"] or found["more"] or found["loaded"]
    if not _holds_zero(code, place, found.start()):
        return False
    if found["loaded"]:
        return _is_result(code, found.end())
    return is_kept_to_return(code, in_frame(place), after_jump(code, found.end()))


def _holds_zero(code: bytes, place: bytes, at: int) -> bool:
    """A 0 was put there, as the code stands: since then the place was only read, compared."""
    start = code.rfind(b"\xc7\x45" + place + bytes(4), 0, at)
    named = rb"(?<![\x8b\x3b\x39])(?!(?<=\x83)\x7d)[\x45\x4d\x55\x5d\x65\x6d\x75\x7d]" + re.escape(place)
    return start >= 0 and re.compile(named, re.DOTALL).search(code, start + 7, at) is None


def _is_result(code: bytes, end: int) -> bool:
    """What is in %eax there is returned, at once or by way of the frame."""
    place = after_jump(code, end)
    if code[place : place + 2] != _TO_FRAME:
        return _is_return(code, place)
    return is_kept_to_return(code, in_frame(code[place + 2 : place + 3]), after_jump(code, place + 3))


def _keeper(found: re.Match[bytes]) -> KeptValue:
    if found["frame"]:
        return in_frame(found["frame"])
    low, high = found["low"] or found["low_or"], found["high"] or found["high_or"]
    return in_register(low[0] & 7 if low else high[0] & 7 | 8)


def returned_calls(code: bytes, at: int) -> Iterator[tuple[int, int]]:
    for found in _CALL.finditer(code):
        operand, kept = found.groups()
        if is_returned(code, found.start() + 5) or (kept and _is_fetched_at_end(code, kept, found.start() + 8)):
            yield at + found.start() + 5 + signed(operand), found.start()
    for length in (2, 5):  # it ends with a jump to elsewhere
        last = max(0, len(code) - length)
        target = after_jump(code, last)
        if code[last : last + 1] == (b"\xeb" if length == 2 else b"\xe9") and not 0 <= target < len(code):
            yield at + target, last


def is_kept_to_return(code: bytes, kept: KeptValue, start: int) -> bool:
    """By some way from there to the return on which nothing else is put there. The code is read as it stands, and from
    where its jumps on an outcome lead."""
    starts: list[int] = [start]
    seen: set[int] = set()
    while starts and len(seen) < _MOST_PLACES:
        place = starts.pop()
        if place in seen or not 0 <= place < len(code):
            continue
        seen.add(place)
        end = next_store(code, kept, place)
        if _is_fetched(code, kept, place, end):
            return True
        starts += [target for target in _conditional_targets(code, place, end) if target >= end]
    return False


def _conditional_targets(code: bytes, start: int, end: int) -> Iterator[int]:
    """Of the jumps on an outcome between the two, and of the jumps right behind them."""
    for found in _CONDITIONAL.finditer(code, start, end):
        behind = found.start("jump") if found["jump"] else found.end()
        yield behind + signed(found["near"] or found["far"])
        if found["jump"]:
            yield after_jump(code, behind)


def next_store(code: bytes, kept: KeptValue, start: int) -> int:
    return min((at for at in (code.find(store, start) for store in kept.stores) if at >= 0), default=len(code))


def _is_fetched(code: bytes, kept: KeptValue, start: int, end: int, moves: int = 2) -> bool:
    """Made the result between the two, and returned at once."""
    at = code.find(kept.fetch, start, end)
    while at >= 0 and not _is_handed_on(code, at + len(kept.fetch), moves):
        at = code.find(kept.fetch, at + 1, end)
    return at >= 0


def _is_handed_on(code: bytes, end: int, moves: int) -> bool:
    """Returned, or moved to another place of the frame to be returned. (clang has one for all the returns.)"""
    place = after_jump(code, end)
    if not moves or code[place : place + 2] != _TO_FRAME:
        return is_returned(code, end)
    kept, start = in_frame(code[place + 2 : place + 3]), after_jump(code, place + 3)
    return _is_fetched(code, kept, start, next_store(code, kept, start), moves - 1)


def _is_fetched_at_end(code: bytes, place: bytes, start: int) -> bool:
    """From there on, or from where a jump for anything but 0 leads, and before something else is put there."""
    jump = _NOT_ZERO.match(code, start)
    starts = [after_jump(code, start)]
    if jump and jump[1] == place:
        starts.append(max(0, jump.end() + signed(jump[2] or jump[3])))
    kept = in_frame(place)
    return any(_is_fetched(code, kept, one, next_store(code, kept, one)) for one in starts)


def _is_jump_to_return(code: bytes, start: int) -> bool:
    """A comparison there, and a jump that leaves with what the result is already, or leaves it to the return."""
    found = _CONDITIONAL.match(code, start)
    ways = (next(_conditional_targets(code, start, found.end())), found.end()) if found else ()
    return any(_is_return(code, way) for way in ways)


def is_returned(code: bytes, end: int) -> bool:
    """At once, or where it is not 0: test %eax,%eax, then jne to the return, or je over it."""
    place = after_jump(code, end)
    if code[end : end + 3] in (b"\x85\xc0\x74", b"\x85\xc0\x75"):
        place = end + 4 + (signed(code[end + 3 : end + 4]) if code[end + 2] == 0x75 else 0)
    return _is_return(code, place)


def _is_return(code: bytes, place: int) -> bool:
    return _EPILOGUE.match(code, max(0, place)) is not None


def after_jump(code: bytes, at: int) -> int:
    """Where an unconditional jump at ``at`` leads, else ``at``."""
    if code[at : at + 1] == b"\xeb":
        return at + 2 + signed(code[at + 1 : at + 2])
    if code[at : at + 1] == b"\xe9":
        return at + 5 + signed(code[at + 1 : at + 5])
    return at


def signed(operand: bytes) -> int:
    return int.from_bytes(operand, "little", signed=True)
