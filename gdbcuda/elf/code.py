"""Two questions to machine code that need no disassembler: whom does a function call, does it return -1?

Instructions are recognised by their exact bytes together with an exact target, so a chance hit in the
middle of another instruction is very unlikely; what is not recognised is simply not found.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from typing import Callable

from gdbcuda.errors import UserError

from .layout import Addresses

_LARGEST_FUNCTION = 1 << 20
_LONGEST_STUB = 20  # bytes of a PLT entry


class Code:
    """Functions of one file. ``slots``: address of a GOT slot -> the symbol that the loader puts there."""

    def __init__(self, machine: str, addresses: Addresses, slots: Mapping[int, str]) -> None:
        self._addresses = addresses
        self._slots = slots
        self._calls, self._stub, self._minus_one = _MACHINES.get(machine, (_none, _no_stub, None))

    def bytes(self, address: int, size: int) -> bytes:
        """The code of a function; b"" where it cannot be read."""
        try:
            return self._addresses.read(address, min(size, _LARGEST_FUNCTION), "code")
        except UserError:
            return b""

    def called(self, address: int, size: int, known: Mapping[int, str]) -> set[str]:
        """Names of what the function at ``address`` calls: at ``known`` addresses, through the PLT or GOT."""
        names = set()
        for target, through_slot in self._calls(self.bytes(address, size), address):
            name = self._slots.get(target) if through_slot else known.get(target) or self._stub_name(target)
            if name:
                names.add(name)
        return names

    def returns_minus_one(self, address: int, size: int) -> int | None:
        """Offset of an instruction that puts -1 into the 32-bit result register, or None."""
        found = self._minus_one.search(self.bytes(address, size)) if self._minus_one else None
        return found.start() if found else None

    def _stub_name(self, address: int) -> str | None:
        slot = self._stub(self.bytes(address, _LONGEST_STUB), address)
        return self._slots.get(slot) if slot is not None else None


_Call = tuple[int, bool]  # (target, the target is a GOT slot)
_Calls = Callable[[bytes, int], Iterator[_Call]]
_Stub = Callable[[bytes, int], "int | None"]


def _none(code: bytes, at: int) -> Iterator[_Call]:
    return iter(())


def _no_stub(code: bytes, at: int) -> int | None:
    return None


def _x86_calls(code: bytes, at: int) -> Iterator[_Call]:
    """call/jmp rel32 (e8, e9) and call/jmp *disp32(%rip) (ff 15, ff 25)."""
    for found in re.finditer(rb"(?=([\xe8\xe9]|\xff[\x15\x25])(.{4}))", code, re.DOTALL):
        opcode, operand = found.groups()
        after = at + found.start() + len(opcode) + 4
        yield after + int.from_bytes(operand, "little", signed=True), opcode[0] == 0xFF


def _x86_stub(code: bytes, at: int) -> int | None:
    """The slot of a PLT entry: [endbr64] [bnd] jmp *disp32(%rip)."""
    found = re.match(rb"(?:\xf3\x0f\x1e\xfa)?\xf2?\xff\x25(.{4})", code, re.DOTALL)
    return at + found.end() + int.from_bytes(found[1], "little", signed=True) if found else None


def _arm_calls(code: bytes, at: int) -> Iterator[_Call]:
    """bl and b with a 26-bit word offset."""
    for index, (word,) in enumerate(struct.iter_unpack("<I", code[: len(code) // 4 * 4])):
        if word >> 26 in (0b100101, 0b000101):
            offset = (word & 0x3FFFFFF) - ((word & 0x2000000) << 1)
            yield at + 4 * (index + offset), False


def _arm_stub(code: bytes, at: int) -> int | None:
    """The slot of a PLT entry: [bti] adrp x16, page; ldr x17, [x16, #offset]."""
    words: list[int] = [word for (word,) in struct.iter_unpack("<I", code[: len(code) // 4 * 4])]
    if words and words[0] == 0xD503245F:
        words, at = words[1:], at + 4
    if len(words) < 2 or words[0] & 0x9F00001F != 0x90000010 or words[1] & 0xFFC003FF != 0xF9400211:
        return None
    pages: int = (words[0] >> 29 & 3) | (words[0] >> 5 & 0x7FFFF) << 2
    pages -= (pages & 0x100000) << 1
    return (at & ~0xFFF) + (pages << 12) + (words[1] >> 10 & 0xFFF) * 8


# mov $-1,%eax and or $-1,%eax; mov w0, #-1
_MACHINES: dict[str, tuple[_Calls, _Stub, re.Pattern[bytes] | None]] = {
    "x86-64": (_x86_calls, _x86_stub, re.compile(rb"\xb8\xff\xff\xff\xff|\x83\xc8\xff", re.DOTALL)),
    "aarch64": (_arm_calls, _arm_stub, re.compile(rb"\x00\x00\x80\x12", re.DOTALL)),
}
