"""The contexts of the thread that calls: a hook library that needs another for its own work puts the old one back."""

from __future__ import annotations

import re

from gdbcuda.contract.program import Program

CHANGING = re.compile(r"cuCtx(Push|Pop|Set)Current|cuCtx(Create|Destroy)|cuDevicePrimaryCtxReset|cuda(Set|Init)Device")
PUTTING_BACK = re.compile(r"cuCtx(Pop|Set)Current")
CHANGED = "the thread's stack of contexts is not as before"
PLACE = (1 << 18) - 64  # in the arena, behind all arguments
WORD, MOST = 8, 16


def is_changing(symbol: str) -> bool:
    return bool(CHANGING.match(symbol))


def is_put_back(symbol: str) -> bool:
    """Where the driver refuses that, nobody can."""
    return bool(PUTTING_BACK.match(symbol))


def of_thread(program: Program) -> list[bytes]:
    """From the current one down. They are taken off the thread's stack, and put on it again."""
    found: list[bytes] = []
    while len(found) < MOST:
        popped = program.call_by_name("cuCtxPopCurrent_v2", (program.arena + PLACE).to_bytes(WORD, "little"))
        if popped is None or any(popped.result):
            break
        found.append(bytes.fromhex(program.tell(f"peek {PLACE:x} {WORD:x}")[0].strip()))
    for context in reversed(found):
        program.call_by_name("cuCtxPushCurrent_v2", context)
    return found
