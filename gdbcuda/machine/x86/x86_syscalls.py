"""System calls in machine code: which of them may confine the program, make a child that shares its memory, or end it.

(x86-64; asm/unistd_64.h; seccomp(2), prctl(2), clone(2).)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from gdbcuda.data_classes import dataclass
from gdbcuda.elf.code.x86_read import Instruction, UnknownInstruction, instructions
from gdbcuda.machine.x86.x86_jumps import targets
from gdbcuda.machine.x86.x86_stack import is_written, leaves, register
from gdbcuda.machine.x86.x86_write import RAX, RBP, RBX

SYSCALL = b"\x0f\x05"
ANY_CALL = re.compile(SYSCALL)
SYS_PRCTL, SYS_SECCOMP = 157, 317
SYS_CLONE, SYS_VFORK, SYS_CLONE3 = 56, 58, 435
SYS_EXECVE, SYS_EXIT, SYS_EXIT_GROUP, SYS_EXECVEAT = 59, 60, 231, 322
NEAR = 72  # bytes in front of the system call
NUMBER = re.compile(rb"([\x40-\x4f]?)(?:([\xb8-\xbf])|\xc7([\xc0-\xc7]))(.{4})", re.DOTALL)  # mov
COPY = re.compile(rb"([\x40-\x4f]?)\x89([\xc0\xc8\xd0\xd8\xe0\xe8\xf0\xf8])")  # mov from a register to eax
REX_R, REX_B, POP = 4, 1, range(0x58, 0x60)
KEPT_BY_CALLS = (RBX, RBP, 12, 13, 14, 15)
ZERO = re.compile(rb"\x48?[\x31\x33]\xc0")  # xor %eax, %eax
MOST_BEFORE = 24  # instructions
NO_CALL = -1


@dataclass(frozen=True)
class Wanted:
    """System calls with one of these numbers. ``marks``: it is loaded: mov $N, %eax or %rax."""

    numbers: tuple[int, ...]
    marks: re.Pattern[bytes]


def having(*numbers: int) -> Wanted:
    any_of = b"|".join(re.escape(one.to_bytes(4, "little")) for one in numbers)
    return Wanted(numbers, re.compile(rb"(?:\xb8|\x48\xc7\xc0)(?:" + any_of + rb")", re.DOTALL))


CONFINING = having(SYS_PRCTL, SYS_SECCOMP)
CLONING = having(SYS_CLONE, SYS_VFORK, SYS_CLONE3)
THREAD_ENDING = having(SYS_EXIT)
ENDING = having(SYS_EXECVE, SYS_EXIT, SYS_EXIT_GROUP, SYS_EXECVEAT)  # the process, or its memory


def number_at(code: bytes, offset: int, reached: Iterable[int] = ()) -> int | None:
    """Which system call is at that offset of a function; None where its number comes from elsewhere, NO_CALL where none
    is there. ``reached``: the offsets to which jumps of its other part lead."""
    before = in_front(code, offset)
    if before is None or not code.startswith(SYSCALL, offset):
        return NO_CALL
    return number(before, understood(code[offset:]), reached)


def in_front(code: bytes, offset: int) -> list[Instruction] | None:
    """The instructions in front of that offset; None where none begins there."""
    before = understood(code[:offset])
    return before if size(before) == offset else None


def understood(code: bytes) -> list[Instruction]:
    """Up to the first that is not."""
    found = []
    with suppress(UnknownInstruction):
        for _, one in instructions(code):
            found.append(one)
    return found


def size(body: Sequence[Instruction]) -> int:
    return sum(len(one.raw) for one in body)


def is_wanted(wanted: Wanted, code: bytes, of_function: int | None) -> bool | None:
    """Of the system call that the code ends with: True where it surely is an instruction, False where it may be none;
    None of another one. ``of_function``: what `number_at` has said of it. Where that knows it, what is near in front is
    not asked, which may belong to the function before."""
    if of_function in (None, *wanted.numbers):
        return True
    at = len(code) - len(SYSCALL)
    if of_function != NO_CALL or not is_marked(wanted, code, at):
        return None
    before = behind_number(wanted, code, at)
    if before is None:
        return False
    return True if number(before) in (None, *wanted.numbers) else None


def is_marked(wanted: Wanted, code: bytes, at: int) -> bool:
    """Without knowing where instructions begin: is the number of one of these not far in front of it?"""
    return bool(wanted.marks.search(code, max(0, at - NEAR), at))


def behind_number(wanted: Wanted, code: bytes, at: int) -> list[Instruction] | None:
    """Of a marked one: the instructions from there on, if they lead to it. Then it is one itself."""
    for found in wanted.marks.finditer(code, max(0, at - NEAR), at):
        before = in_front(code[found.start() : at + len(SYSCALL)], at - found.start())
        if before is not None:
            return before
    return None


def number(
    before: Sequence[Instruction], behind: Sequence[Instruction] = (), reached: Iterable[int] = ()
) -> int | None:
    """What rax is behind these instructions; None where that is not known. ``behind``: the function's others."""
    found, count = last_loaded(before)
    if found is None:
        return None
    end = size(before)
    places = range(end - size(before[-count:]) + 1, end + 1)
    return None if any(one in places for one in (*jumps_into(places, (*before, *behind)), *reached)) else found


def last_loaded(before: Sequence[Instruction]) -> tuple[int | None, int]:
    """By which instruction from the end."""
    for count, one in enumerate(before[: -MOST_BEFORE - 1 : -1], 1):
        found = loaded(one.raw, RAX)
        if found is not None:
            return found, count
        if ZERO.fullmatch(one.raw):
            return 0, count
        copied = COPY.fullmatch(one.raw)
        if copied:
            return kept(before[:-count], register(copied[1], copied[2][0] >> 3, REX_R)), count
        if one.kind in ("call", "return", "jump") or not leaves(one.raw, RAX):
            break
    return None, 0


def jumps_into(places: range, function: Iterable[Instruction]) -> Iterator[int]:
    """From outside of them: compilers have several system calls share an instruction, to which each comes with its
    number. (No switch leads there: each of its cases loads one.)"""
    at = 0
    for one in function:
        if at not in places:
            yield from targets([(at, one)])
        at += len(one.raw)


def kept(before: Sequence[Instruction], wanted: int) -> int | None:
    """Of that register, where the function loads it and nothing else: as compilers do for the futex of a loop. The way
    there need not lead over each instruction in between, and no call in front of a jump counts."""
    is_straight = True
    for one in reversed(before):
        is_straight = is_straight and one.kind not in ("jump", "return")
        found = loaded(one.raw, wanted)
        if found is not None:
            return found
        is_lost = is_written(one.raw, wanted) or (is_straight and one.kind == "call" and wanted not in KEPT_BY_CALLS)
        if is_lost and not is_pop(one.raw):
            return None
    return None


def loaded(raw: bytes, wanted: int) -> int | None:
    """The number that the instruction puts into that register."""
    found = NUMBER.fullmatch(raw)
    if not found or register(found[1], (found[2] or found[3])[0], REX_B) != wanted:
        return None
    return int.from_bytes(found[4], "little")


def is_pop(raw: bytes) -> bool:
    """Of what the caller had there, in front of a return in the middle."""
    return raw[-1] in POP and len(raw) <= 2


def offsets(code: bytes) -> Iterator[int]:
    """Where the bytes of a system call are; they may be parts of other instructions. (Of two bytes a pattern is found
    twice as fast as by `bytes.find`, and frameworks have 60 MB of code.)"""
    return (found.start() for found in ANY_CALL.finditer(code))
