"""What of CUDA a program uses, and by which way it comes to the functions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from gdbcuda import api, elf
from gdbcuda.api.vendor import FILES, api_of, major_version
from gdbcuda.check.subjects import runtime_inside
from gdbcuda.check.subjects.runtime_inside import MARK, MOST_SEARCHED

_WORDS = (*FILES.values(), MARK)


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
        """The CUDA runtime is inside the program, or inside a library of it that is not the vendor's."""
        return any(
            MARK in self._words[each.path] or runtime_inside.has_names(each, self._table) for each in self.callers
        )

    @cached_property
    def loads(self) -> tuple[str, ...]:
        """APIs whose library is named in the program, and that it is not linked to: it loads them itself."""
        found = {api for words in self._words.values() for api, name in FILES.items() if name in words}
        return tuple(api for api in FILES if api in found and api not in self.linked)

    @cached_property
    def _words(self) -> Mapping[str, set[bytes]]:
        """Which of the words that tell of CUDA are in the constants of each caller, by its path."""
        found: dict[str, set[bytes]] = {caller.path: set() for caller in self.callers}
        left = MOST_SEARCHED
        for caller in self.callers:
            if caller is self.program or "dlopen" in caller.undefined:  # who cannot load need not be searched
                for piece in runtime_inside.pieces(caller, ".rodata", left):
                    left -= len(piece)
                    found[caller.path].update(word for word in _WORDS if word in piece)
        return found

    @cached_property
    def runtime_version(self) -> str:
        """ "13" of libcudart.so.13, "13.0" of a runtime inside the program, "" where it cannot be told."""
        if "runtime" in self.linked:
            return major_version(self.linked["runtime"])
        return runtime_inside.version(self.program) if self.static_runtime else ""

    @property
    def any(self) -> bool:
        return bool(self.linked or self.called or self.static_runtime or self.loads)
