"""What a hook library has for the API, as its file says it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cached_property

from gdbcuda import api, elf
from gdbcuda.elf.dwarf.lines import SourceLine, source_lines
from gdbcuda.errors import UserError

FAMILY = re.compile(r"(?:__)?(?:cuda|cu|nvml)[A-Z][a-z]*")


class HookFile:
    """``name`` is what its calls have for their object."""

    def __init__(self, path: str) -> None:
        self.path, self.name = path, os.path.basename(path)
        self.file = elf.open(path)
        if self.file.kind != "shared":
            raise UserError(f"{path} is no shared library")

    @cached_property
    def entries(self) -> Mapping[str, int]:
        """By symbol the address in the file, of each API function that it exports."""
        known = api.load_all().symbols
        return {name: one.value for name, one in self.file.exported.items() if name in known and one.is_function}

    @cached_property
    def lines(self) -> Mapping[str, SourceLine]:
        """Where the functions are that debug info knows."""
        found = source_lines(self.file.dwarf, self.entries.values())
        return {name: found[address] for name, address in self.entries.items() if address in found}


def family(symbol: str) -> str:
    """cuMem of cuMemAlloc_v2."""
    found = FAMILY.match(symbol)
    return found[0] if found else symbol
