"""GNU symbol versions of a loaded object. (LSB, "Symbol Versioning".)"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cached_property
from typing import Callable

from gdbcuda.linkage.dynamic_section import LoadedDynamic

DT_VERSYM, DT_VERDEF, DT_VERDEFNUM, DT_VERNEED, DT_VERNEEDNUM = (
    0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF)  # fmt: skip
NOT_DEFAULT = 0x8000
MOST = 4096


class LoadedVersions:
    """Which version a dynamic symbol has, by its index."""

    def __init__(self, dynamic: LoadedDynamic) -> None:
        self.dynamic, self._numbers = dynamic, dynamic.address(DT_VERSYM)

    @property
    def exist(self) -> bool:
        """The object has a version for each symbol, be it "none"."""
        return bool(self._numbers)

    def of(self, index: int) -> tuple[str, bool]:
        """(version, is it the default one); "" without a version."""
        if not self._numbers:
            return "", True
        return self._told(self._record("<H", self._numbers + 2 * index)[0])

    def between(self, first: int, last: int) -> Callable[[int], tuple[str, bool]]:
        """`of`, for many indices in that range: in one read."""
        if not self._numbers:
            return lambda index: ("", True)
        count = max(last - first, 0)
        read = self.dynamic.image.memory.read(self._numbers + 2 * first, 2 * count)
        numbers = struct.unpack(f"<{count}H", read)
        told = {one: self._told(one) for one in {*numbers}}
        return lambda index: told[numbers[index - first]]

    def _told(self, number: int) -> tuple[str, bool]:
        return self._names.get(number & ~NOT_DEFAULT, ""), not number & NOT_DEFAULT

    @cached_property
    def _names(self) -> dict[int, str]:
        return {**dict(self._defined()), **dict(self._needed())}

    def _defined(self) -> Iterator[tuple[int, str]]:
        at = self.dynamic.address(DT_VERDEF)
        for _ in range(min(self.dynamic.value(DT_VERDEFNUM), MOST) if at else 0):
            _, flags, number, _, _, names, following = self._record("<HHHHIII", at)  # Elf64_Verdef
            if not flags & 1:  # 1: the name of the object itself
                yield number & ~NOT_DEFAULT, self.dynamic.string(self.dynamic.words(at + names, 1)[0])
            at += following

    def _needed(self) -> Iterator[tuple[int, str]]:
        library = self.dynamic.address(DT_VERNEED)
        for _ in range(min(self.dynamic.value(DT_VERNEEDNUM), MOST) if library else 0):
            _, count, _, first, following = self._record("<HHIII", library)  # Elf64_Verneed
            at = library + first
            for _ in range(count):
                _, _, number, name, behind = self._record("<IHHII", at)  # Elf64_Vernaux
                yield number & ~NOT_DEFAULT, self.dynamic.string(name)
                at += behind
            library += following

    def _record(self, layout: str, address: int) -> tuple[int, ...]:
        return struct.unpack(layout, self.dynamic.image.memory.read(address, struct.calcsize(layout)))
