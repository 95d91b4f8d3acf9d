"""What pointers lead to, in machine code that never faults.

Before bytes are read the kernel is asked whether they can be: rt_sigprocmask(2) with a ``how`` that does not exist
changes nothing and says EINVAL once it has read 8 bytes, EFAULT where it could not. Some 0.1 us, none in the page where
the stack is. What cannot be read is left to the debugger: it evaluates the condition again, and says so.
"""

from __future__ import annotations

import struct

from gdbcuda.condition.machine_code.frame import Frame
from gdbcuda.machine.x86.x86_write import R10, R11, RAX, RCX, RDI, RDX, RSI, RSP
from gdbcuda.memory import PAGE

RT_SIGPROCMASK, NO_SUCH_HOW, EINVAL = 14, -1, 22
KERNEL_SET = 8  # bytes that it reads: sizeof(sigset_t) in the kernel
CLOBBERED = (RAX, RCX, RDX, RSI, RDI, R11)  # by the call, or for its arguments
PAGE_BITS = (PAGE - 1).bit_length()


class Reads:
    """Addresses are in rax; r10 is lost. The registers of the frame are saved."""

    def __init__(self, frame: Frame) -> None:
        self.frame, self.code = frame, frame.code
        self.routine = ""  # its label, once it is called

    def check(self, size: int) -> None:
        """Goes on where ``size`` bytes (1, 2, 4 or 8) can be read, else to the frame's ``unknown``."""
        if size > 1:
            self.code.emit(b"\xa8" + bytes([size - 1]))  # test al: bytes that are not aligned may lie in two pages
            self.unless_zero()
        self.ask()
        self.unless_zero()

    def ask(self) -> None:
        """Sets the zero flag where the 8 aligned bytes around the address can be read."""
        self.routine = self.routine or self.code.new_label()
        self.code.emit(b"\xe8")  # call
        self.code.distance(self.routine)

    def unless_zero(self) -> None:
        """To ``unknown``, with the stack as it is there."""
        extra = self.frame.depth - self.frame.saved_depth
        if not extra:
            self.code.jump("ne", self.frame.unknown)
            return
        following = self.code.new_label()
        self.code.jump("e", following)
        self.code.instruction(b"\x81", 0, RSP, immediate=struct.pack("<i", extra))  # add
        self.code.jump("", self.frame.unknown)
        self.code.label(following)

    def check_all(self, size: int) -> None:
        """The same for bytes of which the first is known to be readable, at most a page."""
        one_page = self.code.new_label()
        self.code.instruction(b"\x8b", R10, RAX)
        self.code.instruction(b"\x81", 0, R10, immediate=struct.pack("<i", size - 1))  # add
        self.compare_pages(RAX)
        self.code.jump("e", one_page)
        self.frame.push(RAX)
        self.code.instruction(b"\x81", 0, RAX, immediate=struct.pack("<i", size - 1))
        self.ask()
        self.frame.pop(RAX)
        self.unless_zero()
        self.code.label(one_page)

    def compare_pages(self, register: int) -> None:
        """Of r10 and another."""
        self.code.instruction(b"\x33", R10, register)  # xor
        self.code.instruction(b"\xc1", 5, R10, immediate=bytes([PAGE_BITS]))  # shr

    def finish(self) -> None:
        """The routine, behind all else."""
        if not self.routine:
            return
        code, done = self.code, self.code.new_label()
        code.label(self.routine)
        code.instruction(b"\x8b", R10, RAX)
        self.compare_pages(RSP)
        code.jump("e", done)
        for register in CLOBBERED:
            code.push(register)
        code.instruction(b"\x8b", RSI, RAX)
        code.instruction(b"\x83", 4, RSI, immediate=struct.pack("<b", -KERNEL_SET))  # and
        for register, value in ((RDI, NO_SUCH_HOW), (RDX, 0), (R10, KERNEL_SET), (RAX, RT_SIGPROCMASK)):
            code.instruction(b"\xc7", 0, register, immediate=struct.pack("<i", value))  # mov
        code.emit(b"\x0f\x05")  # syscall
        code.instruction(b"\x83", 7, RAX, immediate=struct.pack("<b", -EINVAL))  # cmp
        for register in reversed(CLOBBERED):
            code.pop(register)
        code.label(done)
        code.emit(b"\xc3")  # ret
