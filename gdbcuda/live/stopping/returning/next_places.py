"""Where a thread is when it has executed one instruction more. (x86-64, Intel SDM volume 2.)"""

from __future__ import annotations

from contextlib import suppress

import gdb

from gdbcuda.elf.code import x86_read
from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.frames import frames
from gdbcuda.machine.x86 import x86_jumps


def behind(address: int) -> list[int]:
    """Of the selected thread, which is there; at the latest where its function returns."""
    with suppress(Unreadable, x86_read.UnknownInstruction):
        one = x86_read.decode(code_at(address))
        found = list(x86_jumps.targets([(address, one)]))
        if one.kind in ("", "branch") or (one.kind == "call" and not found):
            found.append(address + len(one.raw))
        if found:
            return found
    older = frames.caller_frame(gdb.newest_frame())
    return [] if older is None else [older.pc()]


def code_at(address: int) -> bytes:
    """Up to the end of a page that may be the last."""
    memory = process.InferiorMemory()
    with suppress(Unreadable):
        return bytes(memory.read(address, x86_read.LONGEST_INSTRUCTION))
    return bytes(memory.read(address, min(x86_read.LONGEST_INSTRUCTION, -address % 4096)))
