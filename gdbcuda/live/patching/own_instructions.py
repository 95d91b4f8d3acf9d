"""Whoever disassembles a function that we have patched sees its own instructions.

gdb shows displays and runs hook-stop, and tells handlers that were connected earlier, before it tells us of the stop,
when a jump of ours may still be there: behind gdbserver a guard's, of this machine the recorder's. Code that gdb has
read then it remembers until the process goes on, though the function has its own bytes back.
gdb itself asks too, how long an instruction is that it steps elsewhere: of that it has the bytes, and nothing in front.
An error there would be a length of -1, and the program would be given another address than its own.
(gdb manual: "Disassembly In Python", "Caching Target Data"; gdb's amd64-tdep.c: fixup_riprel; disasm.c:
gdb_buffered_insn_length; gdb before 13 does not ask.)
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import gdb

from gdbcuda.live.host.inferiors import PerInferior


class Replaced(NamedTuple):
    jump: bytes
    own: bytes


LONGEST = 16  # bytes of a jump, and of an instruction
JUMPS: PerInferior[dict[int, Replaced]] = PerInferior(dict)  # that were ever there: by address
_shown: list[Any] = []


def hide(at: int, jump: bytes, own: bytes) -> None:
    """Where that jump is read, the function's own instructions are shown."""
    JUMPS()[at] = Replaced(jump, own)
    if not _shown:
        _shown.append(registered())


def inherit(child: gdb.Inferior, jumps: Mapping[int, tuple[bytes, bytes]]) -> None:
    """They are in the memory of a child that was forked."""
    JUMPS.of(child).update({at: Replaced(*each) for at, each in jumps.items()})


def registered() -> Any:
    """None before gdb 13. gdb lists a command of this module's under `help user-defined`: it is imported only here."""
    with suppress(ImportError):
        disassembler = importlib.import_module("gdb.disassembler")
        return beside(disassembler, disassembler.Disassembler, disassembler.DisassembleInfo)
    return None


def beside(disassembler: Any, base: Any, of_info: Any) -> Any:
    """Ours, and behind it the one that the user has made, if any."""

    class OwnBytes(of_info):  # type: ignore[misc]
        def read_memory(self, length: int, offset: int = 0) -> bytes:
            code, start = bytearray(super().read_memory(length, offset)), self.address + offset
            for at in near(start, length):
                replaced = JUMPS()[at]
                if self.are_there(at, replaced.jump):
                    for place in range(max(at, start), min(at + len(replaced.own), start + length)):
                        code[place - start] = replaced.own[place - at]
            return bytes(code)

        def are_there(self, at: int, jump: bytes) -> bool:
            with suppress(gdb.MemoryError):
                return bytes(super().read_memory(len(jump), at - self.address)) == jump
            return False

    class OwnInstructions(base):  # type: ignore[misc]
        before: Any = None

        def __call__(self, info: Any) -> Any:
            is_near = info.progspace == gdb.current_progspace() and bool(near(info.address, LONGEST))
            if self.before is not None:
                return self.before(OwnBytes(info) if is_near else info)
            return disassembler.builtin_disassemble(OwnBytes(info)) if is_near else None

    made = OwnInstructions("gdbcuda")
    made.before = disassembler.register_disassembler(made, None)
    return made


def near(start: int, length: int) -> list[int]:
    """Jumps of ours that may be among these bytes."""
    jumps = JUMPS()
    return [at for at in range(start - LONGEST, start + length) if at in jumps]
