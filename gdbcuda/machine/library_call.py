"""Code by which a thread that is about to call a function loads a library first, as if nothing had happened.

Every register, the flags, the red zone, the vector registers (Intel SDM, XSAVE: as many as the system keeps) and errno
are afterwards what they were. The flags come back without `popf`: a thread that is stepped over that, and on, has the
trap flag set for good where the debugger leaves it. (x86-64; dlopen(3), errno(3); Linux's arch/x86/kernel/step.c.)
"""

from __future__ import annotations

from gdbcuda.machine.x86.x86_write import (
    R8,
    R9,
    R10,
    R11,
    RAX,
    RBP,
    RBX,
    RCX,
    RDI,
    RDX,
    RSI,
    RSP,
    At,
    Code,
    CodeConstant,
)

SAVED = (RAX, RCX, RDX, RBX, RSI, RDI, R8, R9, R10, R11, RBP)
WORD = 8
RED_ZONE = 128
HEADER, HEADER_WORDS = 512, 8  # of what XSAVE writes: XRSTOR wants zeros where XSAVE writes nothing
RTLD_NOW, FOR_DLOPEN = 2, 1 << 31  # the latter is what __libc_dlopen_mode asks for
ARRIVED = "arrived"


def code(path: str, dlopen: int, errno: int, flags: int, onward: int, address: int) -> tuple[bytes, int]:
    """The bytes to put at ``address``, and where the thread is with dlopen's answer in rax. ``errno``: libc's
    __errno_location; ``onward``: where the thread goes on."""
    made = Code()
    keep(made)
    made.instruction(b"\xff", 2, CodeConstant(errno), wide=False)  # call
    made.instruction(b"\x89", RAX, RBX)
    made.emit(b"\x8b\x0b\x51\x50")  # mov (%rbx), %ecx; push %rcx; push %rax: the stack stays aligned
    made.emit(b"\x48\x8d\x3d")  # lea path(%rip), %rdi
    made.distance("path")
    made.emit(b"\xbe" + flags.to_bytes(4, "little") + b"\xfc")  # mov $flags, %esi; cld
    made.instruction(b"\xff", 2, CodeConstant(dlopen), wide=False)
    made.label(ARRIVED)
    made.emit(b"\x90\x59\x59\x89\x0b")  # nop; pop %rcx; pop %rcx; mov %ecx, (%rbx)
    put_back(made)
    made.instruction(b"\xff", 4, CodeConstant(onward), wide=False)  # jmp
    made.label("path")
    made.emit(path.encode() + b"\0")
    return made.assemble(address), address + made.labels[ARRIVED]


def keep(made: Code) -> None:
    made.instruction(b"\x8d", RSP, At(RSP, -RED_ZONE))
    made.emit(b"\x9c")  # pushf
    for register in SAVED:
        made.push(register)
    made.instruction(b"\x89", RSP, RBP)
    made.emit(b"\xb8\x0d\0\0\0\x31\xc9\x0f\xa2")  # mov $13, %eax; xor %ecx, %ecx; cpuid: ebx is the size
    made.instruction(b"\x29", RBX, RSP)
    made.emit(b"\x48\x83\xe4\xc0")  # and $-64, %rsp
    made.emit(b"\x31\xc0")
    for index in range(HEADER_WORDS):
        made.instruction(b"\x89", RAX, At(RSP, HEADER + WORD * index))
    everything(made, b"\x48\x0f\xae\x24\x24")  # xsave64 (%rsp)


def put_back(made: Code) -> None:
    everything(made, b"\x48\x0f\xae\x2c\x24")  # xrstor64 (%rsp)
    made.instruction(b"\x89", RBP, RSP)
    flags(made)
    for register in reversed(SAVED):
        made.pop(register)
    made.instruction(b"\x8d", RSP, At(RSP, WORD + RED_ZONE))


def flags(made: Code) -> None:
    """As they were pushed. What follows changes none."""
    made.instruction(b"\x8b", RAX, At(RSP, WORD * len(SAVED)))
    upwards = made.new_label()
    made.emit(b"\xf6\xc4\x04")  # test $4, %ah: the direction
    made.jump("e", upwards)
    made.emit(b"\xfd")  # std
    made.label(upwards)
    made.emit(b"\x88\xe1\xc0\xe9\x03\x80\xe1\x01")  # mov %ah, %cl; shr $3, %cl; and $1, %cl: the overflow
    made.emit(b"\x88\xc4\x80\xc1\x7f\x9e")  # mov %al, %ah; add $127, %cl; sahf


def everything(made: Code, instruction: bytes) -> None:
    made.emit(b"\xb8\xff\xff\xff\xff\x89\xc2" + instruction)  # mov $-1, %eax; mov %eax, %edx
