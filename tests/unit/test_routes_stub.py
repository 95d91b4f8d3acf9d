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
