"""Random calls of a function: registers, the stack above the return address, and memory where its pointers lead."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from condition_cases import STRINGS, Conditions

from gdbcuda import api
from gdbcuda.machine import abi
from gdbcuda.memory import DictMemory

STACK = 192  # bytes above the return address
ENTRY_SP = 0x1000  # made up: nothing asks where the stack really is
ARENA = 2048  # bytes of memory that pointers may lead to
COUNTS = (0, 1, 2, 3, 4)
WILD = (1, 0xDEAD0000, (1 << 47) - 64, 1 << 63, (1 << 64) - 8)  # nothing is there, in any process


@dataclass
class Calls:
    """``arena``: the address of the memory that `fill` fills."""

    made: Conditions
    arena: int
    memory: bytes = b""
    strings: list[int] = field(default_factory=list)

    def fill(self) -> bytes:
        """What is to be written at ``arena``: numbers at the edges of their types, noise, small counts, and strings."""
        random, raw = self.made.random, b""
        while len(raw) < ARENA - 128:
            piece = random.choice([self.made.register(), random.choice(COUNTS), random.choice(COUNTS) << 32])
            fraction = self.made.float_register(random.choice([4, 8])).ljust(8, b"\0")
            raw += random.choice([struct.pack("<Q", piece), struct.pack("<Q", piece), fraction])
        self.strings = []
        for text in STRINGS:
            self.strings.append(self.arena + len(raw))
            raw += text.encode() + b"\0"
        self.memory = raw.ljust(ARENA, b"\0")
        return self.memory

    def reader(self, stack: bytes) -> DictMemory:
        return DictMemory({self.arena: self.memory, ENTRY_SP: bytes(8) + stack})

    def call(self) -> tuple[dict[str, int], bytes, list[bytes]]:
        """Registers, the stack, and the bytes of each argument."""
        registers: dict[str, int] = {}
        stack = bytearray(STACK)
        target = self.made.target
        for parameter, location in zip(target.parameters, abi.locate(target)):
            raw = self.argument(parameter)
            for piece in location.pieces:
                if piece.register is not None:
                    registers[piece.register] = int.from_bytes(raw[:8], "little")
                else:
                    assert piece.stack is not None
                    stack[piece.stack - 8 : piece.stack - 8 + len(raw)] = raw
                raw = raw[8:]
        memory = self.reader(bytes(stack))
        raws = [place.read(registers.__getitem__, ENTRY_SP, memory) for place in abi.locate(target)]
        return registers, bytes(stack), raws

    def argument(self, parameter: api.Parameter) -> bytes:
        """Eight bytes or more, with noise behind a narrow one."""
        random, kind = self.made.random, parameter.type
        if kind.kind == "float":
            return self.made.float_register(kind.size).ljust(8, b"\0")
        if kind.kind in ("struct", "union"):
            return b"".join(struct.pack("<Q", self.made.register()) for _ in range((kind.size + 7) // 8))
        if parameter.string:
            return struct.pack("<Q", random.choice([0, *self.strings, random.choice(WILD)]))
        if kind.kind == "pointer" and not kind.opaque:
            there = self.arena + 8 * random.randrange(ARENA // 16)
            return struct.pack("<Q", random.choice([0, *[there] * 7, random.choice(WILD)]))
        is_count = kind.kind in ("int", "uint") and random.random() < 0.5
        return struct.pack("<Q", random.choice(COUNTS) if is_count else self.made.register())
