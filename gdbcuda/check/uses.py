"""What of CUDA a program uses, and by which way it comes to the functions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from gdbcuda import api, elf
from gdbcuda.errors import UserError

from .vendor import FILES, api_of, major_version

_CHUNK = 1 << 20
_MOST_SEARCHED = 64 << 20
# Only the runtime has its error names as strings; this one is in every version and in no other library.
_RUNTIME_MARK = b"cudaErrorCudartUnloading"
# The runtime's answer to cudaRuntimeGetVersion on x86-64: movl $13000,(%rdi)
_VERSION_STORE = re.compile(rb"\xc7\x07(..)\x00\x00", re.DOTALL)


class Uses:
    """The program and everything that it is linked to."""

    def __init__(self, program: elf.Elf, root: elf.Root, table: api.Table) -> None:
        self.program = program
        self._table = table
        self.libraries = elf.Libraries(program, root)
        # the vendor's own libraries come last in every chain and call each other: not the program's doing
        found = self.libraries.found.items()
        self.callers = [program, *(file for name, file in found if not api_of(name))]

    @cached_property
    def linked(self) -> Mapping[str, str]:
        """API -> the vendor's library that something is linked to: {"driver": "libcuda.so.1"}."""
        names = [name for caller in self.callers for name in caller.needed]
        return {api_of(name): name for name in reversed(names) if api_of(name)}

    @cached_property
    def called(self) -> Mapping[str, api.Function]:
        """API functions that the program and its libraries call by name."""
        names = {name for caller in self.callers for name in caller.undefined}
        return {name: self._table.functions[name] for name in sorted(names) if name in self._table.functions}

    @cached_property
    def static_runtime(self) -> bool:
        """The CUDA runtime is inside the program."""
        return any(caller for caller in self.callers if self._has_runtime(caller))

    def _has_runtime(self, caller: elf.Elf) -> bool:
        names = {symbol.name for symbol in caller.symtab if symbol.is_function and symbol.defined}
        if any(name in self._table.functions and self._table.functions[name].api == "runtime" for name in names):
            return True
        return contains(caller, _RUNTIME_MARK)

    @cached_property
    def loads(self) -> tuple[str, ...]:
        """APIs whose library is named in the program, and that it is not linked to: it loads them itself."""
        found = (api for api, name in FILES.items() if api not in self.linked)
        return tuple(api for api in found if any(contains(caller, FILES[api]) for caller in self._own))

    @property
    def _own(self) -> list[elf.Elf]:
        """The program, and what calls CUDA: the C library and its like are not searched for names."""
        return [each for each in self.callers if each is self.program or "dlopen" in each.undefined]

    @cached_property
    def runtime_version(self) -> str:
        """ "13" of libcudart.so.13, "13.0" of a runtime inside the program, "" where it cannot be told."""
        if "runtime" in self.linked:
            return major_version(self.linked["runtime"])
        return static_runtime_version(self.program) if self.static_runtime else ""

    @property
    def any(self) -> bool:
        return bool(self.linked or self.called or self.static_runtime or self.loads)


def contains(file: elf.Elf, words: bytes) -> bool:
    """Whether a string is in the constants of a file."""
    return any(words in piece for piece in _pieces(file, ".rodata", len(words)))


def static_runtime_version(program: elf.Elf) -> str:
    """The number that its cudaRuntimeGetVersion writes, as "12.9"."""
    if program.machine != "x86-64":
        return ""
    for piece in _pieces(program, ".text", 6):
        for found in _VERSION_STORE.finditer(piece):
            number = int.from_bytes(found[1], "little")
            if 8000 <= number < 30000 and not number % 10:
                return f"{number // 1000}.{number % 1000 // 10}"
    return ""


def _pieces(file: elf.Elf, section: str, overlap: int) -> Iterator[bytes]:
    try:
        contents = file.contents(section)
    except UserError:
        return
    if contents is None:
        return
    for at in range(0, min(contents.readable, _MOST_SEARCHED), _CHUNK):
        yield contents.read(at, _CHUNK + overlap)
