"""Indirect functions (IFUNC): the code that one stands for has any name, and only who has asked knows it.

gdb learns it for its breakpoints when the loader asks; calls of that code are then calls of the function.
(ELF gABI supplement of GNU: STT_GNU_IFUNC; gdb's elfread.c: elf_gnu_ifunc_resolver_return_stop.)
"""

from __future__ import annotations

import gdb

from gdbcuda.live import process
from gdbcuda.live.host.inferiors import PerInferior

CODE: PerInferior[dict[int, str]] = PerInferior(dict)  # address of the code's first instruction -> function


def is_code_of(file: str, address: int, function: str) -> bool:
    """Is that where gdb has put a breakpoint on the function, which is an indirect one of that file?"""
    if not process.is_indirect(file, function):
        return False
    CODE()[process.function_start(address) or address] = function
    return True


def name_of(frame: gdb.Frame) -> str:
    """The function whose code the frame is in, which may have been unloaded since; "" where it is none's."""
    known = CODE()
    name = known.get(process.function_start(frame.pc()) or 0, "") if known else ""
    return name if name and process.is_indirect(process.object_of(frame.pc()), name) else ""
