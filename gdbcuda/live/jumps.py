"""Where a thread leaves calls without returning from them, or changes its stack: silent breakpoints in libc and libgcc.

longjmp and exceptions are only noticed; how far they went shows at the next call. For swapcontext and setcontext the
stacks are read from the contexts (x86-64: sysdeps/unix/sysv/linux/x86/sys/ucontext.h). Other ways to change the
stack (boost.context, hand-written ones) are not seen.
"""

from __future__ import annotations

import struct

from gdbcuda.linkage import Linkage
from gdbcuda.live import target

JUMPS = frozenset({"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk", "_Unwind_RaiseException",
                   "_Unwind_ForcedUnwind", "_Unwind_Resume_or_Rethrow"})  # fmt: skip
LEAVES_FOR_GOOD, COMES_BACK = "setcontext", "swapcontext"
STACK, STACK_POINTER = 16, 160  # offsets in a ucontext_t: uc_stack (ss_sp, ss_flags, ss_size), rsp
CONTEXT = STACK_POINTER + 8


def spots(linkage: Linkage) -> dict[int, str]:
    """Addresses and names, the object's own."""
    wanted = JUMPS | {LEAVES_FOR_GOOD, COMES_BACK}
    return {one.address: name for name, found in linkage.symbols.defined(wanted).items() for one in found}


def switch(name: str) -> tuple[int | None, int, bool] | None:
    """At the first instruction of swapcontext or setcontext: stack pointers now left and gone to, and whether that is
    the beginning of a stack of its own (makecontext). None for a mere jump."""
    if name in JUMPS or target.machine() != "x86-64":
        return None
    context = target.register("rsi" if name == COMES_BACK else "rdi")
    raw = target.InferiorMemory().read(context, CONTEXT)
    (new,) = struct.unpack_from("<Q", raw, STACK_POINTER)
    low, _, size = struct.unpack_from("<QQQ", raw, STACK)
    old = target.register("rsp") + 8 if name == COMES_BACK else None
    return old, new, low < new <= low + size
