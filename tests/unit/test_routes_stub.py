"""The stubs that exchange an answer, run in this process."""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct

import pytest

from gdbcuda.routes import stub

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the stubs are for x86-64")

CALLER, BACK, RESOLVER, PLACE = 0, 5, 64, 256  # offsets: a call and what follows it, what is called, our stub

CODE = {
    "return_value":  # mov rax, [rip+9]; jmp [rip+11]; value, back
        "488b0509000000 ff250b000000 000000 9900000000000000 2222000000000000",
    "write_value":  # mov rax, [value]; mov r11, [out]; mov [r11], rax; mov r11, [status]; movl [r11], 0; xor eax, eax
        "488b0529000000 4c8b1d2a000000 49898300000000 4c8b1d24000000 41c7830000000000000000 31c0 ff2519000000 00"
        "9900000000000000 3333000000000000 4444000000000000 2222000000000000",
    "ask_again":  # mov rdi, [first]; mov rsi, [second]; push [back]; jmp [resolver]
        "488b3d19000000 488b351a000000 ff351c000000 ff251e000000 000000000000"
        "0100000000000000 0200000000000000 2222000000000000 1111000000000000",
}  # fmt: skip


class Page:
    """Executable memory with a caller; the resolver leads its own return over the stub, as the debugger does."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.put(CALLER, b"\xe8" + struct.pack("<i", RESOLVER - BACK) + b"\xc3")  # call resolver; ret

    def put(self, offset: int, code: bytes) -> None:
        self.memory[offset : offset + len(code)] = code

    def call(self, *arguments: int) -> int:
        kind = ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_uint64] * len(arguments))
        return kind(self.address + CALLER)(*arguments)


def led_over(page: Page) -> bytes:
    """lea rax, [rip + stub]; mov [rsp], rax; mov eax, 1; ret"""
    lea = b"\x48\x8d\x05" + struct.pack("<i", PLACE - (RESOLVER + 7))
    return lea + b"\x48\x89\x04\x24" + b"\xb8\x01\x00\x00\x00" + b"\xc3"


@pytest.fixture
def page() -> Page:
    page = Page()
    page.put(RESOLVER, led_over(page))
    return page


def test_another_value_is_returned(page: Page) -> None:
    page.put(PLACE, stub.return_value(0x1122334455667788, page.address + BACK, page.address + PLACE))
    assert page.call(1, 2) == 0x1122334455667788


def test_another_value_is_written(page: Page) -> None:
    out, status = ctypes.c_uint64(7), ctypes.c_uint32(7)
    places = ctypes.addressof(out), ctypes.addressof(status)
    page.put(PLACE, stub.write_value(0x99, *places, page.address + BACK, page.address + PLACE))
    assert page.call() == 0
    assert (out.value, status.value) == (0x99, 0)
    page.put(PLACE, stub.write_value(0x55, places[0], 0, page.address + BACK, page.address + PLACE))
    assert page.call() == 0 and out.value == 0x55


def test_the_resolver_is_asked_again(page: Page) -> None:
    """The second one adds its six arguments: lea rax, [rdi + rsi]; add rax, rdx, rcx, r8, r9; ret."""
    second = 512
    page.put(second, bytes.fromhex("488d0437 4801d0 4801c8 4c01c0 4c01c8 c3".replace(" ", "")))
    arguments = [1, 20, 300, 4000, 50000, 600000]
    code = stub.ask_again(page.address + second, arguments, page.address + BACK, page.address + PLACE)
    page.put(PLACE, code)
    assert page.call(9, 9, 9) == 654321
    assert len(code) <= stub.MOST_BYTES


def test_the_code_to_the_byte() -> None:
    """What objdump says of each is beside it; the constants stand behind the code, in one place each."""
    back, address = 0x2222, 0x1000
    assert stub.return_value(0x99, back, address) == bytes.fromhex(CODE["return_value"])
    assert stub.write_value(0x99, 0x3333, 0x4444, back, address) == bytes.fromhex(CODE["write_value"])
    assert stub.ask_again(0x1111, [1, 2], back, address) == bytes.fromhex(CODE["ask_again"])
    assert len(stub.ask_again(0x1111, [1, 2, 3, 4, 5, 6], back, address)) <= stub.MOST_BYTES == 160
