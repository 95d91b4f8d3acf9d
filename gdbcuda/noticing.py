"""Is this shared object a hook library? Told by what it exports, from a file or from a process's memory.

Cheap enough to ask for each library that any program loads: the names in a file's string table are searched as one
block of bytes, and only what looks like an API function is looked up. (System V gABI, "Dynamic Section".)
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Iterable
from typing import Callable

from gdbcuda.errors import Unreadable
from gdbcuda.image import DT_STRTAB, PT_DYNAMIC, PT_LOAD, Image

DT_STRSZ = 10
# Bytes of strings that are searched, where reading them costs little and where it costs packets; beyond: TELLTALES.
IN_FILE, IN_MEMORY = 4 << 20, 16 << 10
API_NAME = re.compile(rb"(?:cu|cuda|nvml)[A-Z]\w*(?=\0)")
# One function of each kind that a hook library is likely to define, for where searching all strings costs too much.
TELLTALES = ("cuInit", "cuMemAlloc_v2", "cuGetProcAddress", "cuLaunchKernel", "nvmlInit_v2", "nvmlInitWithFlags",
             "cudaMalloc")  # fmt: skip
RESOLVERS = ("dlsym", "dlvsym")
EMBEDDED_RUNTIME = "__cudaRegisterFatBinary"  # what nvcc's code calls: libcudart has it, and who has libcudart inside


class FileMemory:
    """A `Memory` over an ELF file, as if it were mapped at 0."""

    def __init__(self, data: bytes | mmap.mmap) -> None:
        self.data = data
        start, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
        rows = struct.iter_unpack("<IIQQQQQQ", data[start : start + 56 * count])  # Elf64_Phdr
        self.segments = [(kind, address, offset, size) for kind, _, offset, address, _, size, _, _ in rows]

    def read(self, address: int, size: int) -> bytes:
        for kind, start, offset, length in self.segments:
            begin = offset + address - start
            is_there = start <= address and address + size <= start + length and begin + size <= len(self.data)
            if kind == PT_LOAD and is_there:
                return self.data[begin : begin + size]
        raise Unreadable(address, size)

    def dynamic(self) -> int:
        """Address of the dynamic section, 0 without one."""
        return next((address for kind, address, _, _ in self.segments if kind == PT_DYNAMIC), 0)


def exported_by_file(path: str, is_api: Callable[[str], bool]) -> frozenset[str]:
    """The API functions by ``is_api``, and dlsym and dlvsym, that the shared object exports; none for what cannot be
    read."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if data[:6] != b"\x7fELF\x02\x01":
                return frozenset()
            memory = FileMemory(data)
            image = Image(memory, path, 0, memory.dynamic())
            return exported(image, is_api, IN_FILE)
    except (OSError, ValueError, struct.error, Unreadable):
        return frozenset()


def exported(image: Image, is_api: Callable[[str], bool], largest: int = IN_MEMORY) -> frozenset[str]:
    """As `exported_by_file`; only some functions if the object's strings are more than ``largest`` bytes."""
    found = frozenset(name for name in (*candidates(image, is_api, largest), *RESOLVERS) if image.lookup(name))
    return frozenset() if is_runtime(image, found) else found


def candidates(image: Image, is_api: Callable[[str], bool], largest: int) -> Iterable[str]:
    size = image.entries.get(DT_STRSZ, 0)
    if size > largest:
        return TELLTALES
    strings = image.memory.read(image.address(DT_STRTAB), size)
    return {name for name in (text.decode() for text in set(API_NAME.findall(strings))) if is_api(name)}


def is_runtime(image: Image, found: frozenset[str]) -> bool:
    """A library with libcudart inside that does not hide it: its cudaMalloc is the vendor's."""
    of_runtime = all(name.startswith("cuda") for name in found)
    return bool(found) and of_runtime and image.lookup(EMBEDDED_RUNTIME) is not None
