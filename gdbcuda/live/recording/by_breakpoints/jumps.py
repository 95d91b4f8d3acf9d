"""Where a thread leaves calls without returning from them, or changes its stack: silent breakpoints in libc and libgcc.

longjmp, the landing of an exception (in a handler or on the way to it) and swapcontext all know the stack pointer that
the thread goes on with. Read from their arguments, for x86-64 and glibc: jmp_buf from sysdeps/x86_64/jmpbuf-offsets.h
and its pointer guard, ucontext_t from <sys/ucontext.h>, _Unwind_Context from libgcc's unwind-dw2.c. Other ways to
change the stack (boost.context, hand-written ones) are not seen: calls that are over before such a switch nest right,
one that is left open on the other stack counts as unwound as soon as the thread calls from further up.
"""

from __future__ import annotations

import os
import struct
from typing import NamedTuple

from gdbcuda.linkage import Linkage
from gdbcuda.live import process
from gdbcuda.live.layers import this_snapshot

LONGJMPS = frozenset({"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"})
LANDS = "_Unwind_SetIP"  # the personality routine tells where in a frame the exception lands
LEAVES_FOR_GOOD, COMES_BACK = "setcontext", "swapcontext"
LIBRARIES = ("libc.so", "libc-", "libgcc_s.so", "libpthread")
SAVED_STACK_POINTER, GUARD, ROTATION = 48, 0x30, 0x11  # in jmp_buf; in the thread's control block
UNWOUND_STACK_POINTER = 18 * 8  # behind the registers of an _Unwind_Context
STACK, STACK_POINTER = 16, 160  # in a ucontext_t: uc_stack (ss_sp, ss_flags, ss_size), rsp
WORD = (1 << 64) - 1


class Leap(NamedTuple):
    """The thread goes on with the stack pointer ``new``. On another stack: it may come back to ``old`` (None: never),
    and ``is_fresh`` says that nobody has been on it before."""

    new: int
    is_switch: bool = False
    old: int | None = None
    is_fresh: bool = False


def spots(linkage: Linkage) -> dict[int, str]:
    """Addresses and names, in the libraries whose data we know how to read."""
    if not os.path.basename(this_snapshot.file_of(linkage)).startswith(LIBRARIES) or process.machine() != "x86-64":
        return {}
    wanted = LONGJMPS | {LANDS, LEAVES_FOR_GOOD, COMES_BACK}
    return {one.address: name for name, found in linkage.symbols.defined(wanted).items() for one in found}


def leap(name: str) -> Leap:
    """At the first instruction of one of these functions."""
    if name in LONGJMPS:
        return Leap(demangled(word(process.register("rdi") + SAVED_STACK_POINTER)))
    if name == LANDS:
        return Leap(word(process.register("rdi") + UNWOUND_STACK_POINTER))
    context = process.register("rsi" if name == COMES_BACK else "rdi")
    low, _, size = struct.unpack("<QQQ", process.InferiorMemory().read(context + STACK, 24))
    new = word(context + STACK_POINTER)
    old = process.register("rsp") + 8 if name == COMES_BACK else None
    return Leap(new, True, old, low < new <= low + size)


def word(address: int) -> int:
    return int.from_bytes(process.InferiorMemory().read(address, 8), "little")


def demangled(pointer: int) -> int:
    """As setjmp has stored it: mixed with a secret of the thread, and rotated."""
    turned = (pointer >> ROTATION | pointer << 64 - ROTATION) & WORD
    return turned ^ word(process.register("fs_base") + GUARD)
