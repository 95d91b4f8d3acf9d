"""Runs machine code in this very process: registers in, registers and an answer out."""

from __future__ import annotations

import ctypes
import itertools
import mmap
import struct
from collections.abc import Mapping

from gdbcuda.machine.x86.x86_write import NAMES, RAX, RBX, RSP, VECTORS, At, Code

INTEGERS = ("rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11")  # what a caller does not expect to survive
SIZE = 1 << 16
FAR = itertools.count(0x4100000000, 1 << 12)  # where no code is near
SITE = 4096  # bytes for the code of a call site


class Words:
    """Words of 64 bits, more than 2 GB away from any code."""

    def __init__(self) -> None:
        call = ctypes.CDLL(None, use_errno=True).mmap
        call.restype = ctypes.c_void_p
        call.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self.base = call(next(FAR), 4096, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)

    def address(self, index: int) -> int:
        return self.base + 8 * index

    def __getitem__(self, index: int) -> int:
        return ctypes.c_uint64.from_address(self.address(index)).value

    def __setitem__(self, index: int, value: int) -> None:
        ctypes.c_uint64.from_address(self.address(index)).value = value


class Machine:
    """A page of memory to write code into and to call."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, SIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self.view = (ctypes.c_char * SIZE).from_buffer(self.memory)
        self.address = ctypes.addressof(self.view)
        self.return_address = 0  # of the last call
        self.words = Words()
        assert abs(self.words.base - self.address) > 1 << 31, ctypes.get_errno()

    def write(self, offset: int, raw: bytes) -> int:
        self.memory[offset : offset + len(raw)] = raw
        return self.address + offset

    def call(
        self, entry: int, registers: Mapping[str, int], stack: bytes = b"", site: int = 0
    ) -> tuple[bool, dict[str, int]]:
        """Calls ``entry`` with these registers (of a vector register 64 bits) and bytes above the return address,
        from one of several call sites; whether it came back with the carry flag set, and the registers afterwards."""
        code, at = caller(entry, len(stack)), SIZE // 2 + site * SITE
        self.return_address = self.address + at + code.fixups[0].end
        self.write(at, code.assemble(self.address + at))
        inside = b"".join(struct.pack("<Q", registers.get(n, 0x1111 * i)) for i, n in enumerate(INTEGERS))
        inside += b"".join(struct.pack("<QQ", registers.get(n, 7), 9) for n in VECTORS)
        state = ctypes.create_string_buffer(inside + stack, len(inside) + len(stack))
        carry = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self.address + at)(ctypes.addressof(state))
        words = struct.unpack(f"<{len(inside) // 8}Q", state.raw[: len(inside)])
        before = struct.unpack(f"<{len(inside) // 8}Q", inside)
        found = dict(zip(INTEGERS, words))
        changed = [i for i, (a, b) in enumerate(zip(before, words)) if a != b]
        assert not changed, f"changed: {changed}"
        return bool(carry & 1), found


def caller(entry: int, stack: int) -> Code:
    """Loads the registers from the block that its argument names, calls, and stores them back."""
    code = Code()
    code.push(RBX)
    code.instruction(b"\x8b", RBX, NAMES["rdi"])
    vectors = 8 * len(INTEGERS)
    room = (stack + 15) // 16 * 16
    code.instruction(b"\x81", 5, RSP, immediate=struct.pack("<i", room))
    for at in range(0, stack, 8):
        code.instruction(b"\x8b", RAX, At(RBX, vectors + 16 * len(VECTORS) + at))
        code.instruction(b"\x89", RAX, At(RSP, at))
    for number in range(16):
        code.instruction(b"\x0f\x10", number, At(RBX, vectors + 16 * number), wide=False)
    for index, name in enumerate(INTEGERS):
        code.instruction(b"\x8b", NAMES[name], At(RBX, 8 * index))
    code.emit(b"\xe8")
    code.distance(entry)
    for index, name in enumerate(INTEGERS):
        code.instruction(b"\x89", NAMES[name], At(RBX, 8 * index))
    for number in range(16):
        code.instruction(b"\x0f\x11", number, At(RBX, vectors + 16 * number), wide=False)
    code.emit(b"\x0f\x92\xc0\x0f\xb6\xc0")  # setc al; movzx eax, al
    code.instruction(b"\x81", 0, RSP, immediate=struct.pack("<i", room))
    code.pop(RBX)
    code.emit(b"\xc3")
    return code
