"""Code that calls a function in its caller's place, and sees whether it fails.

    through:  a frame with the arguments, the stack's copied;  call onward
              returns 0: back to the caller;  else by `failed` first
    onward:   the function's first instructions;  jmp resume

A thread may be in such a call for as long as it likes, so the code stays where it is; without a debugger it only
returns. All registers are what the caller left in them, and then what the function left. (x86-64.)
"""

from __future__ import annotations

from collections.abc import Sequence

from gdbcuda.data_classes import dataclass
from gdbcuda.machine.detour import Detour
from gdbcuda.machine.x86.x86_write import NAMES, RAX, RBP, RSP, VECTORS, At, Code

WORD, ALIGN = 8, 16
PUSH_RBP, CALL, LEAVE_RETURN, NOP = b"\x55", b"\xe8", b"\xc9\xc3", b"\x90"


@dataclass(frozen=True)
class CallThrough:
    """``raw`` is to be written at ``address``; each call that fails executes the one-byte nop at ``failed``, where rbp
    leads to the frame. ``onward``: what stands for the function. ``registers``: those of the arguments, in the order in
    which the frame has them."""

    address: int
    raw: bytes
    failed: int
    onward: int
    registers: tuple[str, ...]

    def place_of(self, register: str, frame: int) -> int:
        """The address of what a register was at the entry; ``frame`` is what rbp is at `failed`."""
        return frame - WORD * (1 + self.registers.index(register))


def build(detour: Detour, registers: Sequence[str], stack: int, address: int) -> CallThrough:
    """``stack``: words of arguments there. The status is an int."""
    code = Code()
    frame(code, registers, len(registers), stack)
    copy_arguments(code, stack)
    code.emit(CALL)
    code.distance("onward")
    code.instruction(b"\x85", RAX, RAX, wide=False)  # test
    code.jump("ne", "failed")
    code.emit(LEAVE_RETURN)
    code.label("failed")
    code.emit(NOP + LEAVE_RETURN)
    code.label("onward")
    detour.pass_by(code)
    raw = code.assemble(address)
    labels = code.labels
    return CallThrough(address, raw, address + labels["failed"], address + labels["onward"], tuple(registers))


def frame(code: Code, registers: Sequence[str], words: int, stack: int) -> int:
    """Begins one with ``words`` below rbp, the first of which are the registers; returns how many bytes are on the
    stack since the entry. The stack stays aligned as it was once the arguments there are copied."""
    code.emit(PUSH_RBP)
    code.instruction(b"\x8b", RBP, RSP)
    size = -(-WORD * (words + stack) // ALIGN) * ALIGN - WORD * stack
    code.instruction(b"\x81", 5, RSP, immediate=size.to_bytes(4, "little"))  # sub
    for index, name in enumerate(registers, 1):
        keep(code, name, At(RBP, -WORD * index))
    return WORD + size


def copy_arguments(code: Code, stack: int) -> None:
    for index in reversed(range(stack)):  # rbp and the return address are below them
        code.instruction(b"\xff", 6, At(RBP, WORD * (2 + index)), wide=False)  # push


def keep(code: Code, register: str, place: At) -> None:
    if register in VECTORS:
        code.instruction(b"\x0f\x11", NAMES[register], place, wide=False, prefix=b"\xf2")  # movsd
    else:
        code.instruction(b"\x89", NAMES[register], place)
