"""In which system call a thread waits, from its registers, and what that call waits for.

(syscall(2): the registers of a call; futex(2), flock(2), fcntl(2); Linux: arch/x86/entry/syscalls/syscall_64.tbl;
include/linux/errno.h: what a call has in rax that a stop has interrupted.)
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import NamedTuple

from gdbcuda.errors import Unreadable
from gdbcuda.memory import Memory

SYSCALL = b"\x0f\x05"  # the instruction that a waiting thread stands behind
REGISTERS = ("orig_rax", "rax", "rdi", "rsi", "rdx")
# ENOSYS, EINTR, ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND, ERESTART_RESTARTBLOCK
INTERRUPTED = {-38, -4, -512, -513, -514, -516}
FUTEX, FLOCK, FCNTL, RESTARTED, WAITV = 202, 73, 72, 219, 449
NAMES = {
    0: "read", 1: "write", 7: "poll", 16: "ioctl", 23: "select", 34: "pause", 35: "nanosleep", 43: "accept",
    45: "recvfrom", 46: "sendmsg", 47: "recvmsg", 61: "wait4", 65: "semop", 72: "fcntl", 73: "flock", 74: "fsync",
    128: "rt_sigtimedwait", 130: "rt_sigsuspend", 202: "futex", 219: "restart_syscall", 220: "semtimedop",
    230: "clock_nanosleep", 232: "epoll_wait", 247: "waitid", 270: "pselect6", 271: "ppoll", 281: "epoll_pwait",
    288: "accept4", 299: "recvmmsg", 449: "futex_waitv", 455: "futex_wait",
}  # fmt: skip
PRIVATE = 0x80  # of a futex call: no other process knows the word
OPERATION = 0x7F  # of a futex call; the rest are flags
WAITS, WAITS_FOR_OWNER = {0, 9, 11}, {6, 13}  # FUTEX_WAIT, _WAIT_BITSET, _WAIT_REQUEUE_PI; FUTEX_LOCK_PI, _LOCK_PI2
F_SETLKW, F_OFD_SETLKW = 7, 38
WAITER, MOST_WAITERS = struct.Struct("<QQII"), 128  # struct futex_waitv: value, address, flags; FUTEX_WAITV_MAX


class WaitingCall(NamedTuple):
    """``number``: of the system call; ``arguments``: the first three."""

    number: int
    arguments: tuple[int, int, int]

    @property
    def name(self) -> str:
        return NAMES.get(self.number, f"system call {self.number}")

    @property
    def is_futex(self) -> bool:
        """A restarted call has the registers of the first one, and its own number."""
        operation, flags = self.arguments[1] & OPERATION, self.arguments[1] & ~OPERATION
        if self.number == RESTARTED:
            return operation in WAITS and flags in (0x80, 0x100, 0x180)
        return self.number == FUTEX and operation in WAITS | WAITS_FOR_OWNER

    @property
    def is_file_lock(self) -> bool:
        return self.number == FLOCK or (self.number == FCNTL and self.arguments[1] in (F_SETLKW, F_OFD_SETLKW))


def each(call: WaitingCall, memory: Memory) -> list[WaitingCall]:
    """What a thread waits for at once in futex words, as a futex call of each; none where it waits for another thing.
    (futex_waitv(2), include/uapi/linux/futex.h)"""
    if call.number != WAITV:
        return [call] if call.is_futex else []
    first, count, _ = call.arguments
    try:
        found = WAITER.iter_unpack(memory.read(first, WAITER.size * min(count & 0xFFFFFFFF, MOST_WAITERS)))
    except Unreadable:
        return []
    return [WaitingCall(FUTEX, (address, flags & PRIVATE, value)) for value, address, flags, _ in found]


def signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def waiting_call(registers: Mapping[str, int], before: bytes) -> WaitingCall | None:
    """Of a thread with these registers, whose last two bytes of code were ``before``; None where it waits in none."""
    number = signed(registers["orig_rax"])
    if number < 0 or before != SYSCALL or signed(registers["rax"]) not in INTERRUPTED:
        return None
    return WaitingCall(number, (registers["rdi"], registers["rsi"], registers["rdx"]))
