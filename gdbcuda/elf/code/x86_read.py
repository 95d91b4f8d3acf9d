"""x86-64 machine code, read: how long an instruction is, and what in it depends on where it stands.

Only 64-bit mode, only what compilers write; anything else is `UnknownInstruction` and nobody moves it.
(Intel SDM, volume 2, chapter 2 and appendix A.)
"""

from __future__ import annotations

from collections.abc import Iterator

from gdbcuda.data_classes import dataclass

PREFIXES = frozenset(b"\x66\x67\xf2\xf3\x2e\x36\x3e\x26\x64\x65\xf0")
INVALID = frozenset(b"\x06\x07\x0e\x16\x17\x1e\x1f\x27\x2f\x37\x3f\x60\x61\x82\x9a\xea\xce\xd4\xd5\xd6")
UNDEFINED = frozenset(b"\x0a\x0c\x24\x25\x26\x27\x36\x39\x3b\x3c\x3d\x3e\x3f\x78\x79\x7a\x7b")  # behind 0f
LONGEST_INSTRUCTION = 15  # bytes
CUT = "the bytes end inside an instruction at offset {}"


class UnknownInstruction(Exception):
    """Not an instruction that we know, or not all of it."""


@dataclass(frozen=True)
class Instruction:
    """``kind``: "" goes on to the next one; "jump", "branch" (conditional), "call", "return", "stop" do not, or not
    always. ``relative``: (offset, size) of a displacement that counts from the instruction's end."""

    raw: bytes
    kind: str = ""
    relative: tuple[int, int] | None = None

    @property
    def distance(self) -> int | None:
        """From the instruction's end to what a relative operand names."""
        if self.relative is None:
            return None
        at, size = self.relative
        return int.from_bytes(self.raw[at : at + size], "little", signed=True)


def instructions(code: bytes, start: int = 0) -> Iterator[tuple[int, Instruction]]:
    """Each instruction with its offset, up to the end of the bytes; `UnknownInstruction` at one not understood."""
    at = start
    while at < len(code):
        found = decode(code, at)
        yield at, found
        at += len(found.raw)


HEAD, MOST_HEADS = 3, 1 << 16  # bytes, and how many are kept
_shapes: dict[bytes, tuple[int, str, tuple[int, int] | None]] = {}  # by the first bytes, where these tell


def decode(code: bytes, at: int = 0) -> Instruction:
    head = code[at : at + HEAD]
    try:
        size, kind, relative = _shapes[head]
        raw = code[at : at + size]
    except KeyError:
        return remembered(head, Reader(code, at))
    if len(raw) < size:
        raise UnknownInstruction(CUT.format(at))
    return Instruction(raw, kind, relative)


def remembered(head: bytes, reader: Reader) -> Instruction:
    """Nearly all instructions begin as an earlier one did."""
    try:
        found = reader.instruction()
    except IndexError:
        raise UnknownInstruction(CUT.format(reader.start)) from None
    if reader.seen <= reader.start + HEAD:
        if len(_shapes) >= MOST_HEADS:
            _shapes.clear()
        _shapes[head] = len(found.raw), found.kind, found.relative
    return found


class Reader:
    def __init__(self, code: bytes, start: int) -> None:
        self.code, self.start, self.at = code, start, start
        self.seen = start  # behind the last byte that decided anything
        self.narrow = self.wide = False  # the prefixes 66 and REX.W
        self.short_address = False
        self.kind = ""
        self.relative: tuple[int, int] | None = None

    def take(self) -> int:
        self.at = self.seen = self.at + 1
        return self.code[self.at - 1]

    def skip(self, count: int) -> None:
        self.at += count
        if self.at > len(self.code):
            raise IndexError

    def mark(self, size: int) -> None:
        self.relative = (self.at - self.start, size)
        self.skip(size)

    def instruction(self) -> Instruction:
        byte = self.take()
        while byte in PREFIXES:
            self.narrow |= byte == 0x66
            self.short_address |= byte == 0x67
            byte = self.take()
        if byte & 0xF0 == 0x40:
            self.wide = bool(byte & 8)
            byte = self.take()
        self.opcode(byte)
        if self.at - self.start > LONGEST_INSTRUCTION:
            raise UnknownInstruction("too long")
        return Instruction(self.code[self.start : self.at], self.kind, self.relative)

    def opcode(self, byte: int) -> None:
        if byte in (0xC4, 0xC5, 0x62):
            self.vector(byte)
        elif byte == 0x0F:
            self.two_bytes(self.take())
        elif byte in INVALID:
            raise UnknownInstruction(f"opcode {byte:#x}")
        else:
            self.one_byte(byte)

    def one_byte(self, byte: int) -> None:
        field = self.operand() if has_operand(byte) else 0
        if 0x70 <= byte <= 0x7F or 0xE0 <= byte <= 0xE3:
            self.kind = "branch"
            self.mark(1)
        elif byte in (0xE8, 0xE9, 0xEB):
            self.kind = "call" if byte == 0xE8 else "jump"
            self.mark(1 if byte == 0xEB else 4)
        elif byte == 0xFF and field in (2, 3, 4, 5):
            self.kind = "call" if field < 4 else "jump"
        elif byte in (0xC2, 0xC3, 0xCA, 0xCB, 0xCF):
            self.kind = "return"
        elif byte in (0xCC, 0xCD, 0xF1, 0xF4):
            self.kind = "stop"
        elif byte in (0x8F, 0xC6, 0xC7) and field:
            raise UnknownInstruction(f"opcode {byte:#x} with {field}")
        self.skip(self.immediate(byte, field))

    def immediate(self, byte: int, field: int) -> int:
        """Bytes of the immediate operand."""
        long = 2 if self.narrow and not self.wide else 4
        if byte < 0x40:
            return {4: 1, 5: long}.get(byte & 7, 0)
        if byte in (0xF6, 0xF7):
            return (1 if byte == 0xF6 else long) if field < 2 else 0
        if 0xB8 <= byte <= 0xBF:
            return 8 if self.wide else long
        if 0xA0 <= byte <= 0xA3:
            return 4 if self.short_address else 8
        if byte in (0x68, 0x69, 0x81, 0xA9, 0xC7):
            return long
        if byte in (0xC2, 0xCA, 0xC8):
            return 3 if byte == 0xC8 else 2
        small = byte in (0x6A, 0x6B, 0x80, 0x83, 0xA8, 0xC0, 0xC1, 0xC6, 0xCD) or 0xB0 <= byte <= 0xB7
        return 1 if small or 0xE4 <= byte <= 0xE7 else 0

    def two_bytes(self, byte: int) -> None:
        if byte in (0x38, 0x3A):
            self.take()
            self.operand()
            self.skip(1 if byte == 0x3A else 0)
        elif 0x80 <= byte <= 0x8F:
            self.kind = "branch"
            self.mark(4)
        elif byte in UNDEFINED:
            raise UnknownInstruction(f"opcode 0f {byte:#x}")
        else:
            self.kind = "stop" if byte == 0x0B else ""
            if not is_bare(byte):
                self.operand()
            self.skip(1 if has_small_immediate(byte) or byte in (0xA4, 0xAC, 0xBA, 0x0F) else 0)

    def vector(self, byte: int) -> None:
        """VEX and EVEX: the prefix names the opcode map."""
        table = 1
        if byte == 0xC5:
            self.skip(1)
        else:
            table = self.take() & (0x1F if byte == 0xC4 else 7)
            self.skip(1 if byte == 0xC4 else 2)
        opcode = self.take()
        if table not in (1, 2, 3, 5, 6):
            raise UnknownInstruction(f"opcode map {table}")
        if table == 1 and opcode == 0x77:
            return
        self.operand()
        self.skip(1 if table == 3 or (table == 1 and has_small_immediate(opcode)) else 0)

    def operand(self) -> int:
        """ModRM, SIB and displacement; the register field, which may be part of the opcode."""
        byte = self.take()
        mode, field, base = byte >> 6, byte >> 3 & 7, byte & 7
        if mode == 3:
            return field
        if base == 4:
            base = 5 if self.take() & 7 == 5 else 4
            self.skip({0: 4 if base == 5 else 0, 1: 1, 2: 4}[mode])
        elif mode == 0 and base == 5:
            self.mark(4)
        else:
            self.skip({0: 0, 1: 1, 2: 4}[mode])
        return field


def has_operand(byte: int) -> bool:
    """Whether a ModRM byte follows a one-byte opcode."""
    if byte < 0x40:
        return byte & 7 < 4
    if 0x80 <= byte <= 0x8F or 0xD0 <= byte <= 0xD3 or 0xD8 <= byte <= 0xDF:
        return True
    return byte in (0x63, 0x69, 0x6B, 0xC0, 0xC1, 0xC6, 0xC7, 0xF6, 0xF7, 0xFE, 0xFF)


def is_bare(byte: int) -> bool:
    """Whether a two-byte opcode has no ModRM byte."""
    ranges = ((0x05, 0x09), (0x0B, 0x0B), (0x0E, 0x0E), (0x30, 0x37), (0x77, 0x77), (0xA0, 0xA2), (0xA8, 0xAA))
    return any(low <= byte <= high for low, high in ranges) or 0xC8 <= byte <= 0xCF


def has_small_immediate(byte: int) -> bool:
    return 0x70 <= byte <= 0x73 or byte in (0xC2, 0xC4, 0xC5, 0xC6)
