"""Whether a library's dlsym comes back to itself by way of another library that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gdbcuda import elf
from gdbcuda.api.vendor import api_of

MOST_FUNCTIONS = 2000


class Visited(NamedTuple):
    file: elf.Elf
    function: elf.Symbol
    way: tuple[str, ...]


class Search:
    """Calls from one library into those that it needs, as machine code tells them."""

    def __init__(self, library: elf.Elf, needed: list[elf.Elf]) -> None:
        self._files = [library, *filter(is_of_users, needed)]
        self._functions: dict[str, Mapping[str, elf.Symbol]] = {}

    def way_back(self) -> tuple[str, ...]:
        """("dlsym", "name_of() of libb.so"): whom dlsym calls, until one in another library calls dlsym; () if none is
        seen."""
        library = self._files[0]
        own = library.exported.get("dlsym")
        todo = [Visited(library, own, ("dlsym",))] if own and len(self._files) > 1 else []
        seen: set[tuple[str, str]] = set()
        while todo and len(seen) < MOST_FUNCTIONS:
            place = todo.pop(0)
            for name in sorted(self._called(place)):
                if name == "dlsym" and place.file is not library:
                    return place.way
                onward = self._defined(name, place)
                if onward is not None and (onward.file.path, name) not in seen:
                    seen.add((onward.file.path, name))
                    todo.append(onward)
        return ()

    def _called(self, place: Visited) -> set[str]:
        known = {symbol.value: name for name, symbol in self._functions_of(place.file).items()}
        return place.file.code.called(place.function.value, place.function.size, known)

    def _defined(self, name: str, place: Visited) -> Visited | None:
        """Where a call leads: what the file hides is found first, else the first in the search order."""
        hidden = self._functions_of(place.file).get(name)
        for file in [place.file] if hidden and name not in place.file.exported else self._files:
            symbol = self._functions_of(file).get(name)
            if symbol is not None and (name in file.exported or file is place.file):
                called = f"{name}()" if file is self._files[0] else f"{name}() of {file.soname or file.path}"
                return Visited(file, symbol, (*place.way, called))
        return None

    def _functions_of(self, file: elf.Elf) -> Mapping[str, elf.Symbol]:
        if file.path not in self._functions:
            exported = {name: symbol for name, symbol in file.exported.items() if symbol.is_function}
            self._functions[file.path] = {**file.hidden_functions, **exported}
        return self._functions[file.path]


def is_of_users(library: elf.Elf) -> bool:
    """The C library's dlsym is its own matter; the vendor's libraries call what they are handed."""
    own = library.exported.get("dlsym")
    return not api_of(library.soname) and not (own and own.version.startswith("GLIBC_"))
