"""Can everything be read that an object's symbols and slots are told by? A core file may have a part of it alone."""

from __future__ import annotations

from gdbcuda.errors import Unreadable
from gdbcuda.linkage.dynamic_section import DT_STRSZ, LoadedDynamic
from gdbcuda.linkage.dynamic_symbols import Symbols
from gdbcuda.linkage.image import DT_STRTAB, DT_SYMTAB, SYMBOL, Image
from gdbcuda.linkage.slots import DT_JMPREL, DT_PLTRELSZ, DT_RELA, DT_RELASZ
from gdbcuda.linkage.version_tables import DT_VERSYM

BYTES_OF_A_VERSION = 2
SIZED = ((DT_STRTAB, DT_STRSZ), (DT_RELA, DT_RELASZ), (DT_JMPREL, DT_PLTRELSZ))


def is_readable(image: Image) -> bool:
    """The hash table is read, of the other tables the first byte and the last: what is missing is missing by pages."""
    try:
        dynamic = LoadedDynamic(image)
        count = Symbols(dynamic).extent[1]
        tables = [(DT_SYMTAB, SYMBOL.size * count), (DT_VERSYM, BYTES_OF_A_VERSION * count)]
        tables += [(table, dynamic.value(size)) for table, size in SIZED]
        for table, size in tables:
            if dynamic.address(table) and size:
                image.memory.read(dynamic.address(table), 1)
                image.memory.read(dynamic.address(table) + size - 1, 1)
    except Unreadable:
        return False
    return True
