"""aarch64 instructions, as gcc and clang write them (Arm ARM, chapter C6)."""

from __future__ import annotations

import struct
from collections.abc import Iterator

_RET = 0xD65F03C0
_BTI = 0xD503245F
_MOV_W0_MINUS_ONE = 0x12800000
_MOV_X0_MINUS_ONE = 0x92800000
_EPILOGUE = 4  # instructions between the result and the return


def _words(code: bytes) -> list[int]:
    return [word for (word,) in struct.iter_unpack("<I", code[: len(code) // 4 * 4])]


def _branch(word: int) -> int | None:
    """The offset, in instructions, of b or bl."""
    if word >> 26 not in (0b100101, 0b000101):
        return None
    return (word & 0x3FFFFFF) - ((word & 0x2000000) << 1)


def calls(code: bytes, at: int) -> Iterator[tuple[int, bool]]:
    """bl and b"""
    for index, word in enumerate(_words(code)):
        offset = _branch(word)
        if offset is not None:
            yield at + 4 * (index + offset), False


def stub_slot(code: bytes, at: int) -> int | None:
    """[bti] adrp x16, page; ldr x17, [x16, #offset]"""
    words = _words(code)
    if words and words[0] == _BTI:
        words, at = words[1:], at + 4
    if len(words) < 2 or words[0] & 0x9F00001F != 0x90000010 or words[1] & 0xFFC003FF != 0xF9400211:
        return None
    pages = (words[0] >> 29 & 3) | (words[0] >> 5 & 0x7FFFF) << 2
    pages -= (pages & 0x100000) << 1
    return (at & ~0xFFF) + (pages << 12) + (words[1] >> 10 & 0xFFF) * 8


def minus_one_returned(code: bytes) -> int | None:
    """mov w0, #-1, then, perhaps after a branch, the epilogue"""
    words = _words(code)
    for index, word in enumerate(words):
        if word != _MOV_W0_MINUS_ONE:
            continue
        after = index + 1
        offset = _branch(words[after]) if after < len(words) and words[after] >> 26 == 0b000101 else None
        after = max(0, after + offset) if offset is not None else after
        if _RET in words[after : after + _EPILOGUE]:
            return 4 * index
    return None


def passes_minus_one(code: bytes) -> bool:
    return _MOV_X0_MINUS_ONE in _words(code)


def compares_with_null(code: bytes) -> bool:
    """cbz, cbnz of a 64-bit register; cmp x, #0"""
    return any(word >> 25 == 0b1011010 or word & 0xFFFFFC1F == 0xF100001F for word in _words(code))


def compares_next_with_null(code: bytes) -> bool:
    words = _words(code)
    asked = words.index(_MOV_X0_MINUS_ONE) if _MOV_X0_MINUS_ONE in words else len(words)
    return compares_with_null(code[asked * 4 :])


def unused_arguments(code: bytes) -> set[int]:
    """Not known for this machine."""
    return set()


def constants_passed(code: bytes, at: int) -> Iterator[tuple[int, bool, int]]:
    return iter(())


def returned_calls(code: bytes, at: int) -> Iterator[tuple[int, int]]:
    """Not known for this machine."""
    return iter(())


def arguments_returned(code: bytes) -> set[int]:
    """Not known for this machine."""
    return set()


def minus_ones_passed(code: bytes, call: int) -> set[int]:
    """Not known for this machine."""
    return set()


def only_jumps_on(code: bytes) -> bool:
    """Not known for this machine."""
    return False


def unchecked_writes(code: bytes, callees: object) -> set[int]:
    """Not known for this machine."""
    return set()
