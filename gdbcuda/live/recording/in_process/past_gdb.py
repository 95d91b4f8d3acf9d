"""Words for the recorder in the process, written past gdb: it refuses when it has told that a thread goes on."""

from __future__ import annotations

import gdb

from gdbcuda.live import process
from gdbcuda.rings.ring_layout import WORD


def write(address: int, raw: bytes) -> None:
    memory = process.raw_memory()
    if memory is None:
        gdb.selected_inferior().write_memory(address, raw)
    else:
        memory.write(address, raw)


def write_word(address: int, value: int) -> None:
    write(address, value.to_bytes(WORD, "little"))
