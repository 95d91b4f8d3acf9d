"""Is this shared object a hook library? Told by what it exports, from a file or from a process's memory.

Cheap enough to ask for each library that any program loads: the names in a file's string table are searched as one
block of bytes, and only what looks like an API function is looked up. (System V gABI, "Dynamic Section".)
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Set

from gdbcuda.errors import Unreadable, UserError
from gdbcuda.files.reading import Source, open_source
from gdbcuda.linkage.dynamic_section import DT_STRSZ, LoadedDynamic
from gdbcuda.linkage.dynamic_symbols import Symbols
from gdbcuda.linkage.image import DT_STRTAB, PT_DYNAMIC, PT_LOAD, Image, header_table, program_rows
from gdbcuda.text.patterns import pattern

ELF64 = b"\x7fELF\x02\x01"
PIECE = 16 << 10  # bytes of a file that are read at once
# Bytes of strings that are searched, where reading them costs little and where it costs packets; beyond: TELLTALES.
IN_FILE, IN_MEMORY = 4 << 20, 16 << 10
API_NAME = pattern(rb"(?:cu|cuda|nvml)[A-Z]\w*(?=\0)")
# One function of each kind that a hook library is likely to define, for where searching all strings costs too much.
TELLTALES = ("cuInit", "cuMemAlloc_v2", "cuGetProcAddress", "cuLaunchKernel", "nvmlInit_v2", "nvmlInitWithFlags",
             "cudaMalloc")  # fmt: skip
RESOLVERS = ("dlsym", "dlvsym")
INJECTION, AUDIT = "InitializeInjection", "la_version"
OTHER_WAYS = {INJECTION: "an injection library", AUDIT: "an audit library"}  # what such a library has to export
NAMED_IN = {INJECTION: "CUDA_INJECTION64_PATH", AUDIT: "LD_AUDIT"}  # who is told of it: PyTorch too exports the first
EMBEDDED_RUNTIME = "__cudaRegisterFatBinary"  # what nvcc's code calls: libcudart has it, and who has libcudart inside


class SomeNames(frozenset[str]):
    """Of an object in which not all names were looked for: how many there are nobody knows."""


class FileBytes:
    """A `Memory` whose addresses are a file's offsets. What is small is read in pieces, which are kept."""

    def __init__(self, file: Source) -> None:
        self.file = file
        self.pieces: dict[int, bytes] = {}

    def read(self, offset: int, size: int) -> bytes:
        number, begin = divmod(offset, PIECE)
        if begin + size > PIECE:
            return self.file.read(offset, size, "it")
        if number not in self.pieces:
            start = number * PIECE
            self.pieces[number] = self.file.read(start, min(PIECE, self.file.size - start), "it")
        return self.pieces[number][begin : begin + size]


class FileMemory:
    """A `Memory` over an ELF file, as if it were mapped at 0."""

    def __init__(self, file: Source) -> None:
        self.size, self.bytes = file.size, FileBytes(file)
        self.segments = list(program_rows(self.bytes, *header_table(self.bytes, 0)))

    def read(self, address: int, size: int) -> bytes:
        for kind, _, offset, start, _, length, _, _ in self.segments:
            begin = offset + address - start
            if kind == PT_LOAD and start <= address and address + size <= start + length and begin + size <= self.size:
                return self.bytes.read(begin, size)
        raise Unreadable(address, size)

    def dynamic(self) -> int:
        """Address of the dynamic section, 0 without one."""
        return next((row[3] for row in self.segments if row[0] == PT_DYNAMIC), 0)


def exported_by_file(path: str, names: Set[str]) -> frozenset[str]:
    """Functions of the API, by ``names``, and dlsym and dlvsym, that the shared object exports; none for what cannot be
    read, or becomes shorter meanwhile."""
    try:
        file = open_source(path)
        if file.read(0, len(ELF64), "its magic") != ELF64:
            return frozenset()
        memory = FileMemory(file)
        return exported(Image(memory, path, 0, memory.dynamic()), names, IN_FILE)
    except (UserError, ValueError, struct.error, Unreadable):
        return frozenset()


def exported(image: Image, names: Set[str], largest: int = IN_MEMORY) -> frozenset[str]:
    """As `exported_by_file`; only some functions if the object's strings are more than ``largest`` bytes."""
    found = Symbols(LoadedDynamic(image)).exported({*candidates(image, names, largest), *RESOLVERS, *OTHER_WAYS})
    if is_runtime(image, found):
        return frozenset()
    return SomeNames(found) if is_large(image, largest) else found


def is_large(image: Image, largest: int) -> bool:
    return image.entries.get(DT_STRSZ, 0) > largest


def candidates(image: Image, names: Set[str], largest: int) -> Iterable[str]:
    if is_large(image, largest):
        return TELLTALES
    strings = image.memory.read(image.address(DT_STRTAB), image.entries.get(DT_STRSZ, 0))
    return names & {text.decode() for text in API_NAME.findall(strings)}


def is_runtime(image: Image, found: frozenset[str]) -> bool:
    """A library with libcudart inside that does not hide it: its cudaMalloc is the vendor's."""
    of_runtime = all(name.startswith("cuda") for name in found)
    return bool(found) and of_runtime and image.lookup(EMBEDDED_RUNTIME) is not None
