"""The loader's list and symbols, read back from the memory of this very Python process."""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

import pytest
from process_memory import AT_PHDR, AT_PHNUM, ProcessMemory, auxiliary

from gdbcuda.errors import Unreadable
from gdbcuda.linkage import image


@pytest.fixture
def found() -> list[image.Image]:
    values = auxiliary()
    return image.images(ProcessMemory(), values[AT_PHDR], values[AT_PHNUM])


def test_the_program_comes_first_and_libc_is_there(found: list[image.Image]) -> None:
    assert found[0].name == ""
    mapped = Path("/proc/self/maps").read_text()
    files = [one.name for one in found if one.name.startswith("/")]
    assert any("libc.so" in name for name in files)
    assert all(os.path.realpath(name) in mapped for name in files)


class UnderMusl(ProcessMemory):
    """There the loader has a name for the program, too."""

    def __init__(self, program: image.Image, name: int) -> None:
        super().__init__()
        self.program, self.program_name = program, name

    def read(self, address: int, size: int) -> bytes:
        data = super().read(address, size)
        if address != self.program.handle or size < 16:
            return data
        return data[:8] + struct.pack("<Q", self.program_name) + data[16:]


def test_the_program_has_no_name_whatever_the_loader_calls_it(found: list[image.Image]) -> None:
    values, name = auxiliary(), ctypes.create_string_buffer(b"./prog")
    memory = UnderMusl(found[0], ctypes.addressof(name))
    assert next(image.link_maps(memory, found[0].handle)).name == "./prog"
    again = image.images(memory, values[AT_PHDR], values[AT_PHNUM])
    assert [one.name for one in again] == [one.name for one in found]


def asked_for(library: ctypes.CDLL, name: str) -> int:
    if name == "environ":
        return ctypes.addressof(ctypes.c_void_p.in_dll(library, name))
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0


@pytest.mark.parametrize("name", ["malloc", "environ", "strtol", "pthread_create"])
def test_lookup_finds_what_the_loader_bound(found: list[image.Image], name: str) -> None:
    wanted = asked_for(ctypes.CDLL(None), name)
    if name != "environ" and found[0].holds(wanted):  # a Python that is not PIE stands for what it points to
        wanted = asked_for(ctypes.CDLL("libc.so.6"), name)
    first = next(hit for hit in (one.lookup(name) for one in found) if hit)
    assert first.address == wanted
    assert first.size > 0


def test_lookup_of_an_unknown_name(found: list[image.Image]) -> None:
    assert all(one.lookup("no_such_function_anywhere") is None for one in found)


def test_unreadable_memory_is_an_empty_list() -> None:
    assert image.images(ProcessMemory(), 16, 9) == []


def test_a_bss_ends_in_memory_that_its_object_has(found: list[image.Image]) -> None:
    """Where cuda-env puts its strings."""
    tails = {one.name: one.zero_tails for one in found if one.zero_tails}
    assert any("libc.so" in name for name in tails)
    spans = [tuple(int(part, 16) for part in line.split()[0].split("-"))
             for line in Path("/proc/self/maps").read_text().splitlines() if " rw" in line]  # fmt: skip
    outside = {name: hex(end) for name, ends in tails.items() for end in ends
               if not any(low < end <= high for low, high in spans)}  # fmt: skip
    assert outside == {}, Path("/proc/self/maps").read_text()


def test_an_object_holds_its_segments_alone(found: list[image.Image]) -> None:
    for one in found:
        start, end, _ = one.segments[0]
        assert one.base <= start < end and one.holds(start) and one.holds(end - 1), one.name
        assert not one.holds(min(low for low, _, _ in one.segments) - 1)


def test_a_thread_local_symbol_has_no_address(found: list[image.Image]) -> None:
    """errno of libc.so.6: its value is a distance."""
    assert all(one.lookup("errno") is None for one in found)


def test_its_parts_lie_where_the_file_says(found: list[image.Image]) -> None:
    libc = next(one for one in found if "libc.so" in one.name)
    parts = [part for part in libc.file_parts if part[3] == image.PT_LOAD]
    assert len(parts) > 1 and parts[0][0] == libc.base
    file = Path(libc.name).read_bytes()
    for address, offset, size, _ in parts[:2]:  # what the loader does not write to
        assert libc.memory.read(address, min(size, 4096)) == file[offset : offset + min(size, 4096)]


class Counting(ProcessMemory):
    reads = 0

    def read(self, address: int, size: int) -> bytes:
        self.reads += 1
        return super().read(address, size)


def test_of_a_name_that_is_not_there_the_filter_is_read_alone(found: list[image.Image]) -> None:
    libc = next(one for one in found if one.lookup("malloc"))
    libc.memory = libc._hash_table.memory = counting = Counting()
    assert not any(libc.lookup(f"cu{number}MemAlloc") for number in range(100))
    assert counting.reads < 400  # it lets some pass; 820 without


def test_what_is_not_to_be_believed_has_no_symbols(found: list[image.Image]) -> None:
    libc = next(one for one in found if one.lookup("malloc"))
    libc.lose_contents("no file")
    assert libc.lookup("malloc") is None and libc.lacking == "no file"


PT_NULL, BASE, ALONE = 0, 0x10000, 0


class Headers:
    """An object whose memory is an ELF header and program headers, each (type, address, bytes in the file, bytes)."""

    def __init__(self, *rows: tuple[int, int, int, int]) -> None:
        header = b"\x7fELF" + bytes(28) + struct.pack("<Q", 64) + bytes(16) + struct.pack("<H", len(rows)) + bytes(6)
        table = (struct.pack("<IIQQQQQQ", kind, 6, 0, start, 0, there, size, 0) for kind, start, there, size in rows)
        self.data = header + b"".join(table)

    def read(self, address: int, size: int) -> bytes:
        data = self.data[address - BASE : address - BASE + size] if address >= BASE else b""
        if len(data) < size:
            raise Unreadable(address, size)
        return data


def zero_tails(*rows: tuple[int, int, int, int]) -> list[int]:
    return image.Image(Headers(*rows), "libhook.so", BASE, ALONE).zero_tails


def test_zeros_behind_a_segment_are_its_bss() -> None:
    assert zero_tails((image.PT_LOAD, 0x1000, 0x100, 0x180)) == [BASE + 0x1180]
    assert zero_tails((image.PT_LOAD, 0x1000, 0x100, 0x100), (PT_NULL, 0x2000, 0, 0x100)) == []


@pytest.mark.parametrize(
    ("start", "size", "is_bss"),
    [(0x1000, 0x180, False), (0x1000, 0x200, False), (0x1000, 0x17F, True), (0x1180, 0x100, True)],
)
def test_what_fills_up_the_read_only_part_is_no_bss(start: int, size: int, is_bss: bool) -> None:
    """PT_GNU_RELRO: the loader takes the right to write from there."""
    rows = (image.PT_LOAD, 0x1000, 0x100, 0x180), (image.PT_GNU_RELRO, start, size, size)
    assert bool(zero_tails(*rows)) is is_bss
